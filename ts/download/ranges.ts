/** Bytes from `start` up to and without `end`. */
export type Range = readonly [start: number, end: number];

/** Which bytes of a file are there: ranges in order that neither overlap nor touch. */
export class Ranges {
  #ranges: Range[] = [];

  static of(ranges: Iterable<Range>): Ranges {
    const made = new Ranges();
    for (const [start, end] of ranges) made.add(start, end);
    return made;
  }

  add(start: number, end: number): void {
    if (end <= start) return;
    const before = this.#ranges.filter((range) => range[1] < start);
    const after = this.#ranges.filter((range) => range[0] > end);
    const touching = this.#ranges.slice(before.length, this.#ranges.length - after.length);
    const joined: Range = [
      Math.min(start, ...touching.map((r) => r[0])),
      Math.max(end, ...touching.map((r) => r[1])),
    ];
    this.#ranges = [...before, joined, ...after];
  }

  /** Bytes in all ranges. */
  get total(): number {
    return this.#ranges.reduce((sum, [start, end]) => sum + end - start, 0);
  }

  /** Bytes at the start of the file without a hole. */
  get prefix(): number {
    const [first] = this.#ranges;
    return first !== undefined && first[0] === 0 ? first[1] : 0;
  }

  /** What is missing of the first `size` bytes, in pieces of at most `limit`. */
  missing(size: number, limit: number): Range[] {
    const holes: Range[] = [];
    let from = 0;
    for (const [start, end] of [...this.#ranges, [size, size] as Range]) {
      for (let at = from; at < start; at += limit) holes.push([at, Math.min(at + limit, start)]);
      from = end;
    }
    return holes;
  }

  toJSON(): Range[] {
    return this.#ranges.map(([start, end]) => [start, end]);
  }
}

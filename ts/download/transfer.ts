import { throwIfAborted } from "../errors.js";
import { diskError } from "./files.js";
import { type Answer, failed, type Http, transientStatus } from "./http.js";
import type { Part } from "./part.js";
import type { Range } from "./ranges.js";
import { delayBefore, pause, type RetryOptions, TransientError } from "./retry.js";

/** The server's file has changed: the bytes received so far are useless. */
export class ContentChanged extends Error {
  override name = "ContentChanged";
}

/** The server sends whole files only. */
export class RangesUnsupported extends Error {
  override name = "RangesUnsupported";
}

export interface TransferOptions {
  readonly http: Http;
  readonly url: URL;
  readonly bytes: number;
  readonly connections: number;
  readonly segmentBytes: number;
  readonly retry: RetryOptions;
  readonly signal: AbortSignal;
  /** The error of a status that is final. */
  readonly refusal: (answer: Answer) => Error;
  readonly onBytes: () => void;
}

/** How long the target of a redirect is reused; signed addresses live longer than this. */
const TARGET_AGE_MS = 4 * 60_000;

/** Fills the holes of a partial file over several connections. */
export class Transfer {
  readonly #part: Part;
  readonly #options: TransferOptions;
  readonly #queue: Range[];
  #target: { url: URL; at: number } | undefined;

  constructor(part: Part, options: TransferOptions) {
    this.#part = part;
    this.#options = options;
    this.#queue = part.received.missing(options.bytes, options.segmentBytes);
  }

  /**
   * Opens one connection first and the others once the server has answered a range with a range.
   *
   * @throws ContentChanged, RangesUnsupported, LocalInferenceError.
   */
  async run(): Promise<void> {
    const stop = new AbortController();
    const forward = () => stop.abort();
    this.#options.signal.addEventListener("abort", forward, { once: true });
    let answered: () => void = () => {};
    const first = new Promise<void>((resolve) => {
      answered = resolve;
    });
    const working = this.#work(stop.signal, answered);
    const others = async () => {
      await Promise.race([first, working]);
      const count = Math.min(this.#options.connections - 1, this.#queue.length);
      await Promise.all(Array.from({ length: count }, () => this.#work(stop.signal, () => {})));
    };
    const all = [working, others()];
    try {
      await Promise.all(all);
    } catch (error) {
      stop.abort();
      await Promise.allSettled(all);
      throw error;
    } finally {
      this.#options.signal.removeEventListener("abort", forward);
    }
  }

  async #work(signal: AbortSignal, answered: () => void): Promise<void> {
    for (let range = this.#queue.shift(); range !== undefined; range = this.#queue.shift()) {
      await this.#fetchRange(range, signal, answered);
    }
  }

  async #fetchRange([start, end]: Range, signal: AbortSignal, answered: () => void): Promise<void> {
    let position = start;
    let attempt = 1;
    while (position < end) {
      const before = position;
      try {
        for await (const chunk of this.#bytes(position, end, signal, answered)) {
          await this.#part.write(chunk, position).catch((error) => {
            throw diskError(error, this.#part.path);
          });
          position += chunk.byteLength;
          this.#options.onBytes();
        }
        if (position < end) throw new TransientError("the connection ended early");
      } catch (error) {
        if (signal.aborted) throwIfAborted(this.#options.signal);
        if (!(error instanceof TransientError) || signal.aborted) throw error;
        attempt = position > before ? 1 : attempt + 1;
        if (attempt > this.#options.retry.attempts) throw failed(this.#options.http.shown(error.message));
        await pause(delayBefore(attempt + 1, this.#options.retry, error.retryAfterMs), signal);
      }
    }
  }

  /** The bytes of a range, never more than were asked for. */
  async *#bytes(
    start: number,
    end: number,
    signal: AbortSignal,
    answered: () => void,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const answer = await this.#request(start, end, signal);
    try {
      this.#check(answer, start, end);
    } catch (error) {
      answer.discard();
      throw error;
    }
    answered();
    let left = end - start;
    for await (const chunk of answer.body) {
      yield chunk.byteLength > left ? chunk.subarray(0, left) : chunk;
      left -= Math.min(left, chunk.byteLength);
      if (left === 0) return;
    }
  }

  async #request(start: number, end: number, signal: AbortSignal): Promise<Answer> {
    const { http, url } = this.#options;
    const { etag } = this.#part;
    const headers: Record<string, string> = { range: `bytes=${start}-${end - 1}` };
    if (etag !== undefined) headers["if-range"] = etag;
    const known = this.#target;
    const target = known !== undefined && Date.now() - known.at < TARGET_AGE_MS ? known.url : url;
    const answer = await http.get(target, headers, signal);
    if (target !== url && answer.status >= 400) {
      // A signed address has expired: ask for a new one.
      answer.discard();
      this.#target = undefined;
      throw new TransientError(`the download address is no longer valid (${answer.status})`);
    }
    if (answer.status < 300 && answer.url.href !== url.href)
      this.#target ??= { url: answer.url, at: Date.now() };
    return answer;
  }

  #check(answer: Answer, start: number, end: number): void {
    const { bytes } = this.#options;
    const etag = strong(answer.headers.get("etag"));
    if (answer.headers.get("content-encoding") && answer.headers.get("content-encoding") !== "identity") {
      throw failed(`${answer.url.host} compresses the file, so that its bytes cannot be counted.`);
    }
    if (
      this.#part.etag !== undefined &&
      etag !== undefined &&
      etag !== this.#part.etag &&
      answer.status < 300
    ) {
      throw new ContentChanged("the server has another version of the file now");
    }
    if (answer.status === 200) this.#checkWhole(answer, start, end);
    else if (answer.status === 206) checkRange(answer.headers.get("content-range"), start, bytes);
    else if (answer.status === 416) throw new ContentChanged("the server has a shorter file now");
    else throw transientStatus(answer) ?? this.#options.refusal(answer);
    if (etag !== undefined) this.#part.etag = etag;
  }

  /** A whole file in answer to a range is what was asked for only when the range is the whole file. */
  #checkWhole(answer: Answer, start: number, end: number): void {
    const { bytes } = this.#options;
    if (start !== 0 || end !== bytes) throw new RangesUnsupported();
    const length = answer.headers.get("content-length");
    if (length !== null && Number(length) !== bytes) {
      throw new ContentChanged(`the server offers ${length} bytes instead of ${bytes}`);
    }
  }
}

function checkRange(header: string | null, start: number, bytes: number): void {
  const match = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(header ?? "");
  if (match === null || Number(match[1]) !== start) {
    throw new TransientError(`the server answered with the wrong range (${header ?? "none"})`);
  }
  if (match[3] !== "*" && Number(match[3]) !== bytes) {
    throw new ContentChanged(`the server's file has ${match[3]} bytes instead of ${bytes}`);
  }
}

/** A weak tag does not promise equal bytes. */
function strong(etag: string | null): string | undefined {
  return etag === null || etag.startsWith("W/") ? undefined : etag;
}

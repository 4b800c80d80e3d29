import { stat } from "node:fs/promises";

/** A text that changes when one of these files or folders is written, replaced, removed or created. */
export async function stampOf(paths: readonly string[]): Promise<string> {
  const stamps = await Promise.all(
    paths.map((path) =>
      stat(path).then(
        // Not the time of the last change of its attributes: a new link or mode is no new content.
        ({ dev, ino, size, mtimeMs }) => `${dev}:${ino}:${size}:${mtimeMs}`,
        () => "none",
      ),
    ),
  );
  return stamps.join(" ");
}

/** Calls of the same turn of the event loop share an answer, so that requests that come together stay together. */
export class OncePerTurn<T> {
  readonly #asked = new Map<string, Promise<T>>();

  of(key: string, ask: () => Promise<T>): Promise<T> {
    const asked = this.#asked.get(key);
    if (asked !== undefined) return asked;
    const answer = ask();
    this.#asked.set(key, answer);
    setImmediate(() => this.#asked.delete(key));
    return answer;
  }
}

/** How a value is made, and from which files. */
export interface Recipe<T> {
  /** Known before the value is made. */
  readonly from: readonly string[];
  readonly make: () => Promise<T>;
  /** Known only from the value. */
  readonly andFrom?: (value: T) => readonly string[];
}

interface Cached<T> {
  readonly value: Promise<T>;
  /** Whether the files are unchanged. */
  readonly holds: () => Promise<boolean>;
}

/**
 * Caches values made from files until one of the files changes, whoever changes it. A failure is not cached: a file that is
 * missing now may be there for the next request.
 */
export class FileMemo<T> {
  readonly #cached = new Map<string, Cached<T>>();
  readonly #asked = new OncePerTurn<T>();

  get(key: string, recipe: Recipe<T>): Promise<T> {
    return this.#asked.of(key, () => this.#get(key, recipe));
  }

  async #get(key: string, recipe: Recipe<T>): Promise<T> {
    const cached = this.#cached.get(key);
    if (cached !== undefined && (await cached.holds())) return cached.value;
    // Another call may have found the same, and been faster.
    const now = this.#cached.get(key);
    return now === undefined || now === cached ? this.#make(key, recipe) : now.value;
  }

  #make(key: string, { from, make, andFrom = () => [] }: Recipe<T>): Promise<T> {
    // Before the value is made: a file that changes meanwhile must count as changed.
    const before = stampOf(from);
    const value = before.then(make);
    const after = value.then(async (made) => {
      const more = andFrom(made);
      return { more, stamp: await stampOf(more) };
    });
    const holds = async () => {
      const { more, stamp } = await after;
      return (await stampOf(from)) === (await before) && (await stampOf(more)) === stamp;
    };
    this.#cached.set(key, { value, holds });
    after.catch(() => this.#cached.delete(key));
    return value;
  }
}

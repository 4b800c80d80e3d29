import { createHash, type Hash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { throwIfAborted } from "../errors.js";

const CHUNK = 1024 * 1024;

export interface HashOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called with the bytes read so far. */
  readonly onProgress?: (bytes: number) => void;
}

/** SHA-256 of a file as lower-case hexadecimal. */
export async function sha256Of(path: string, options: HashOptions = {}): Promise<string> {
  const handle = await open(path, "r");
  try {
    const { size } = await handle.stat();
    const hasher = new PrefixHasher(handle);
    await hasher.advance(size, options);
    return hasher.digest();
  } finally {
    await handle.close();
  }
}

/**
 * Hashes a file from its start while the rest of it is still being written: the bytes that parallel connections write
 * out of order are read again when everything before them is there, from the system's cache.
 */
export class PrefixHasher {
  readonly #handle: FileHandle;
  #hash: Hash = createHash("sha256");
  #position = 0;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  get position(): number {
    return this.#position;
  }

  restart(): void {
    this.#hash = createHash("sha256");
    this.#position = 0;
  }

  /** Hashes up to `end`, which must be written. */
  async advance(end: number, options: HashOptions = {}): Promise<void> {
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK, Math.max(0, end - this.#position)));
    while (this.#position < end) {
      throwIfAborted(options.signal);
      const wanted = Math.min(buffer.byteLength, end - this.#position);
      const { bytesRead } = await this.#handle.read(buffer, 0, wanted, this.#position);
      if (bytesRead === 0) break;
      this.#hash.update(buffer.subarray(0, bytesRead));
      this.#position += bytesRead;
      options.onProgress?.(this.#position);
    }
  }

  digest(): string {
    return this.#hash.digest("hex");
  }
}

import type { FileHandle } from "node:fs/promises";
import { readFile, rm } from "node:fs/promises";
import { z } from "zod";
import { openOwn, writeAtomically } from "./files.js";
import { type Range, Ranges } from "./ranges.js";

/** What a partial file is a part of. A change of any of it makes the bytes worthless. */
export interface PartIdentity {
  /** Where it comes from, such as repository, commit and path. */
  readonly source: string;
  readonly bytes: number;
  readonly sha256?: string;
}

const VERSION = 1;
/** Written bytes are recorded within this time. */
const NOTE_AFTER_MS = 20;

const note = z.object({
  version: z.literal(VERSION),
  source: z.string(),
  bytes: z.number(),
  sha256: z.string().optional(),
  etag: z.string().optional(),
  received: z.array(z.tuple([z.number().int().nonnegative(), z.number().int().nonnegative()])),
});

/**
 * A file that is being downloaded: `<name>.part` holds the bytes, `<name>.part.json` says which of them are there. The
 * note is written after the bytes, so that a crash loses at most what arrived since.
 */
export class Part {
  readonly path: string;
  readonly handle: FileHandle;
  readonly #identity: PartIdentity;
  received = new Ranges();
  etag: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #noting: Promise<void> | undefined;

  private constructor(path: string, handle: FileHandle, identity: PartIdentity) {
    this.path = path;
    this.handle = handle;
    this.#identity = identity;
  }

  /** Opens the partial file of an earlier download of the same file, otherwise an empty one. */
  static async open(path: string, identity: PartIdentity): Promise<Part> {
    const part = new Part(path, await openOwn(path), identity);
    try {
      await part.#readNote();
    } catch (error) {
      await part.handle.close();
      throw error;
    }
    return part;
  }

  /** Bytes not received yet. */
  get remaining(): number {
    return this.#identity.bytes - this.received.total;
  }

  async write(chunk: Uint8Array, position: number): Promise<void> {
    let done = 0;
    while (done < chunk.byteLength) {
      const { bytesWritten } = await this.handle.write(chunk, done, chunk.byteLength - done, position + done);
      done += bytesWritten;
    }
    this.received.add(position, position + chunk.byteLength);
    this.#timer ??= setTimeout(() => this.#noteNow(), NOTE_AFTER_MS);
  }

  /** Discards the received bytes. */
  async clear(): Promise<void> {
    await this.#settled();
    this.received = new Ranges();
    this.etag = undefined;
    await rm(this.#notePath, { force: true });
    await this.handle.truncate(0);
  }

  async note(): Promise<void> {
    await this.#settled();
    await this.#write();
  }

  async close(): Promise<void> {
    await this.#settled();
    await this.handle.close();
  }

  /** Deletes the partial file; it must be closed. */
  async remove(): Promise<void> {
    await this.removeNote();
    await rm(this.path, { force: true });
  }

  async removeNote(): Promise<void> {
    await this.#settled();
    await rm(this.#notePath, { force: true });
  }

  get #notePath(): string {
    return `${this.path}.json`;
  }

  #noteNow(): void {
    this.#timer = undefined;
    this.#noting = this.#settled()
      .then(() => this.#write())
      // A full disk refuses the next bytes as well, and that error is reported.
      .catch(() => {});
  }

  /** Nothing is being noted, and nothing will be by itself. */
  async #settled(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#noting;
  }

  #write(): Promise<void> {
    const { etag, received } = this;
    return writeAtomically(
      this.#notePath,
      JSON.stringify({ version: VERSION, ...this.#identity, etag, received }),
      { durable: false },
    );
  }

  async #readNote(): Promise<void> {
    const { bytes, source, sha256 } = this.#identity;
    const { size } = await this.handle.stat();
    const found = note.safeParse(await readJson(this.#notePath));
    const known = found.success ? found.data : undefined;
    const same = known?.source === source && known.bytes === bytes && known.sha256 === sha256;
    if (!same) return this.clear();
    this.etag = known.etag;
    const within = known.received.map(([start, end]): Range => [start, Math.min(end, size, bytes)]);
    this.received = Ranges.of(within);
    return undefined;
  }
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, "utf8"));
  } catch {
    return undefined;
  }
}

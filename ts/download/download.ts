import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LocalInferenceError, throwIfAborted } from "../errors.js";
import { DEFAULT_CONNECTIONS, DEFAULT_RESERVE_BYTES } from "./defaults.js";
import { assertSpace, diskError, moveDurably, sizeOf } from "./files.js";
import { PrefixHasher, sha256Of } from "./hash.js";
import { type Answer, failed, type Http } from "./http.js";
import { withLock } from "./lock.js";
import { Part, type PartIdentity } from "./part.js";
import { RateMeter } from "./rate.js";
import { delayBefore, pause, RETRY, type RetryOptions } from "./retry.js";
import { ContentChanged, RangesUnsupported, Transfer } from "./transfer.js";

/** One file to fetch. */
export interface FileRequest extends PartIdentity {
  readonly url: URL;
  /** Absolute path; its folder exists. */
  readonly destination: string;
  /** The error of a status that is final. */
  readonly refusal: (answer: Answer) => Error;
}

export interface FileProgress {
  readonly phase: "waiting" | "downloading" | "verifying";
  /** Bytes of the file that are on disk. */
  readonly receivedBytes: number;
  readonly totalBytes: number;
  readonly bytesPerSecond: number;
  /** The process that is waited for. */
  readonly waitingFor?: number;
}

export interface DownloadOptions {
  /** Connections for one file, 1 to 16. Default 4. */
  readonly connections?: number;
  /** Bytes asked for at once. Default: a sixteenth of the file, 8 to 64 MiB. */
  readonly segmentBytes?: number;
  readonly retry?: Partial<RetryOptions>;
  readonly signal?: AbortSignal | undefined;
  /** Called about five times a second. */
  readonly onProgress?: (progress: FileProgress) => void;
  /** Bytes of the disk that stay free. Default 64 MiB. */
  readonly reserveBytes?: number;
  /** Throw `BUSY` instead of waiting for another process that downloads the same file. */
  readonly failWhenTaken?: boolean;
}

export interface DownloadedFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  /** Whether `sha256` was compared with one that was known before. */
  readonly verified: boolean;
  /** Bytes that an earlier download had left. */
  readonly resumedFrom: number;
}

const MIB = 1024 * 1024;
const REPORT_EVERY_MS = 200;
/** How often a download starts again when the file changes or arrives damaged. */
const RESTARTS = 2;

/**
 * Fetches a file, continuing what an earlier call began. The file appears under its name only when it is complete and
 * has the expected SHA-256.
 *
 * @throws LocalInferenceError `DISK_FULL`, `CHECKSUM_MISMATCH`, `DOWNLOAD_FAILED`, `BUSY`, `OFFLINE`, what `refusal`
 * makes of a status; an `AbortError`. What was received stays for the next call, except after a mismatch.
 */
export async function downloadFile(
  http: Http,
  file: FileRequest,
  options: DownloadOptions = {},
): Promise<DownloadedFile> {
  const { signal, failWhenTaken = false } = options;
  throwIfAborted(signal);
  const report = (progress: Partial<FileProgress>) =>
    options.onProgress?.({
      phase: "downloading",
      receivedBytes: 0,
      totalBytes: file.bytes,
      bytesPerSecond: 0,
      ...progress,
    });
  return withLock(`${file.destination}.lock`, () => new FileDownload(http, file, options, report).run(), {
    signal,
    failWhenTaken,
    onWait: (pid) => report({ phase: "waiting", waitingFor: pid }),
  });
}

class FileDownload {
  readonly #http: Http;
  readonly #file: FileRequest;
  readonly #options: DownloadOptions;
  readonly #report: (progress: Partial<FileProgress>) => void;
  readonly #rate = new RateMeter();
  readonly #connections: number;
  /** Attempts to get the whole file from a server without range requests. */
  #wholeAttempts = 0;
  #reported = 0;

  constructor(
    http: Http,
    file: FileRequest,
    options: DownloadOptions,
    report: (progress: Partial<FileProgress>) => void,
  ) {
    this.#http = http;
    this.#file = file;
    this.#options = options;
    this.#report = report;
    this.#connections = Math.max(1, Math.min(16, options.connections ?? DEFAULT_CONNECTIONS));
  }

  async run(): Promise<DownloadedFile> {
    const there = await this.#alreadyThere();
    if (there !== undefined) return there;
    const part = await Part.open(`${this.#file.destination}.part`, this.#file);
    try {
      return await this.#fetchInto(part);
    } catch (error) {
      await part.note().catch(() => {});
      throw diskError(error, part.path);
    } finally {
      await part.close();
      if (part.received.total === 0) await part.remove();
    }
  }

  async #fetchInto(part: Part): Promise<DownloadedFile> {
    const { destination, bytes, sha256: expected } = this.#file;
    await assertSpace(
      dirname(destination),
      part.remaining,
      this.#options.reserveBytes ?? DEFAULT_RESERVE_BYTES,
    );
    const resumedFrom = part.received.total;
    const sha256 = await this.#receive(part);
    await part.handle.truncate(bytes);
    await part.handle.sync();
    await moveDurably(part.path, destination);
    await part.removeNote();
    return { path: destination, bytes, sha256, verified: expected !== undefined, resumedFrom };
  }

  /** A file of the right size and SHA-256 is not fetched again. */
  async #alreadyThere(): Promise<DownloadedFile | undefined> {
    const { destination, bytes, sha256 } = this.#file;
    if ((await sizeOf(destination)) !== bytes) return undefined;
    const found = await sha256Of(destination, {
      signal: this.#options.signal,
      onProgress: (receivedBytes) => this.#show({ phase: "verifying", receivedBytes }),
    });
    if (sha256 !== undefined && found !== sha256) return undefined;
    await rm(`${destination}.part`, { force: true });
    await rm(`${destination}.part.json`, { force: true });
    return { path: destination, bytes, sha256: found, verified: sha256 !== undefined, resumedFrom: bytes };
  }

  /** The bytes and their SHA-256; starts anew when the server's file changed or what arrived is damaged. */
  async #receive(part: Part): Promise<string> {
    const hasher = new PrefixHasher(part.handle);
    let restarts = 0;
    for (;;) {
      try {
        await this.#transfer(part, hasher);
        const sha256 = hasher.digest();
        if (this.#file.sha256 === undefined || this.#file.sha256 === sha256) return sha256;
        await part.clear();
        if (restarts >= RESTARTS) throw this.#mismatch(sha256, this.#file.sha256);
        restarts += 1;
      } catch (error) {
        const changed = error instanceof ContentChanged;
        if (!changed && !(error instanceof RangesUnsupported)) throw error;
        await part.clear();
        if (!changed) await this.#withoutRanges();
        else if (restarts >= RESTARTS) throw failed(`${this.#file.source}: ${error.message}.`);
        else restarts += 1;
      }
      hasher.restart();
    }
  }

  /** Prepares to request the whole file, and to request it again when the connection breaks. */
  async #withoutRanges(): Promise<void> {
    const retry = { ...RETRY, ...this.#options.retry };
    this.#wholeAttempts += 1;
    if (this.#wholeAttempts > retry.attempts) {
      const reason = "the connection breaks and the server does not continue a download";
      throw failed(`${this.#file.source}: ${reason}.`);
    }
    if (this.#wholeAttempts > 1) await pause(delayBefore(this.#wholeAttempts, retry), this.#options.signal);
  }

  async #transfer(part: Part, hasher: PrefixHasher): Promise<void> {
    const { bytes, url, refusal } = this.#file;
    const done = new AbortController();
    const outer = this.#options.signal;
    const signal = outer === undefined ? done.signal : AbortSignal.any([outer, done.signal]);
    const whole = this.#wholeAttempts > 0;
    this.#rate.restart(part.received.total);
    const hashing = this.#follow(part, hasher, done.signal);
    try {
      await new Transfer(part, {
        http: this.#http,
        url,
        bytes,
        connections: whole ? 1 : this.#connections,
        segmentBytes: whole ? bytes : this.#segmentBytes(),
        retry: { ...RETRY, ...this.#options.retry },
        signal,
        refusal,
        onBytes: () => this.#show({ receivedBytes: part.received.total }),
      }).run();
    } catch (error) {
      throwIfAborted(outer);
      throw error;
    } finally {
      done.abort();
      await hashing;
    }
    await hasher.advance(bytes, {
      signal: outer,
      onProgress: (receivedBytes) => this.#show({ phase: "verifying", receivedBytes }),
    });
    this.#report({ receivedBytes: bytes, bytesPerSecond: this.#rate.bytesPerSecond });
  }

  /** Hashes while bytes arrive, so that little is left at the end. Never fails: `#transfer` hashes the rest. */
  async #follow(part: Part, hasher: PrefixHasher, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { prefix } = part.received;
      try {
        if (prefix > hasher.position) await hasher.advance(prefix, { signal });
        else await sleep(50, undefined, { signal });
      } catch {
        return;
      }
    }
  }

  #segmentBytes(): number {
    const { segmentBytes } = this.#options;
    return segmentBytes ?? Math.min(64 * MIB, Math.max(8 * MIB, Math.ceil(this.#file.bytes / 16)));
  }

  #show(progress: Pick<FileProgress, "receivedBytes"> & Partial<FileProgress>): void {
    this.#rate.measure(progress.receivedBytes);
    const now = performance.now();
    if (now - this.#reported < REPORT_EVERY_MS) return;
    this.#reported = now;
    this.#report({ bytesPerSecond: this.#rate.bytesPerSecond, ...progress });
  }

  #mismatch(actual: string, expected: string): LocalInferenceError {
    const message = `${this.#file.source} arrived damaged ${RESTARTS + 1} times: its SHA-256 is ${actual}, not ${expected}.`;
    return new LocalInferenceError("CHECKSUM_MISMATCH", message, {
      hint: "The file was deleted. Try another network, or set ELIZA_HF_BASE_URL to another hub.",
    });
  }
}

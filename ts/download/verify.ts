import { sizeOf } from "./files.js";
import { sha256Of } from "./hash.js";
import type { InstalledModel } from "./registry.js";

/**
 * `ok`: the checksum matches; `damaged`: it does not; `missing`: no such file; `unknown`: no checksum to compare with.
 */
export type FileState = "ok" | "damaged" | "missing" | "unknown";

export interface VerifiedFile {
  readonly path: string;
  readonly state: FileState;
  readonly bytes: number;
  readonly sha256?: string;
  readonly expected?: string;
}

export interface Verification {
  readonly id: string;
  /** The worst state of its files. */
  readonly state: FileState;
  readonly files: readonly VerifiedFile[];
}

export interface VerifyOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: (readBytes: number, totalBytes: number) => void;
}

const BY_BADNESS: readonly FileState[] = ["missing", "damaged", "unknown", "ok"];

/** Reads every file of a model and compares it with its checksum. */
export async function verifyModel(model: InstalledModel, options: VerifyOptions = {}): Promise<Verification> {
  let before = 0;
  const files: VerifiedFile[] = [];
  for (const { path, bytes, sha256: expected } of model.files) {
    files.push(await verifyFile(path, bytes, expected, before, model.bytes, options));
    before += bytes;
  }
  const state = BY_BADNESS.find((one) => files.some((file) => file.state === one)) ?? "unknown";
  return { id: model.id, state, files };
}

async function verifyFile(
  path: string,
  bytes: number,
  expected: string | undefined,
  before: number,
  total: number,
  { signal, onProgress }: VerifyOptions,
): Promise<VerifiedFile> {
  const size = await sizeOf(path);
  const known = expected === undefined ? {} : { expected };
  if (size === undefined) return { path, state: "missing", bytes: 0, ...known };
  if (size !== bytes) return { path, state: "damaged", bytes: size, ...known };
  const sha256 = await sha256Of(path, { signal, onProgress: (read) => onProgress?.(before + read, total) });
  const state = expected === undefined ? "unknown" : sha256 === expected ? "ok" : "damaged";
  return { path, state, bytes, sha256, ...known };
}

import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, rename, rm, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { LocalInferenceError } from "../errors.js";

/** Opens a file for reading and writing, made when it is not there; a link in its place is refused. */
export async function openOwn(path: string): Promise<FileHandle> {
  // Windows has no O_NOFOLLOW and creates links only for administrators.
  const noFollow = constants.O_NOFOLLOW ?? 0;
  return open(path, constants.O_RDWR | constants.O_CREAT | noFollow, 0o644);
}

/** Replaces a file as a whole: a reader sees the old text or the new one, also after a crash. */
export async function writeAtomically(
  path: string,
  text: string,
  { durable = true, mode = 0o644 }: { durable?: boolean; mode?: number } = {},
): Promise<void> {
  const temporary = `${path}.${process.pid}.${randomBytes(4).toString("hex")}.tmp`;
  try {
    const handle = await open(temporary, "wx", mode);
    try {
      await handle.writeFile(text);
      if (durable) await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Moves a file to its final name so that the move survives a power failure. */
export async function moveDurably(from: string, to: string): Promise<void> {
  await rename(from, to);
  // Folders cannot be opened on Windows; its file system records the move itself.
  const folder = await open(dirname(to), "r").catch(() => undefined);
  await folder?.sync().catch(() => {});
  await folder?.close();
}

export async function sizeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    (facts) => (facts.isFile() ? facts.size : undefined),
    () => undefined,
  );
}

/** Bytes that this user may still write in a folder's file system. */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/**
 * @throws LocalInferenceError `DISK_FULL` unless `needed` bytes fit into `folder` and `reserve` bytes stay free.
 */
export async function assertSpace(folder: string, needed: number, reserve: number): Promise<void> {
  const free = await freeBytes(folder);
  if (needed + reserve <= free) return;
  const missing = needed + reserve - free;
  throw new LocalInferenceError(
    "DISK_FULL",
    `The download needs ${megabytes(needed)} in ${folder}, where ${megabytes(free)} are free.`,
    { hint: `Free ${megabytes(missing)}, or set MODELS_DIR to a folder on a larger disk.` },
  );
}

/** Turns what a full disk throws into the error of this package. */
export function diskError(error: unknown, path: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== "ENOSPC" && code !== "EDQUOT") return error;
  return new LocalInferenceError("DISK_FULL", `The disk became full while ${path} was written.`, {
    hint: "Free some space and start the download again: it continues where it stopped.",
    cause: error,
  });
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6).toLocaleString("en-US")} MB`;
}

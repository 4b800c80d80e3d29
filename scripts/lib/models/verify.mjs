// Files are hashed once; after that size and modification time tell that they are still the verified ones.
import { createHash } from "node:crypto";
import {
  createReadStream,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { Failure } from "../log.mjs";

export async function sha256Of(path) {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk);
  return hash.digest("hex");
}

const recordFile = (folder) => join(folder, ".verified.json");

function readRecord(folder) {
  try {
    return JSON.parse(readFileSync(recordFile(folder), "utf8"));
  } catch {
    return {};
  }
}

function remember(folder, file, sha256) {
  const { size, mtimeMs } = statSync(join(folder, file));
  const record = { ...readRecord(folder), [file]: { sha256, size, mtimeMs } };
  const temporary = `${recordFile(folder)}.${process.pid}`;
  writeFileSync(temporary, `${JSON.stringify(record, null, 2)}\n`);
  renameSync(temporary, recordFile(folder));
}

/** Whether `folder/file` is there and is the file the table describes. */
export async function isVerified(folder, { file, bytes, sha256 }) {
  const path = join(folder, file);
  if (!existsSync(path)) return false;
  const { size, mtimeMs } = statSync(path);
  if (size !== bytes) return false;
  const known = readRecord(folder)[file];
  if (known?.sha256 === sha256 && known.size === size && known.mtimeMs === mtimeMs) return true;
  if ((await sha256Of(path)) !== sha256) return false;
  remember(folder, file, sha256);
  return true;
}

/** Moves a finished file to its place if it is the one that the table describes. */
export async function publish(temporary, folder, { file, bytes, sha256 }) {
  const { size } = statSync(temporary);
  if (size !== bytes) throw new Failure(`${file}: ${size} bytes were made, ${bytes} are expected`);
  const actual = await sha256Of(temporary);
  if (actual !== sha256) throw new Failure(`${file}: sha256 is ${actual}, expected ${sha256}`);
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  renameSync(temporary, join(folder, file));
  remember(folder, file, sha256);
}

import { mkdir, realpath } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { invalidInput } from "../errors.js";

/** Bytes of a name that every common file system accepts, with room for the suffixes of unfinished files. */
const NAME_BYTES = 200;
const FORBIDDEN = '<>:"|?*\\';
const WINDOWS_DEVICES = /^(con|prn|aux|nul|com\d|lpt\d)(\..*)?$/i;

/** Characters that some file system refuses, and control characters, become `_`; everything else is kept. */
export function safeName(name: string): string {
  const kept = [...name.normalize("NFC")].map((character) => {
    const code = character.codePointAt(0) ?? 0;
    return code < 32 || code === 127 || character === "/" || FORBIDDEN.includes(character) ? "_" : character;
  });
  // Windows drops trailing dots and spaces: two names would be one file.
  let safe = kept.join("").replace(/[. ]+$/, (tail) => "_".repeat(tail.length));
  if (WINDOWS_DEVICES.test(safe)) safe = `_${safe}`;
  return shortened(safe);
}

/** A name that is too long loses characters of its middle: the end says what kind of file it is. */
function shortened(name: string): string {
  if (Buffer.byteLength(name) <= NAME_BYTES) return name;
  const characters = [...name];
  while (Buffer.byteLength(characters.join("")) > NAME_BYTES - 1)
    characters.splice(characters.length >> 1, 1);
  characters.splice(characters.length >> 1, 0, "_");
  return characters.join("");
}

/**
 * A path below some folder, made of safe names.
 *
 * @throws LocalInferenceError `INVALID_INPUT` for an absolute path or one with `.`, `..` or empty parts.
 */
export function safeRelativePath(path: string): string {
  const parts = path.split("/");
  if (parts.some((part) => part === "" || part === "." || part === ".." || part.includes("\0"))) {
    throw invalidInput(`${JSON.stringify(path)} is not the path of a file in a repository.`);
  }
  return join(...parts.map(safeName));
}

/** Whether `path` is `folder` or lies below it, told from the text alone. */
export function isBelow(path: string, folder: string): boolean {
  const inside = relative(folder, path);
  return inside === "" || (inside !== ".." && !inside.startsWith(`..${sep}`) && inside !== path);
}

/**
 * Creates the folders of `file` (a path below `root`) and returns its absolute path.
 *
 * @throws LocalInferenceError `INVALID_INPUT` when a link on the way leads out of `root`.
 */
export async function makeFoldersOf(root: string, file: string): Promise<string> {
  await mkdir(root, { recursive: true });
  const base = await realpath(root);
  let folder = base;
  const parts = file.split(sep);
  const name = parts.pop() ?? file;
  for (const part of parts) {
    folder = join(folder, part);
    await mkdir(folder).catch(ignoreExisting);
    await assertInside(folder, base);
  }
  return join(folder, name);
}

/** @throws LocalInferenceError `INVALID_INPUT` when `path` really lies elsewhere than below `base`, a real path. */
export async function assertInside(path: string, base: string): Promise<void> {
  const real = await realpath(path);
  if (!isBelow(real, base)) {
    throw invalidInput(`${path} leads out of the models folder, to ${real}.`, {
      hint: "Replace the link by a folder, or set MODELS_DIR to where it leads.",
    });
  }
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}

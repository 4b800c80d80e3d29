import { readdir, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, isAbsolute, join, relative, resolve, sep } from "node:path";
import { invalidInput, LocalInferenceError } from "../errors.js";

/** How deep below MODELS_DIR a model is looked for by its id. */
const SEARCH_DEPTH = 3;

/** Looks a model up among the installed ones and returns its file. */
export type FindModel = (setting: string) => Promise<string | undefined>;

/** What the text of a model setting means. */
export type ModelReference =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "id"; readonly id: string }
  | { readonly kind: "remote"; readonly repository: string; readonly path: string; readonly file: string };

/**
 * Reads a model setting: a path to a GGUF, an id, or `hf:owner/repo/file.gguf`.
 *
 * @throws LocalInferenceError `INVALID_INPUT` when a relative path leaves `modelsDir`.
 */
export function modelReference(setting: string, modelsDir: string): ModelReference {
  if (setting.startsWith("hf:")) {
    const [owner = "", named = "", ...path] = setting.slice(3).split("/");
    const [name = ""] = named.split("@");
    return { kind: "remote", repository: `${owner}/${name}`, path: path.join("/"), file: path.at(-1) ?? "" };
  }
  const written = setting.startsWith("~/") ? join(homedir(), setting.slice(2)) : setting;
  if (isAbsolute(written)) return { kind: "file", path: written };
  const path = resolve(modelsDir, written);
  const inside = relative(modelsDir, path);
  if (inside === "" || inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside)) {
    throw invalidInput(`The model ${JSON.stringify(setting)} lies outside MODELS_DIR (${modelsDir}).`, {
      hint: "Write an absolute path to use a file from elsewhere.",
    });
  }
  return isGguf(written) ? { kind: "file", path } : { kind: "id", id: written };
}

/**
 * The real path of the file that a model setting names.
 *
 * @throws LocalInferenceError `MODEL_NOT_FOUND` that says where to put the file, `INVALID_INPUT` for a path outside
 * `modelsDir` or an id that several files match.
 */
export async function resolveModel(
  setting: string,
  modelsDir: string,
  find: FindModel = async () => undefined,
): Promise<string> {
  const reference = modelReference(setting, modelsDir);
  switch (reference.kind) {
    case "file":
      return existingFile(reference.path, setting);
    case "id":
      return byId(reference.id, modelsDir, find);
    case "remote":
      return downloaded(reference, setting, modelsDir, find);
  }
}

async function existingFile(path: string, setting: string): Promise<string> {
  if (await isFile(path)) return realpath(path);
  throw new LocalInferenceError(
    "MODEL_NOT_FOUND",
    `The model ${JSON.stringify(setting)} is not at ${path}.`,
    {
      hint: "Put the GGUF file there, or correct the setting.",
    },
  );
}

async function byId(id: string, modelsDir: string, find: FindModel): Promise<string> {
  const found = (await ggufFiles(modelsDir, SEARCH_DEPTH)).filter((path) => matchesId(path, id, modelsDir));
  const [first, ...others] = found;
  if (first === undefined) {
    const installed = await find(id);
    if (installed !== undefined) return realpath(installed);
    throw notInstalled(id, join(modelsDir, `${id}.gguf`));
  }
  if (others.length > 0) {
    throw invalidInput(
      `The model id ${JSON.stringify(id)} names several files: ${found.sort().join(", ")}.`,
      {
        hint: "Write the path relative to MODELS_DIR.",
      },
    );
  }
  return realpath(first);
}

/** The `hf:` form also means a file of that name that was put into `modelsDir` by hand. */
async function downloaded(
  reference: { repository: string; path: string; file: string },
  setting: string,
  modelsDir: string,
  find: FindModel,
): Promise<string> {
  if (!isGguf(reference.file)) {
    throw invalidInput(
      `The model ${JSON.stringify(setting)} is not of the form hf:owner/repository/file.gguf.`,
    );
  }
  const installed = await find(setting);
  if (installed !== undefined) return realpath(installed);
  const path = join(modelsDir, reference.file);
  if (await isFile(path)) return realpath(path);
  throw notInstalled(setting, path, `Type "eliza-local pull ${setting}" to fetch it, or`);
}

function notInstalled(
  setting: string,
  path: string,
  remedy = "Agents download no models by themselves:",
): LocalInferenceError {
  return new LocalInferenceError(
    "MODEL_NOT_FOUND",
    `The model ${JSON.stringify(setting)} is not installed.`,
    {
      hint: `${remedy} put the GGUF file at ${path}.`,
    },
  );
}

function matchesId(path: string, id: string, modelsDir: string): boolean {
  const name = relative(modelsDir, path)
    .split(sep)
    .join("/")
    .replace(/\.gguf$/i, "");
  const whole = name.replace(/-00001-of-\d{5}$/, "");
  return [name, whole].some((candidate) => candidate === id || basename(candidate) === id);
}

async function ggufFiles(directory: string, depth: number): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  const nested = await Promise.all(
    entries.map(async (entry) => {
      const path = join(directory, entry.name);
      if (isGguf(entry.name)) return (await isFile(path)) ? [path] : [];
      return entry.isDirectory() && depth > 1 ? ggufFiles(path, depth - 1) : [];
    }),
  );
  return nested.flat();
}

function isGguf(name: string): boolean {
  return /\.gguf$/i.test(name);
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (facts) => facts.isFile(),
    () => false,
  );
}

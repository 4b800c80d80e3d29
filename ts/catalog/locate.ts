import { readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { LocalInferenceError } from "../errors.js";
import { COMPANION_ROLES, type CompanionRole, companionRole } from "../roles.js";
import type { Catalog } from "./load.js";
import { modelReference, resolveModel } from "./models-dir.js";
import type { CatalogEntry } from "./schema.js";
import { hostedVariants } from "./variants.js";

/** The files of an installed model, as far as choosing and loading it needs to know them. */
export interface ModelOnDisk {
  readonly id: string;
  /** The file to load: the first part of a split model. Absolute. */
  readonly path: string;
  /** Every file with what it is for: `model`, or a {@link CompanionRole}. */
  readonly files: readonly { readonly path: string; readonly role: string }[];
  /** The catalog entry it was fetched as. */
  readonly catalogId?: string;
}

/** The installed model that an id, a catalog id or a reference to the hub means. */
export type FindInstalled = (id: string) => Promise<ModelOnDisk | undefined>;

/** For a program without a registry of downloads. */
export const findNothing: FindInstalled = async () => undefined;

/** A model on this machine. */
export interface Located {
  /** Real path of the GGUF. */
  readonly path: string;
  /** When it is known to be a model of the catalog. */
  readonly entry?: CatalogEntry;
  /** Real paths of the companions that are here. */
  readonly companions: Partial<Record<CompanionRole, string>>;
}

export interface LocateOptions {
  readonly modelsDir: string;
  readonly catalog: Catalog;
  readonly findInstalled: FindInstalled;
}

/**
 * The files of the model that a setting means: a catalog id, a path to a GGUF or to a folder with one, its name below
 * MODELS_DIR, `hf:owner/repository/file.gguf`, or the id of an installed model. Fetches nothing.
 *
 * @throws LocalInferenceError `MODEL_NOT_FOUND` that says how to get it; `INVALID_INPUT` for a bad or ambiguous setting.
 */
export async function locateModel(setting: string, options: LocateOptions): Promise<Located> {
  const entry = options.catalog.find(setting);
  if (entry !== undefined) return locateEntry(entry, setting, options);
  let installed: ModelOnDisk | undefined;
  const find = async (id: string) => {
    installed = await options.findInstalled(id);
    return installed?.path;
  };
  try {
    const path = await resolveModel(setting, options.modelsDir, find);
    return installed === undefined ? await located(path, options) : await fromInstalled(installed, options);
  } catch (error) {
    const folder = isMissing(error) ? await folderOf(setting, options.modelsDir) : undefined;
    if (folder === undefined) throw error;
    return located(await modelInFolder(folder), options);
  }
}

async function locateEntry(entry: CatalogEntry, setting: string, options: LocateOptions): Promise<Located> {
  const installed = await options.findInstalled(entry.id);
  if (installed !== undefined) return fromInstalled(installed, options, entry);
  for (const path of placesOf(entry, options.modelsDir)) {
    if (await isFile(path)) return located(await realpath(path), options, entry);
  }
  // A file may have been given the name of the model.
  const named = await resolveModel(setting, options.modelsDir).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (named !== undefined) return located(named, options, entry);
  const [variant] = hostedVariants(entry);
  const { repository, revision, folder } = entry.hub;
  const file = [folder, variant?.file].filter((part) => part !== undefined).join("/");
  const source = `hf:${repository}${revision === undefined ? "" : `@${revision}`}/${file}`;
  throw new LocalInferenceError("MODEL_NOT_FOUND", `The model ${entry.id} is not on this machine.`, {
    hint:
      `Type "eliza-local pull ${entry.id}" to fetch it (${source}), or put the file into ${options.modelsDir}. Agents ` +
      "download no models by themselves.",
  });
}

/** Where the files of an entry may have been put by hand: with the folders of the repository, or without. */
function placesOf(entry: CatalogEntry, modelsDir: string): string[] {
  const { folder = "", formerFolder = "", repository } = entry.hub;
  const roots = [modelsDir, join(modelsDir, repository), join(modelsDir, basename(repository))];
  return hostedVariants(entry).flatMap(({ file, formerFile }) => {
    const relative = [
      ...(file === null ? [] : [join(folder, file), file, basename(file)]),
      ...(formerFile === undefined ? [] : [join(formerFolder, formerFile), formerFile, basename(formerFile)]),
    ];
    return relative.flatMap((path) => roots.map((root) => join(root, path)));
  });
}

async function fromInstalled(
  installed: ModelOnDisk,
  options: LocateOptions,
  known = installed.catalogId === undefined ? undefined : options.catalog.find(installed.catalogId),
): Promise<Located> {
  const found = await located(await realpath(installed.path), options, known);
  const registered = installed.files.flatMap(({ path, role: word }) => {
    const role = companionRole(word);
    return role === undefined ? [] : [[role, path] as const];
  });
  return { ...found, companions: { ...found.companions, ...Object.fromEntries(registered) } };
}

async function located(path: string, options: LocateOptions, known?: CatalogEntry): Promise<Located> {
  const entry = known ?? entryOfFile(path, options.catalog);
  if (entry === undefined) return { path, companions: {} };
  return { path, entry, companions: await companionsOf(path, entry) };
}

/** The one entry that has a file of exactly this name. */
function entryOfFile(path: string, catalog: Catalog): CatalogEntry | undefined {
  const name = basename(path).toLowerCase();
  const matches = catalog.entries.filter((entry) =>
    entry.variants.some(({ file, formerFile }) =>
      [file, formerFile].some((one) => one != null && basename(one).toLowerCase() === name),
    ),
  );
  return matches.length === 1 ? matches[0] : undefined;
}

/** Companions lie in folders beside that of the text model, or beside the model itself. */
async function companionsOf(path: string, entry: CatalogEntry): Promise<Located["companions"]> {
  const found: Located["companions"] = {};
  for (const role of COMPANION_ROLES) {
    const companion = entry.companions[role];
    if (companion === undefined) continue;
    const names = [companion.file, ...(companion.formerFile === undefined ? [] : [companion.formerFile])];
    for (const place of names.flatMap((name) => companionPlaces(path, name))) {
      if (found[role] === undefined && (await isFile(place))) found[role] = await realpath(place);
    }
  }
  return found;
}

function companionPlaces(path: string, name: string): string[] {
  return [join(dirname(dirname(path)), name), join(dirname(path), basename(name))];
}

/** The files that a located model was found by, and the folders where its companions may appear later. */
export function tracesOf({ path, entry, companions }: Located): string[] {
  const names = Object.values(entry?.companions ?? {}).map(({ file }) => file);
  const folders = names.flatMap((name) => companionPlaces(path, name)).map((place) => dirname(place));
  return [path, ...Object.values(companions), ...new Set(folders)];
}

async function folderOf(setting: string, modelsDir: string): Promise<string | undefined> {
  const reference = modelReference(setting, modelsDir);
  if (reference.kind === "remote") return undefined;
  const path = reference.kind === "file" ? reference.path : join(modelsDir, reference.id);
  return (await isFolder(path)) ? path : undefined;
}

/** The only model in a folder or in its `text` folder; parts of a split model count once. */
async function modelInFolder(folder: string): Promise<string> {
  for (const place of [folder, join(folder, "text")]) {
    const names = await readdir(place).catch(() => []);
    const models = names.filter((name) => /\.gguf$/i.test(name) && !NOT_A_MODEL.test(name)).sort();
    const [only, ...others] = models;
    if (only !== undefined && others.length === 0) return realpath(join(place, only));
    if (only !== undefined)
      throw missing(
        `The folder ${place} holds several models: ${models.join(", ")}. Write the path of one of them.`,
      );
  }
  throw missing(`The folder ${folder} holds no GGUF model.`);
}

/** Projectors, drafters and the later parts of a split model. */
const NOT_A_MODEL = /^(mmproj|drafter|mtp)[-_.]|[-_.]mmproj[-_.]|-(?!00001)\d{5}-of-\d{5}\.gguf$/i;

function missing(message: string): LocalInferenceError {
  return new LocalInferenceError("MODEL_NOT_FOUND", message);
}

function isMissing(error: unknown): boolean {
  return error instanceof LocalInferenceError && error.code === "MODEL_NOT_FOUND";
}

function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (facts) => facts.isFile(),
    () => false,
  );
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (facts) => facts.isDirectory(),
    () => false,
  );
}

import { open, readdir, readFile, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, join, relative, sep } from "node:path";
import { z } from "zod";
import { sizeOf } from "./files.js";
import type { InstalledFile, InstalledModel, Origin } from "./registry.js";
import { isGguf, modelName, partsOf, splitPart } from "./split.js";

export interface ScanOptions {
  /** Default: the user's. */
  readonly home?: string;
  /** Default: the process's; HF_HOME, HF_HUB_CACHE, OLLAMA_MODELS and the like say where programs keep models. */
  readonly environment?: NodeJS.ProcessEnv;
}

const DEPTH = 6;

/** GGUF models that were put into the models folder by hand. */
export async function scanFolder(modelsDir: string): Promise<InstalledModel[]> {
  return modelsBelow(modelsDir, "folder", (path) => idBelow(modelsDir, path));
}

/** Models that other programs downloaded, used where they are and never changed. */
export async function scanPrograms(options: ScanOptions = {}): Promise<InstalledModel[]> {
  const home = options.home ?? homedir();
  const environment = options.environment ?? process.env;
  const found = await Promise.all([
    ...lmStudioFolders(home).map((folder) =>
      modelsBelow(folder, "lm-studio", (path) => `lm-studio:${idBelow(folder, path)}`),
    ),
    ...janFolders(home, environment).map((folder) =>
      modelsBelow(folder, "jan", (path) => `jan:${idBelow(folder, path)}`),
    ),
    huggingFace(huggingFaceFolder(home, environment)),
    ollama(environment.OLLAMA_MODELS ?? join(home, ".ollama", "models")),
  ]);
  return unique(found.flat());
}

function lmStudioFolders(home: string): string[] {
  return [join(home, ".lmstudio", "models"), join(home, ".cache", "lm-studio", "models")];
}

function janFolders(home: string, environment: NodeJS.ProcessEnv): string[] {
  const data = [
    environment.JAN_DATA_FOLDER,
    join(home, "jan"),
    join(environment.XDG_DATA_HOME ?? join(home, ".local", "share"), "Jan", "data"),
    join(home, "Library", "Application Support", "Jan", "data"),
    environment.APPDATA === undefined ? undefined : join(environment.APPDATA, "Jan", "data"),
  ];
  const present = data.filter((folder) => folder !== undefined);
  return present.flatMap((folder) => [join(folder, "models"), join(folder, "llamacpp", "models")]);
}

function huggingFaceFolder(home: string, environment: NodeJS.ProcessEnv): string {
  const { HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME, XDG_CACHE_HOME } = environment;
  const base = HF_HOME ?? join(XDG_CACHE_HOME ?? join(home, ".cache"), "huggingface");
  return HF_HUB_CACHE ?? HUGGINGFACE_HUB_CACHE ?? join(base, "hub");
}

/** `models--owner--name/snapshots/<commit>/file.gguf`: links to blobs. */
async function huggingFace(cache: string): Promise<InstalledModel[]> {
  const folders = (await names(cache)).filter((name) => name.startsWith("models--"));
  const found = await Promise.all(
    folders.map(async (folder) => {
      const repository = folder.slice("models--".length).replace("--", "/");
      const snapshots = join(cache, folder, "snapshots");
      const commits = await names(snapshots);
      const models = await Promise.all(
        commits.map((commit) =>
          modelsBelow(
            join(snapshots, commit),
            "huggingface",
            (path) => `hf:${repository}/${idBelow(join(snapshots, commit), path)}.gguf`,
          ),
        ),
      );
      return models.flat().map((model) => ({ ...model, repository }));
    }),
  );
  return found.flat();
}

const manifest = z.object({
  layers: z.array(z.object({ mediaType: z.string(), digest: z.string().regex(/^sha256:[0-9a-f]{64}$/) })),
});

/** `manifests/<registry>/<owner>/<model>/<tag>` names a blob. */
async function ollama(folder: string): Promise<InstalledModel[]> {
  const root = join(folder, "manifests");
  const manifests = await filesBelow(root, 5);
  const found = await Promise.all(
    manifests.map(async (path) => {
      const digest = await modelDigest(path);
      if (digest === undefined) return undefined;
      const [, owner = "", ...rest] = relative(root, path).split(sep);
      const [tag = "latest", ...model] = rest.reverse();
      const name = `${[...(owner === "library" ? [] : [owner]), ...model.reverse()].join("/")}:${tag}`;
      const blob = join(folder, "blobs", `sha256-${digest}`);
      return modelOf([blob], "ollama", `ollama:${name}`, name, digest);
    }),
  );
  return found.filter((model) => model !== undefined);
}

async function modelDigest(path: string): Promise<string | undefined> {
  try {
    const { layers } = manifest.parse(JSON.parse(await readFile(path, "utf8")));
    return layers
      .find(({ mediaType }) => mediaType === "application/vnd.ollama.image.model")
      ?.digest.slice(7);
  } catch {
    return undefined;
  }
}

async function modelsBelow(
  folder: string,
  origin: Origin,
  idOf: (path: string) => string,
): Promise<InstalledModel[]> {
  const files = (await filesBelow(folder, DEPTH)).filter(isModelFile);
  const found = await Promise.all(
    files.map((path) => modelOf(partsOf(path), origin, idOf(path), modelName(basename(path)))),
  );
  return found.filter((model) => model !== undefined);
}

/** Excludes projectors, which belong to a model, and all parts of a split model but the first. */
function isModelFile(path: string): boolean {
  const name = basename(path);
  return isGguf(name) && !/(^|[-_.])mmproj/i.test(name) && (splitPart(name)?.index ?? 1) === 1;
}

async function modelOf(
  paths: readonly string[],
  origin: Origin,
  id: string,
  name: string,
  sha256?: string,
): Promise<InstalledModel | undefined> {
  const sizes = await Promise.all(paths.map(sizeOf));
  const [path] = paths;
  if (path === undefined || sizes.includes(undefined) || !(await startsAsGguf(path))) return undefined;
  const files = paths.map((file, index): InstalledFile => {
    const known = sha256 === undefined ? {} : { sha256 };
    return { path: file, bytes: sizes[index] ?? 0, role: "model", ...known };
  });
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return { id, name, path, files, bytes, origin, owned: origin === "folder" };
}

async function startsAsGguf(path: string): Promise<boolean> {
  const handle = await open(path, "r").catch(() => undefined);
  if (handle === undefined) return false;
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(4), 0, 4, 0);
    return bytesRead === 4 && buffer.toString("latin1") === "GGUF";
  } catch {
    return false;
  } finally {
    await handle.close();
  }
}

/** A file that two programs list counts once. */
async function unique(models: readonly InstalledModel[]): Promise<InstalledModel[]> {
  const byFile = new Map<string, InstalledModel>();
  for (const model of models) {
    const real = await realpath(model.path).catch(() => model.path);
    if (!byFile.has(real)) byFile.set(real, model);
  }
  return [...byFile.values()];
}

function idBelow(folder: string, path: string): string {
  return modelName(relative(folder, path).split(sep).join("/"));
}

async function filesBelow(folder: string, depth: number): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const nested = await Promise.all(
    entries.map(async (entry) => {
      const path = join(folder, entry.name);
      if (entry.isFile()) return [path];
      if (entry.isSymbolicLink()) return (await isFile(path)) ? [path] : [];
      return entry.isDirectory() && depth > 1 ? filesBelow(path, depth - 1) : [];
    }),
  );
  return nested.flat().sort();
}

async function names(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (facts) => facts.isFile(),
    () => false,
  );
}

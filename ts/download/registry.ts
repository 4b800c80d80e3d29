import { mkdir, readFile, rename } from "node:fs/promises";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { z } from "zod";
import { LocalInferenceError } from "../errors.js";
import { companionRole } from "../roles.js";
import { sizeOf, writeAtomically } from "./files.js";
import { withLock } from "./lock.js";
import { isBelow } from "./paths.js";

/** Where a model comes from. This package uses models of other programs and never changes them. */
export const ORIGINS = ["download", "folder", "lm-studio", "ollama", "jan", "huggingface"] as const;
export type Origin = (typeof ORIGINS)[number];

export interface InstalledFile {
  /** Absolute. */
  readonly path: string;
  readonly bytes: number;
  /** From the hub or the catalog, otherwise computed when the file arrived. */
  readonly sha256?: string;
  /** What the file is for: `model`, or a companion such as `drafter` or `vision`. */
  readonly role: string;
}

export interface InstalledModel {
  /** `hf:owner/repo/file.gguf` of a download; a path below the models folder or `origin:name` of others. */
  readonly id: string;
  /** Name for people: the file without part number and `.gguf`. */
  readonly name: string;
  /** The file to load: the first part of a split model. Absolute. */
  readonly path: string;
  readonly files: readonly InstalledFile[];
  /** Of all files. */
  readonly bytes: number;
  readonly origin: Origin;
  /** Whether {@link ModelStore.remove} may delete its files. */
  readonly owned: boolean;
  readonly catalogId?: string;
  readonly repository?: string;
  /** Commit that the files are of. */
  readonly revision?: string;
  readonly licence?: string;
  /** ISO 8601. */
  readonly installedAt?: string;
  readonly verifiedAt?: string;
}

const VERSION = 1;
const FILE = "registry.json";

const entry = z.object({
  id: z.string().min(1),
  name: z.string(),
  files: z
    .array(
      z.object({
        path: z.string().min(1),
        bytes: z.number().int().nonnegative(),
        sha256: z.string().optional(),
        // Files written by earlier versions name some roles differently.
        role: z
          .string()
          .default("model")
          .transform((word) => companionRole(word) ?? word),
      }),
    )
    .min(1),
  catalogId: z.string().optional(),
  repository: z.string().optional(),
  revision: z.string().optional(),
  licence: z.string().optional(),
  installedAt: z.string().optional(),
  verifiedAt: z.string().optional(),
});
const document = z.object({ version: z.literal(VERSION), models: z.array(entry) });

type Entry = z.infer<typeof entry>;

/** The downloaded models of a models folder, in `registry.json` there. Paths in it are relative to the folder. */
export class Registry {
  readonly modelsDir: string;
  readonly #warn: (message: string) => void;

  constructor(modelsDir: string, warn: (message: string) => void = () => {}) {
    this.modelsDir = modelsDir;
    this.#warn = warn;
  }

  get path(): string {
    return join(this.modelsDir, FILE);
  }

  /** Models whose main file exists. Sets a damaged registry aside; a scan of the folder finds its models again. */
  async list(): Promise<InstalledModel[]> {
    const entries = await this.#read().catch((error: unknown) => {
      this.#warn(error instanceof Error ? error.message : String(error));
      return [];
    });
    const models = entries.flatMap((one) => this.#modelOf(one));
    const there = await Promise.all(models.map(({ path }) => sizeOf(path)));
    return models.filter((_, index) => there[index] !== undefined);
  }

  async put(model: InstalledModel): Promise<void> {
    await this.#change((entries) => [...entries.filter(({ id }) => id !== model.id), this.#entryOf(model)]);
  }

  async remove(id: string): Promise<void> {
    await this.#change((entries) => entries.filter((one) => one.id !== id));
  }

  /** Other processes change the same file: each change reads what is there now. */
  async #change(change: (entries: Entry[]) => Entry[]): Promise<void> {
    await mkdir(this.modelsDir, { recursive: true });
    await withLock(join(this.modelsDir, ".registry.lock"), async () => {
      const models = change(await this.#read());
      await writeAtomically(this.path, `${JSON.stringify({ version: VERSION, models }, undefined, 2)}\n`);
    });
  }

  async #read(): Promise<Entry[]> {
    const text = await readFile(this.path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    if (text === undefined) return [];
    const content = parsed(text);
    const result = document.safeParse(content);
    if (result.success) return result.data.models;
    const { version } = (content ?? {}) as { version?: unknown };
    if (typeof version === "number" && version > VERSION) throw newer(this.path);
    await this.#setAside();
    return [];
  }

  async #setAside(): Promise<void> {
    const aside = `${this.path}.damaged-${Date.now()}`;
    await rename(this.path, aside).catch(() => {});
    this.#warn(`The list of downloaded models was damaged and has been renamed to ${aside}.`);
  }

  /** Ignores entries with files outside the models folder: this package may delete only what lies inside. */
  #modelOf(one: Entry): InstalledModel[] {
    const files = one.files.map((file) => ({ ...file, path: resolve(this.modelsDir, file.path) }));
    const [first] = files;
    if (first === undefined || files.some(({ path }) => !isBelow(path, this.modelsDir))) return [];
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    return [
      {
        ...withoutUndefined(one),
        files: files as InstalledFile[],
        path: first.path,
        bytes,
        origin: "download",
        owned: true,
      },
    ];
  }

  #entryOf(model: InstalledModel): Entry {
    const { path: _, bytes: __, origin: ___, owned: ____, ...rest } = model;
    const files = model.files.map((file) => ({ ...file, path: this.#relative(file.path) }));
    return { ...rest, files };
  }

  #relative(path: string): string {
    const inside = relative(this.modelsDir, path);
    if (isAbsolute(inside)) throw new LocalInferenceError("INTERNAL", `${path} is not in the models folder.`);
    return inside.split(sep).join("/");
  }
}

function withoutUndefined(one: Entry): Omit<InstalledModel, "files" | "path" | "bytes" | "origin" | "owned"> {
  return Object.fromEntries(Object.entries(one).filter(([, value]) => value !== undefined)) as never;
}

function newer(path: string): LocalInferenceError {
  return new LocalInferenceError("UNSUPPORTED", `${path} was written by a newer version of this package.`, {
    hint: "Update the package, or set MODELS_DIR to another folder.",
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

import { realpath, rm, rmdir } from "node:fs/promises";
import { dirname } from "node:path";
import { LocalInferenceError, throwIfAborted } from "../errors.js";
import { callNative, loadNative } from "../native/addon.js";
import { present } from "../support/present.js";
import type { DownloadOptions } from "./download.js";
import { sizeOf } from "./files.js";
import { findModel } from "./find-model.js";
import { Http, type HttpOptions } from "./http.js";
import { Hub } from "./hub.js";
import { assertInside, isBelow } from "./paths.js";
import { type DownloadPlan, planReference, planWanted, type WantedModel, wantedByReference } from "./plan.js";
import { fetchPlan, type PullOptions } from "./pull.js";
import { type InstalledModel, Registry } from "./registry.js";
import { type ScanOptions, scanFolder, scanPrograms } from "./scan.js";
import { type Verification, type VerifyOptions, verifyModel } from "./verify.js";

export interface StoreOptions extends HttpOptions {
  /** Absolute folder of the models. */
  readonly modelsDir: string;
  /** Look for models of other programs. Default true. */
  readonly scanPrograms?: boolean;
  readonly scan?: ScanOptions;
  /** What every download uses unless it says otherwise. */
  readonly download?: DownloadOptions;
  /** Reads a file's header; what it throws keeps the file from being registered. */
  readonly readHeader?: (path: string) => Promise<unknown>;
  /** Receives what this store repaired or left out. */
  readonly warn?: (message: string) => void;
}

/** What removing a model deletes. */
export interface Removal {
  readonly model: InstalledModel;
  /** Files that no other model needs. */
  readonly files: readonly string[];
  readonly bytes: number;
}

/** The models of this machine: finds, fetches, checks and removes them. */
export class ModelStore {
  readonly modelsDir: string;
  readonly hub: Hub;
  readonly #options: StoreOptions;
  readonly #registry: Registry;

  constructor(options: StoreOptions) {
    this.#options = options;
    this.modelsDir = options.modelsDir;
    this.hub = new Hub(new Http(options), options.download?.retry);
    this.#registry = new Registry(options.modelsDir, options.warn);
  }

  /** The file that every process changes when it fetches or removes a model. */
  get registryPath(): string {
    return this.#registry.path;
  }

  /** Downloaded models, those put into the models folder by hand, and those of other programs, in this order. */
  async installed(): Promise<InstalledModel[]> {
    const registered = await this.#registry.list();
    const known = new Set(registered.flatMap(({ files }) => files.map(({ path }) => path)));
    const byHand = (await scanFolder(this.modelsDir)).filter(({ path }) => !known.has(path));
    const foreign = this.#options.scanPrograms === false ? [] : await scanPrograms(this.#options.scan);
    const outside = foreign.filter(({ path }) => !isBelow(path, this.modelsDir));
    return [...registered, ...byHand, ...outside];
  }

  /**
   * The installed model that a text means: its id, a catalog id, a reference to the hub, a path, or a name that only one
   * model of its kind has.
   */
  async findInstalled(id: string): Promise<InstalledModel | undefined> {
    return findModel(await this.installed(), id);
  }

  /** What a pull would fetch. @throws LocalInferenceError what the hub's answers mean. */
  async plan(wanted: string | WantedModel, signal?: AbortSignal): Promise<DownloadPlan> {
    if (typeof wanted !== "string") return planWanted(this.hub, wanted, signal);
    return planReference(this.hub, wantedByReference(wanted), signal);
  }

  /**
   * Fetches a model and registers it. Continues what an earlier pull began, and fetches no complete file again.
   *
   * @throws LocalInferenceError `DISK_FULL` before the first byte, `MODEL_INVALID` when the file is not a GGUF that can be
   * read (it is removed), and what {@link downloadFile} throws.
   */
  async pull(wanted: string | WantedModel, options: PullOptions = {}): Promise<InstalledModel> {
    const { signal } = options;
    throwIfAborted(signal);
    const plan = await this.plan(wanted, signal);
    const { modelsDir, hub } = this;
    const model = await fetchPlan(
      present({ modelsDir, hub, download: this.#options.download }),
      plan,
      options,
    );
    await this.#checkHeader(model);
    await this.#registry.put(model);
    return model;
  }

  /** Compares a model's files with their checksums. */
  async verify(model: InstalledModel, options: VerifyOptions = {}): Promise<Verification> {
    const verification = await verifyModel(model, options);
    if (verification.state === "ok" && model.origin === "download") {
      await this.#registry.put({ ...model, verifiedAt: new Date().toISOString() });
    }
    return verification;
  }

  /**
   * What {@link remove} would delete; nothing is changed.
   *
   * @throws LocalInferenceError `INVALID_INPUT` for a model of another program.
   */
  async removal(model: InstalledModel): Promise<Removal> {
    if (!model.owned) {
      throw new LocalInferenceError(
        "INVALID_INPUT",
        `${model.id} belongs to another program (${model.origin}).`,
        {
          hint: `Delete it with ${model.origin}.`,
          reason: "invalid_input",
        },
      );
    }
    const others = (await this.#registry.list()).filter(({ id }) => id !== model.id);
    const shared = new Set(others.flatMap(({ files }) => files.map(({ path }) => path)));
    const own = model.files.filter(({ path }) => !shared.has(path));
    const sizes = await Promise.all(own.map(async ({ path }) => (await sizeOf(path)) ?? 0));
    return { model, files: own.map(({ path }) => path), bytes: sizes.reduce((sum, size) => sum + size, 0) };
  }

  /** Deletes a model's files and the folders they leave empty. @returns what was deleted. */
  async remove(model: InstalledModel): Promise<Removal> {
    const removal = await this.removal(model);
    const base = await realpath(this.modelsDir);
    for (const path of removal.files) await assertInside(dirname(path), base).catch(ignoreMissing);
    await this.#registry.remove(model.id);
    for (const path of removal.files) await this.#delete(path);
    return removal;
  }

  /** Deletes a file that is no model; keeps one that only a newer build can read. */
  async #checkHeader(model: InstalledModel): Promise<void> {
    const read = this.#options.readHeader ?? readHeader;
    try {
      await read(model.path);
    } catch (error) {
      const invalid = error instanceof LocalInferenceError && error.code === "MODEL_INVALID";
      if (invalid) for (const { path, role } of model.files) if (role === "model") await this.#delete(path);
      throw error;
    }
  }

  async #delete(path: string): Promise<void> {
    for (const suffix of ["", ".part", ".part.json", ".lock"]) await rm(`${path}${suffix}`, { force: true });
    let folder = dirname(path);
    while (folder !== this.modelsDir && isBelow(folder, this.modelsDir)) {
      if (
        !(await rmdir(folder).then(
          () => true,
          () => false,
        ))
      )
        break;
      folder = dirname(folder);
    }
  }
}

async function readHeader(path: string): Promise<unknown> {
  const addon = await loadNative();
  return callNative(() => addon.readHeader(path));
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}

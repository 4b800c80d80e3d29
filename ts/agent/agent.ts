import { realpath } from "node:fs/promises";
import { ActiveModels } from "../active-model/active-models.js";
import type { ChosenDrafter } from "../active-model/load-types.js";
import type { ResolveOptions } from "../active-model/resolutions.js";
import { type ResolvedLoad, resolveLoad } from "../active-model/resolve-load.js";
import { factsOfHeader } from "../catalog/facts.js";
import { catalog } from "../catalog/load.js";
import { type Located, locateModel, tracesOf } from "../catalog/locate.js";
import { chooseVariant } from "../catalog/variants.js";
import { Jobs } from "../download/jobs.js";
import type { InstalledModel } from "../download/registry.js";
import { readSelection } from "../download/selection.js";
import type { ModelStore, Removal } from "../download/store.js";
import { Engine } from "../engine/engine.js";
import { readModelHeader } from "../engine/model.js";
import { idleBytes } from "../engine/residents.js";
import { closedError, LocalInferenceError } from "../errors.js";
import { callNative, loadNative, type ModelHeader } from "../native/addon.js";
import { setEngineLogLevel } from "../native/logs.js";
import { computeFacts, machineFacts } from "../native/machine.js";
import { type ActiveRole, modelFor } from "../roles.js";
import { type Config, readConfig, type SettingsSource } from "../settings/config.js";
import { FileMemo, OncePerTurn, stampOf } from "../support/file-memo.js";
import { log, setLogSink } from "../support/log.js";
import { withSharing } from "./context-sharing.js";
import { elizaLog } from "./eliza-log.js";
import { openStore } from "./open-store.js";
import { PromptFile } from "./prompt/kept.js";
import { PromptLayout } from "./prompt/prompt-layout.js";
import { givenDimension, StoredVectors } from "./stored-vectors.js";

// An agent's process has one log: that of elizaOS.
setLogSink(elizaLog);

/** The state of this plugin for one agent: its settings and its claim on the models. */
export class Agent {
  readonly config: Config;
  readonly engine: Engine;
  readonly vectors: StoredVectors;
  /** How prompts are laid out, and what they have in common. */
  readonly prompts: PromptLayout;
  readonly #located = new FileMemo<Located>();
  readonly #headers = new FileMemo<ModelHeader>();
  readonly #versions = new OncePerTurn<string>();
  #store: ModelStore | undefined;
  #jobs: Jobs | undefined;
  #active: ActiveModels | undefined;
  #prepared: Promise<void> | undefined;

  constructor(source: SettingsSource, environment?: NodeJS.ProcessEnv) {
    this.config = readConfig(source, environment);
    const given = givenDimension(source.getSetting("EMBEDDING_DIMENSION"));
    this.vectors = new StoredVectors({ wanted: this.config.embeddingDimensions, given });
    this.prompts = new PromptLayout(promptFile(this.config, source));
    this.engine = Engine.create({ idleUnloadMs: this.config.idleUnloadMs });
  }

  /** The models of this machine. */
  get store(): ModelStore {
    this.#store ??= openStore(this.config, (message) => log("warn", message));
    return this.#store;
  }

  /** Downloads in the background. */
  get jobs(): Jobs {
    this.#jobs ??= new Jobs(this.store);
    return this.#jobs;
  }

  /** The active models: named by the settings, an earlier choice, or a switch. */
  get active(): ActiveModels {
    this.#active ??= new ActiveModels({
      engine: this.engine,
      nameOf: (role) => this.modelText(role),
      resolve: (name, how) => this.#resolve(name, how),
      versionOf: (name) => this.#versionOf(name),
      admit: async (role, { model, spec }) => {
        if (role !== "embedding") return;
        this.vectors.admit(model.id, (await this.header(spec.path)).embeddingLength);
      },
      fittingVariant,
    });
    return this.#active;
  }

  isConfigured(role: ActiveRole): boolean {
    return this.active.nameOf(role) !== undefined;
  }

  /** The name of a role's model: its setting, otherwise the one chosen with `eliza-local use` or `POST /active`. */
  modelText(role: ActiveRole): string | undefined {
    return this.config.models[role] ?? modelFor(readSelection(this.config.modelsDir), role);
  }

  /** The file of a role's model. @throws LocalInferenceError when none is configured or the file is not there. */
  async modelPath(role: ActiveRole): Promise<string> {
    const name = this.active.nameOf(role);
    // Without a name the error is that of `current`.
    if (name === undefined) return (await this.active.current(role)).spec.path;
    return (await this.#locate(name)).path;
  }

  /** The facts in a model file's header, read again when the file is another. */
  async header(path: string): Promise<ModelHeader> {
    return this.#headers.get(path, { from: [path], make: () => readModelHeader(path) });
  }

  /** Deletes a model of the models folder, once no request uses it. @throws LocalInferenceError `BUSY`, `INVALID_INPUT`. */
  async remove(model: InstalledModel): Promise<Removal> {
    const { files } = await this.store.removal(model);
    const paths = await Promise.all(files.map((path) => realpath(path).catch(() => path)));
    return this.active.without(paths, () => this.store.remove(model));
  }

  /** Remembered only as long as the files are unchanged: other processes fetch and remove models as well. */
  async #locate(name: string): Promise<Located> {
    await this.#prepare();
    const { modelsDir } = this.config;
    const findInstalled = (id: string) => this.store.findInstalled(id);
    return this.#located.get(name, {
      from: [this.store.registryPath],
      make: () => locateModel(name, { modelsDir, catalog: catalog(), findInstalled }),
      andFrom: tracesOf,
    });
  }

  #versionOf(name: string): Promise<string> {
    return this.#versions.of(name, async () => {
      const [{ path, entry, companions }, drafter] = await Promise.all([
        this.#locate(name),
        this.#chosenDrafter(),
      ]);
      const files = [path, ...Object.values(companions), ...(drafter?.kind === "file" ? [drafter.path] : [])];
      const stamp = await stampOf(files);
      return JSON.stringify([path, entry?.id, Object.entries(companions).sort(), drafter, stamp]);
    });
  }

  /** What LOCAL_DRAFTER names. A missing file is no error: the model answers without a drafter. */
  async #chosenDrafter(): Promise<ChosenDrafter | undefined> {
    const { drafter } = this.config;
    if (drafter === undefined) return undefined;
    if (drafter === "heads" || drafter === "ngram") return { kind: drafter };
    try {
      return { kind: "file", path: (await this.#locate(drafter)).path };
    } catch (error) {
      if (error instanceof LocalInferenceError) return { kind: "missing", reason: error.message };
      throw error;
    }
  }

  async #resolve(name: string, how: ResolveOptions): Promise<ResolvedLoad> {
    const [{ path, entry, companions }, chosenDrafter] = await Promise.all([
      this.#locate(name),
      this.#chosenDrafter(),
    ]);
    const addon = await loadNative();
    const [header, shape, machine] = await Promise.all([
      this.header(path),
      callNative(() => addon.readShape(path)),
      computeFacts(),
    ]);
    const { drafter, vision } = companions;
    return callNative(() =>
      withSharing(
        resolveLoad({
          model: factsOfHeader(header, shape, entry),
          files: { path, drafter, chosenDrafter, vision },
          machine,
          settings: this.config,
          assess: addon.assessFit,
          ...how,
          freedBytes: Math.max(how.freedBytes ?? 0, idleBytes()),
        }),
        this.config,
      ),
    );
  }

  /** Aborts downloads and requests, and releases the models. */
  async close(): Promise<void> {
    await Promise.all([this.#jobs?.close(), this.#active?.close(), this.engine.close()]);
  }

  #prepare(): Promise<void> {
    this.#prepared ??= setEngineLogLevel(this.config.logLevel);
    return this.#prepared;
  }
}

/** Prompts are kept where conversations are. */
function promptFile({ conversationsDir }: Config, source: SettingsSource): PromptFile | undefined {
  const id = (source as { agentId?: unknown }).agentId;
  return conversationsDir === undefined || typeof id !== "string"
    ? undefined
    : new PromptFile(conversationsDir, id);
}

/** A smaller quantisation of the same model that fits. */
async function fittingVariant({ model }: ResolvedLoad): Promise<string | undefined> {
  if (model.entry === undefined) return undefined;
  const addon = await loadNative();
  const { variant, fit } = chooseVariant(model.entry, await machineFacts(), addon.assessFit);
  return fit.verdict === "no" || variant === model.variant ? undefined : variant.id;
}

const agents = new WeakMap<object, Agent>();
const stopped = new WeakSet<object>();

/** The state of a runtime, made on first use. @throws LocalInferenceError `CLOSED` once its service has stopped. */
export function agentOf(runtime: SettingsSource): Agent {
  if (stopped.has(runtime)) throw closedError("local-inference service");
  let agent = agents.get(runtime);
  if (agent === undefined) {
    agent = new Agent(runtime);
    agents.set(runtime, agent);
  }
  return agent;
}

/** Lets a stopped runtime use models again. */
export function openAgent(runtime: object): void {
  stopped.delete(runtime);
}

/** Aborts a runtime's requests and releases its models; another runtime's models stay. */
export async function closeAgent(runtime: object): Promise<void> {
  stopped.add(runtime);
  const agent = agents.get(runtime);
  agents.delete(runtime);
  await agent?.close();
}

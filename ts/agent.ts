import { type Config, readConfig, type SettingsSource } from "./config.js";
import { type EmbeddingSpec, Engine, type TextSpec } from "./engine/engine.js";
import { readModelHeader } from "./engine/model.js";
import type { ModelSpec } from "./engine/residents.js";
import { closedError, unavailable } from "./errors.js";
import { setEngineLogLevel } from "./log.js";
import { resolveModel } from "./models-dir.js";
import type { ModelHeader } from "./native.js";
import { present } from "./present.js";

/** Which of the configured models a request is for. */
export type ModelRole = "small" | "large" | "embedding";

const ROLES = {
  small: { key: "smallModel", setting: "LOCAL_SMALL_MODEL" },
  large: { key: "largeModel", setting: "LOCAL_LARGE_MODEL" },
  embedding: { key: "embeddingModel", setting: "LOCAL_EMBEDDING_MODEL" },
} as const;

/** What this plugin keeps for one agent: its settings and its claim on the models. */
export class Agent {
  readonly config: Config;
  readonly engine: Engine;
  readonly #paths = new Map<string, Promise<string>>();
  readonly #headers = new Map<string, Promise<ModelHeader>>();
  #prepared: Promise<void> | undefined;

  constructor(source: SettingsSource) {
    this.config = readConfig(source);
    this.engine = Engine.create({ idleUnloadMs: this.config.idleUnloadMs });
  }

  isConfigured(role: ModelRole): boolean {
    return this.config[ROLES[role].key] !== undefined;
  }

  /** The file of a role's model. @throws LocalInferenceError when none is configured or the file is not there. */
  async modelPath(role: ModelRole): Promise<string> {
    const { key, setting } = ROLES[role];
    const written = this.config[key];
    if (written === undefined) {
      throw unavailable(
        "backend_unavailable",
        `No ${role} model is configured.`,
        `Set ${setting} to a GGUF file, or to its name in ${this.config.modelsDir}.`,
      );
    }
    await this.#prepare();
    return remembered(this.#paths, written, () => resolveModel(written, this.config.modelsDir));
  }

  /** The facts in a model file's header, read once. */
  async header(path: string): Promise<ModelHeader> {
    return remembered(this.#headers, path, () => readModelHeader(path));
  }

  async modelSpec(role: ModelRole): Promise<ModelSpec> {
    const { gpuLayers, memoryHeadroomBytes } = this.config;
    return { path: await this.modelPath(role), load: present({ gpuLayers, memoryHeadroomBytes }) };
  }

  async textSpec(role: "small" | "large"): Promise<TextSpec> {
    const { contextSize, kvType, threads, memoryHeadroomBytes } = this.config;
    const context = present({ contextSize, kvTypeK: kvType, kvTypeV: kvType, threads, memoryHeadroomBytes });
    return { ...(await this.modelSpec(role)), context };
  }

  async embeddingSpec(): Promise<EmbeddingSpec> {
    const embedder = present({ threads: this.config.threads });
    return { ...(await this.modelSpec("embedding")), embedder };
  }

  #prepare(): Promise<void> {
    this.#prepared ??= setEngineLogLevel(this.config.logLevel);
    return this.#prepared;
  }
}

/** A failure is not remembered: a file that is missing now may be there for the next request. */
function remembered<T>(values: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
  let value = values.get(key);
  if (value === undefined) {
    value = make();
    values.set(key, value);
    value.catch(() => values.delete(key));
  }
  return value;
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

/** Aborts a runtime's requests and gives up its models; another runtime's models stay. */
export async function closeAgent(runtime: object): Promise<void> {
  stopped.add(runtime);
  const agent = agents.get(runtime);
  agents.delete(runtime);
  await agent?.engine.close();
}

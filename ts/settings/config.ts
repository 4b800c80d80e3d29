import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { modelReference } from "../catalog/models-dir.js";
import type { Lane } from "../engine/text/types.js";
import { invalidInput } from "../errors.js";
import { ACTIVE_ROLES, type ActiveRole, modelFor, SETTING_OF } from "../roles.js";
import { present } from "../support/present.js";
import { SETTINGS, type Setting, type SettingName, type SettingRead, type SettingValue } from "./settings.js";

/** Where a configuration is read from: the agent's own settings. */
export interface SettingsSource {
  getSetting(key: string): unknown;
}

/** The settings of one agent, checked. */
export interface Config {
  /** Absolute directory that relative models and ids are looked up in. */
  readonly modelsDir: string;
  /** Model settings as written; small and large stand in for each other. */
  readonly models: Readonly<Partial<Record<ActiveRole, string>>>;
  readonly embeddingDimensions?: number;
  /** The part of an overlong text that is kept; `error` refuses it. */
  readonly embeddingTruncate: SettingValue<"LOCAL_EMBEDDING_TRUNCATE">;
  /** Tokens; undefined: the largest that fits. */
  readonly contextSize?: number;
  /** undefined: the engine decides. */
  readonly kvType?: string;
  readonly gpuLayers?: number;
  readonly threads?: number;
  /** undefined: only the REASONING model types. */
  readonly enableThinking?: boolean;
  /** What the reply templates of elizaOS enforce in an answer. */
  readonly replyTemplates: SettingValue<"LOCAL_REPLY_TEMPLATES">;
  /** Whether the parts of elizaOS's prompts are put in the order in which they change. */
  readonly promptLayout: SettingValue<"LOCAL_PROMPT_LAYOUT">;
  /** Lanes of model types, where the settings name one. */
  readonly lanes: Readonly<Record<string, Lane>>;
  /** Requests that may wait in one lane; undefined: the engine's limit. */
  readonly queueLimit?: number;
  /** Milliseconds; 0: no limit. */
  readonly queueTimeoutMs: number;
  readonly contextFull: SettingValue<"LOCAL_CONTEXT_FULL">;
  /** undefined: by the free memory. */
  readonly prefixCacheMiB?: number;
  /** Absolute directory of stored conversations; undefined: the engine stores none. */
  readonly conversationsDir?: string;
  readonly conversationsMiB: number;
  readonly conversationsHours: number;
  readonly conversationsOnBattery: boolean;
  readonly preload: boolean;
  /** What drafts for a model without a drafter of its own: a model reference, `heads` or `ngram`. */
  readonly drafter?: string;
  /** Run without drafters. */
  readonly speculationDisabled: boolean;
  /** f16 for the KV cache of tiers when everything fits with it. */
  readonly preferAccurateKv: boolean;
  /** Milliseconds; 0: never. */
  readonly idleUnloadMs: number;
  readonly memoryHeadroomBytes?: number;
  readonly logLevel: SettingValue<"LOCAL_INFERENCE_LOG_LEVEL">;
  readonly hubUrl: string;
  /** A secret. */
  readonly hubToken?: string;
  /** Send no request to the hub. */
  readonly offline: boolean;
  readonly downloadConnections: number;
  /** Find the models of other programs. */
  readonly useOtherModels: boolean;
  /** Let other machines change something through the routes. */
  readonly routesRemote: boolean;
}

/**
 * Reads and checks every setting; touches no file.
 *
 * @throws LocalInferenceError `INVALID_INPUT` that names every setting that is wrong and why.
 */
export function readConfig(source: SettingsSource, environment: NodeJS.ProcessEnv = process.env): Config {
  const problems: string[] = [];
  const value = <K extends SettingName>(name: K): SettingRead<K> => {
    const { schema, default: standard, sensitive } = SETTINGS[name] as Setting<SettingRead<K>>;
    const written = writtenText(name, source, environment);
    if (written !== undefined) {
      const parsed = schema.safeParse(written);
      if (parsed.success) return parsed.data;
      const shown = sensitive ? "…" : JSON.stringify(written);
      problems.push(`${name}=${shown}: ${reasonOf(parsed.error)}`);
    }
    return standard === undefined ? (undefined as SettingRead<K>) : schema.parse(standard);
  };
  const config = assemble(value);
  for (const model of [...Object.values(config.models), config.drafter]) {
    if (model !== undefined) collect(problems, () => modelReference(model, config.modelsDir));
  }
  if (problems.length > 0) {
    throw invalidInput(`Bad settings of local-inference: ${[...new Set(problems)].join("; ")}`);
  }
  return config;
}

type Reader = <K extends SettingName>(name: K) => SettingRead<K>;

function assemble(value: Reader): Config {
  const stateDir = directory(value("ELIZA_STATE_DIR") ?? join(homedir(), ".eliza"));
  const modelsDir = directory(value("MODELS_DIR") ?? join(stateDir, "models"));
  const named = Object.fromEntries(ACTIVE_ROLES.map((role) => [role, value(SETTING_OF[role])]));
  const kvType = value("LOCAL_KV_TYPE");
  const conversations = value("LOCAL_CONVERSATIONS_DIR");
  const headroom = value("ELIZA_LOCAL_RAM_HEADROOM_MB");
  return present({
    modelsDir,
    models: present(Object.fromEntries(ACTIVE_ROLES.map((role) => [role, modelFor(named, role)]))),
    embeddingDimensions: value("LOCAL_EMBEDDING_DIMENSIONS"),
    embeddingTruncate: value("LOCAL_EMBEDDING_TRUNCATE"),
    contextSize: value("LOCAL_CONTEXT_SIZE"),
    kvType: kvType === "auto" ? undefined : kvType,
    gpuLayers: value("LOCAL_GPU_LAYERS"),
    threads: value("LOCAL_THREADS"),
    enableThinking: value("LOCAL_ENABLE_THINKING"),
    replyTemplates: value("LOCAL_REPLY_TEMPLATES"),
    promptLayout: value("LOCAL_PROMPT_LAYOUT"),
    lanes: value("LOCAL_LANES") ?? {},
    queueLimit: value("LOCAL_QUEUE_LIMIT"),
    queueTimeoutMs: value("LOCAL_QUEUE_TIMEOUT_MS"),
    contextFull: value("LOCAL_CONTEXT_FULL"),
    prefixCacheMiB: value("LOCAL_PREFIX_CACHE_MB"),
    conversationsDir: conversations === undefined ? undefined : directory(conversations),
    conversationsMiB: value("LOCAL_CONVERSATIONS_MB"),
    conversationsHours: value("LOCAL_CONVERSATIONS_HOURS"),
    conversationsOnBattery: value("LOCAL_CONVERSATIONS_ON_BATTERY"),
    preload: value("LOCAL_PRELOAD"),
    drafter: value("LOCAL_DRAFTER"),
    speculationDisabled: value("ELIZA_MTP_DISABLE"),
    preferAccurateKv: value("ELIZA_PREFER_ACCURATE_KV_WHEN_HEADROOM"),
    idleUnloadMs: value("ELIZA_LOCAL_IDLE_UNLOAD_MS"),
    memoryHeadroomBytes: headroom === undefined ? undefined : headroom * 1024 * 1024,
    logLevel: value("LOCAL_INFERENCE_LOG_LEVEL"),
    hubUrl: value("ELIZA_HF_BASE_URL"),
    hubToken: value("HF_TOKEN"),
    offline: value("LOCAL_INFERENCE_OFFLINE"),
    downloadConnections: value("LOCAL_DOWNLOAD_CONNECTIONS"),
    useOtherModels: value("LOCAL_USE_OTHER_MODELS"),
    routesRemote: value("LOCAL_ROUTES_REMOTE"),
  });
}

/** The text of a setting where one is written; an empty one counts as unset. */
function writtenText(
  name: SettingName,
  source: SettingsSource,
  environment: NodeJS.ProcessEnv,
): string | undefined {
  for (const candidate of [source.getSetting(name), environment[name]]) {
    if (candidate === null || candidate === undefined) continue;
    const text = String(candidate).trim();
    if (text !== "") return text;
  }
  return undefined;
}

function directory(path: string): string {
  const expanded = path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
  return isAbsolute(expanded) ? expanded : resolve(expanded);
}

function reasonOf(error: { issues: readonly { message: string }[] }): string {
  return [...new Set(error.issues.map((issue) => issue.message))].join(", ");
}

function collect(problems: string[], check: () => unknown): void {
  try {
    check();
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  }
}

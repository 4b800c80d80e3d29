import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { invalidInput } from "./errors.js";
import { modelReference } from "./models-dir.js";
import { present } from "./present.js";
import { SETTINGS, type SettingName, type SettingValue } from "./settings.js";

/** All that a configuration is read from: the agent's own settings. */
export interface SettingsSource {
  getSetting(key: string): unknown;
}

/** The settings of one agent, checked. */
export interface Config {
  /** Absolute directory that relative models and ids are looked up in. */
  readonly modelsDir: string;
  /** Model settings as written; small and large stand in for each other. */
  readonly smallModel?: string;
  readonly largeModel?: string;
  readonly embeddingModel?: string;
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
  readonly preload: boolean;
  /** Milliseconds; 0: never. */
  readonly idleUnloadMs: number;
  readonly memoryHeadroomBytes?: number;
  readonly logLevel: SettingValue<"LOCAL_INFERENCE_LOG_LEVEL">;
}

/**
 * Reads and checks every setting; touches no file.
 *
 * @throws LocalInferenceError `INVALID_INPUT` that names every setting that is wrong and why.
 */
export function readConfig(source: SettingsSource, environment: NodeJS.ProcessEnv = process.env): Config {
  const problems: string[] = [];
  const value = <K extends SettingName>(name: K): SettingValue<K> | undefined => {
    const written = writtenText(name, source, environment) ?? SETTINGS[name].default;
    if (written === undefined) return undefined;
    const parsed = SETTINGS[name].schema.safeParse(written);
    if (parsed.success) return parsed.data as SettingValue<K>;
    problems.push(`${name}=${JSON.stringify(written)}: ${reasonOf(parsed.error)}`);
    return undefined;
  };
  const config = assemble(value);
  for (const name of ["smallModel", "largeModel", "embeddingModel"] as const) {
    const model = config[name];
    if (model !== undefined) collect(problems, () => modelReference(model, config.modelsDir));
  }
  if (problems.length > 0) {
    throw invalidInput(`Bad settings of local-inference: ${[...new Set(problems)].join("; ")}`);
  }
  return config;
}

type Reader = <K extends SettingName>(name: K) => SettingValue<K> | undefined;

function assemble(value: Reader): Config {
  const stateDir = directory(value("ELIZA_STATE_DIR") ?? join(homedir(), ".eliza"));
  const modelsDir = directory(value("MODELS_DIR") ?? join(stateDir, "models"));
  const small = value("LOCAL_SMALL_MODEL");
  const large = value("LOCAL_LARGE_MODEL");
  const kvType = value("LOCAL_KV_TYPE");
  const headroom = value("ELIZA_LOCAL_RAM_HEADROOM_MB");
  return present({
    modelsDir,
    smallModel: small ?? large,
    largeModel: large ?? small,
    embeddingModel: value("LOCAL_EMBEDDING_MODEL"),
    embeddingDimensions: value("LOCAL_EMBEDDING_DIMENSIONS"),
    embeddingTruncate: value("LOCAL_EMBEDDING_TRUNCATE") ?? "head",
    contextSize: value("LOCAL_CONTEXT_SIZE"),
    kvType: kvType === "auto" ? undefined : kvType,
    gpuLayers: value("LOCAL_GPU_LAYERS"),
    threads: value("LOCAL_THREADS"),
    enableThinking: value("LOCAL_ENABLE_THINKING"),
    preload: value("LOCAL_PRELOAD") ?? false,
    idleUnloadMs: value("ELIZA_LOCAL_IDLE_UNLOAD_MS") ?? 0,
    memoryHeadroomBytes: headroom === undefined ? undefined : headroom * 1024 * 1024,
    logLevel: value("LOCAL_INFERENCE_LOG_LEVEL") ?? "warn",
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

import type { z } from "zod";
import { DEFAULT_CONNECTIONS } from "../download/defaults.js";
import { DEFAULT_IDLE_UNLOAD_MS } from "../engine/memory/contract.js";
import { CONTEXT_FULL, LANES } from "../engine/text/types.js";
import { autoOr, flag, integer, lanesByType, oneOf, text, webAddress } from "./setting-forms.js";

/** One setting of the plugin: read from the agent first, from the environment second. */
export interface Setting<T> {
  readonly type: "string" | "number" | "boolean";
  /** What it does, with units and range; the same text as in package.json. */
  readonly description: string;
  /** The default as a user would write it; absent when there is none. */
  readonly default?: string;
  /** Parses the text. */
  readonly schema: z.ZodType<T, string>;
  /** Whether the value is a secret, never shown. */
  readonly sensitive?: boolean;
}

/** Element types of the KV cache, from the largest to the smallest. */
export const KV_TYPES = [
  "auto",
  "f32",
  "f16",
  "bf16",
  "q8_0",
  "q5_1",
  "q5_0",
  "q4_1",
  "q4_0",
  "iq4_nl",
] as const;
const LOG_LEVELS = ["off", "error", "warn", "info", "debug"] as const;
const REPLY_TEMPLATES = ["auto", "off", "reply", "actions"] as const;
/** An agent's prompt must fit: `stop`, the engine's default, is not offered. */
const CONTEXT_FULL_POLICIES = CONTEXT_FULL.filter((policy) => policy !== "stop");
const PROMPT_LAYOUTS = ["auto", "off"] as const;
const TRUNCATIONS = ["head", "tail", "error"] as const;

/** A setting that always has a value. */
interface SettingWithDefault<T> extends Setting<T> {
  readonly default: string;
}

function setting<T>(type: Setting<T>["type"], schema: z.ZodType<T, string>, description: string): Setting<T>;
function setting<T>(
  type: Setting<T>["type"],
  schema: z.ZodType<T, string>,
  description: string,
  standard: string,
): SettingWithDefault<T>;
function setting<T>(
  type: Setting<T>["type"],
  schema: z.ZodType<T, string>,
  description: string,
  standard?: string,
): Setting<T> {
  return standard === undefined
    ? { type, schema, description }
    : { type, schema, description, default: standard };
}

const MODEL_FORMS =
  "a catalog id, a GGUF file or a folder with one (absolute, or relative to MODELS_DIR), the file's name without " +
  ".gguf, or hf:owner/repository/file.gguf once it is on this machine";

/** Every setting, declared once. `agentConfig.pluginParameters` in package.json says the same. */
export const SETTINGS = {
  ELIZA_STATE_DIR: setting("string", text, "Directory of elizaOS state. Default: ~/.eliza"),
  MODELS_DIR: setting("string", text, "Directory of model files. Default: models inside ELIZA_STATE_DIR"),
  LOCAL_SMALL_MODEL: setting(
    "string",
    text,
    `Model of the small text types: ${MODEL_FORMS}. Default: LOCAL_LARGE_MODEL`,
  ),
  LOCAL_LARGE_MODEL: setting(
    "string",
    text,
    `Model of the large text types: ${MODEL_FORMS}. Default: LOCAL_SMALL_MODEL`,
  ),
  LOCAL_EMBEDDING_MODEL: setting(
    "string",
    text,
    `Embedding model: ${MODEL_FORMS}. Unset: this plugin registers no embedding handler`,
  ),
  LOCAL_EMBEDDING_DIMENSIONS: setting(
    "number",
    integer(1, 3072),
    "Embedding dimensions, 1 to 3072: fewer than the model's keeps the leading ones (Matryoshka models), " +
      "more pads with zeros. Default: the model's. Stored vectors are padded to 384, 512, 768, 1024, 1536 or 3072",
  ),
  LOCAL_EMBEDDING_TRUNCATE: setting(
    "string",
    oneOf(TRUNCATIONS),
    "What to keep of a text longer than the embedding model reads: head, tail, or error to refuse it",
    "head",
  ),
  LOCAL_CONTEXT_SIZE: setting(
    "string",
    autoOr(integer(256)),
    "Context length in tokens, 256 or more, or auto: the largest that fits the memory and the model",
    "auto",
  ),
  LOCAL_KV_TYPE: setting(
    "string",
    oneOf(KV_TYPES),
    `Element type of the KV cache: ${KV_TYPES.join(", ")}; smaller types fit longer contexts`,
    "auto",
  ),
  LOCAL_GPU_LAYERS: setting(
    "string",
    autoOr(integer(0, 10_000)),
    "Layers computed on the GPU, 0 or more, or auto: as many as fit",
    "auto",
  ),
  LOCAL_THREADS: setting(
    "string",
    autoOr(integer(1, 1024)),
    "CPU threads of text generation and embedding, 1 to 1024, or auto: the physical cores this process may use",
    "auto",
  ),
  LOCAL_ENABLE_THINKING: setting(
    "string",
    autoOr(flag),
    "Let models that can reason do so before they answer: true, false, or auto: only for the REASONING types",
    "auto",
  ),
  LOCAL_REPLY_TEMPLATES: setting(
    "string",
    oneOf(REPLY_TEMPLATES),
    "What the elizaOS reply templates in a prompt (XML) make of an answer: off, reply (text and nothing else), " +
      "actions (the model chooses actions and providers), or auto: reply for models below 3 billion parameters",
    "auto",
  ),
  LOCAL_PROMPT_LAYOUT: setting(
    "string",
    oneOf(PROMPT_LAYOUTS),
    "Put the parts of elizaOS's own prompts in the order in which they change, so that each reply evaluates only what is " +
      "new (auto), or leave prompts as they are (off)",
    "auto",
  ),
  LOCAL_PRELOAD: setting(
    "boolean",
    flag,
    "Load the configured models in the background when the agent starts instead of on first use",
    "false",
  ),
  LOCAL_LANES: setting(
    "string",
    lanesByType,
    `Lanes of model types, such as TEXT_SMALL=background, OBJECT_LARGE=normal; the lanes are ${LANES.join(", ")}. ` +
      "Default: interactive for streams and RESPONSE_HANDLER, normal for others",
  ),
  LOCAL_QUEUE_LIMIT: setting(
    "number",
    integer(1, 1_048_576),
    "Requests that may wait for a model in one lane; more fail with QUEUE_FULL. Default: the engine's, 256",
  ),
  LOCAL_QUEUE_TIMEOUT_MS: setting(
    "number",
    integer(0, 86_400_000),
    "Milliseconds that a request may wait for its start, up to a day; then it fails with QUEUE_TIMEOUT. 0: no limit",
    "0",
  ),
  LOCAL_CONTEXT_FULL: setting(
    "string",
    oneOf(CONTEXT_FULL_POLICIES),
    "When the context is full: error (CONTEXT_OVERFLOW), truncate (leave out the oldest messages), or shift (forget " +
      "half of the conversation while answering; not for models with sliding windows or recurrent state)",
    "error",
  ),
  LOCAL_PREFIX_CACHE_MB: setting(
    "string",
    autoOr(integer(0)),
    "Mebibytes of memory for the beginnings of prompts, 0 or more, or auto: a sixteenth of the free memory, at most 1024",
    "auto",
  ),
  LOCAL_CONVERSATIONS_DIR: setting(
    "string",
    text,
    "Folder that keeps the state of conversations for the next start; anyone who can read it can read them. " +
      "Unset: nothing is stored",
  ),
  LOCAL_CONVERSATIONS_MB: setting(
    "number",
    integer(1),
    "Most mebibytes in LOCAL_CONVERSATIONS_DIR; the longest unused go first",
    "2048",
  ),
  LOCAL_CONVERSATIONS_HOURS: setting(
    "number",
    integer(1, 87_600),
    "Hours after which an unused conversation is removed from LOCAL_CONVERSATIONS_DIR, 1 to 87600",
    "168",
  ),
  LOCAL_CONVERSATIONS_ON_BATTERY: setting(
    "boolean",
    flag,
    "Store conversations also while the machine runs on its battery",
    "false",
  ),
  LOCAL_DRAFTER: setting(
    "string",
    text,
    "What drafts tokens for a text model that the catalog has no drafter for: a GGUF with the same vocabulary " +
      "(named as a model is), heads for the MTP heads in the model's own file, or ngram for repetitions in the text. " +
      "Unset: nothing does",
  ),
  ELIZA_MTP_DISABLE: setting("boolean", flag, "Do not speculate: answer without any drafter", "false"),
  ELIZA_PREFER_ACCURATE_KV_WHEN_HEADROOM: setting(
    "boolean",
    flag,
    "Store the KV cache of Eliza-1 tiers as f16 instead of q8_0 when the whole context fits that way",
    "false",
  ),
  ELIZA_LOCAL_IDLE_UNLOAD_MS: setting(
    "number",
    integer(0, 2_147_483_647),
    "Milliseconds without a request after which a model leaves memory; 0 keeps it until the agent stops or its memory is needed",
    String(DEFAULT_IDLE_UNLOAD_MS),
  ),
  ELIZA_LOCAL_RAM_HEADROOM_MB: setting(
    "number",
    integer(0),
    "Mebibytes of memory to leave free when deciding whether a model and its context fit. Default: the engine's",
  ),
  ELIZA_HF_BASE_URL: setting(
    "string",
    webAddress,
    "Hub that models are downloaded from, with the interface of Hugging Face",
    "https://huggingface.co",
  ),
  HF_TOKEN: {
    ...setting(
      "string",
      text,
      "Access token of the hub for gated and private models; sent to the hub only. Default: none",
    ),
    sensitive: true,
  },
  LOCAL_INFERENCE_OFFLINE: setting(
    "boolean",
    flag,
    "Forbid every connection to the hub: no download, no look-up of a model",
    "false",
  ),
  LOCAL_DOWNLOAD_CONNECTIONS: setting(
    "number",
    integer(1, 16),
    "Connections over which one file is downloaded, 1 to 16",
    String(DEFAULT_CONNECTIONS),
  ),
  LOCAL_USE_OTHER_MODELS: setting(
    "boolean",
    flag,
    "Also find the models that LM Studio, Ollama, Jan and Hugging Face programs downloaded; they are never changed",
    "true",
  ),
  LOCAL_ROUTES_REMOTE: setting(
    "boolean",
    flag,
    "Accept requests of other machines that start or cancel downloads, or change or remove models",
    "false",
  ),
  LOCAL_INFERENCE_LOG_LEVEL: setting(
    "string",
    oneOf(LOG_LEVELS),
    `Most verbose engine messages passed to the agent's log: ${LOG_LEVELS.join(", ")}`,
    "warn",
  ),
} as const;

export type SettingName = keyof typeof SETTINGS;
/** What a setting's text is turned into. */
export type SettingValue<K extends SettingName> = (typeof SETTINGS)[K] extends Setting<infer T> ? T : never;
/** What reading a setting gives: undefined only where it has no default. */
export type SettingRead<K extends SettingName> =
  | SettingValue<K>
  | ((typeof SETTINGS)[K] extends { readonly default: string } ? never : undefined);

// `@elizaos/plugin-local-inference/engine`: models without an agent. Nothing here imports elizaOS, zod or undici.
export {
  Embedder,
  type EmbedderOptions,
  type EmbedOptions,
  type EmbedResult,
} from "../engine/embedding/embedder.js";
export { type EmbeddingSpec, Engine, type EngineOptions, type TextSpec } from "../engine/engine.js";
export type { LoadOptions } from "../engine/load-options.js";
export { type LoadModelOptions, LocalModel, readModelHeader, type TokenOptions } from "../engine/model.js";
export type { ModelSpec } from "../engine/specs.js";
export { LocalContext } from "../engine/text/context.js";
export type { ContextOptions, StateFolder } from "../engine/text/context-options.js";
export { TextGeneration } from "../engine/text/generation.js";
export type { PrewarmRequest } from "../engine/text/prewarm.js";
export {
  type Constraint,
  grammarConstraint,
  type Part,
  partsConstraint,
  schemaConstraint,
} from "../engine/text/structured/constraint.js";
export type { ToolCall, ToolCallDelta } from "../engine/text/structured/tool-types.js";
export type {
  ChatInput,
  ChatMessage,
  ChatTool,
  ContextFull,
  FinishReason,
  GenerateRequest,
  GenerationResult,
  Lane,
  Piece,
  Sampling,
  Sharing,
  Usage,
} from "../engine/text/types.js";
export {
  DOWNLOAD_ERROR_CODES,
  type DownloadErrorCode,
  type EngineErrorCode,
  ERROR_CODES,
  type ErrorReason,
  LocalInferenceError,
  type LocalInferenceErrorCode,
  UNAVAILABLE,
  type UnavailableReason,
} from "../errors.js";
export type {
  BackendInfo,
  ContextInfo,
  ContextMetrics,
  EmbedderInfo,
  HardwareFacts,
  ModelHeader,
  RenderedChat,
  TokenLogprob,
} from "../native/addon.js";
export { backendInfo, hardwareFacts } from "../native/machine.js";

export { type Config, readConfig, type SettingsSource } from "./config.js";
export { LocalContext } from "./engine/context.js";
export { Embedder, type EmbedOptions, type EmbedResult } from "./engine/embedder.js";
export { type EmbeddingSpec, Engine, type EngineOptions, type TextSpec } from "./engine/engine.js";
export { TextGeneration } from "./engine/generation.js";
export { type LoadModelOptions, LocalModel, readModelHeader, type TokenOptions } from "./engine/model.js";
export type { ModelSpec } from "./engine/residents.js";
export type {
  ChatMessage,
  ChatTool,
  FinishReason,
  GenerateRequest,
  GenerationResult,
  Piece,
  Sampling,
} from "./engine/types.js";
export {
  type EngineErrorCode,
  ERROR_CODES,
  type ErrorReason,
  LocalInferenceError,
  type LocalInferenceErrorCode,
  UNAVAILABLE,
  type UnavailableReason,
} from "./errors.js";
export { backendInfo, hardwareFacts } from "./machine.js";
export { resolveModel } from "./models-dir.js";
export type {
  BackendInfo,
  ChatInput,
  ContextInfo,
  ContextOptions,
  EmbedderInfo,
  EmbedderOptions,
  HardwareFacts,
  LoadOptions,
  ModelHeader,
  RenderedChat,
  TokenLogprob,
  Usage,
} from "./native.js";
export { localInferencePlugin, localInferencePlugin as default } from "./plugin.js";
export { LocalInferenceService } from "./service.js";
export { SETTINGS, type Setting, type SettingName } from "./settings.js";

export {
  ActiveModels,
  type ActiveModelsOptions,
  type SwitchOptions,
} from "./active-model/active-model.js";
export { ModelDoesNotFitError, type Shortfall } from "./active-model/does-not-fit.js";
export { type LoadOverrides, parseOverrides } from "./active-model/overrides.js";
export {
  describeLoad,
  type ModelFiles,
  type ResolvedLoad,
  type ResolveInput,
  resolveLoad,
} from "./active-model/resolve-load.js";
export { runtimeForTier, type TierRuntime } from "./active-model/runtime-for-tier.js";
export type { SlotName, SlotState } from "./active-model/slot.js";
export { checkTier } from "./active-model/tier-contract.js";
export { BUILD, type Capability, machineCapabilities, modelCapabilities } from "./capabilities.js";
export { deviceClass, type Fit, fitOf, kvBytesPerToken } from "./catalog/device-fit.js";
export { factsOfEntry, factsOfFile, type ModelFacts } from "./catalog/facts.js";
export { Catalog, catalog } from "./catalog/load.js";
export { type Located, locateModel } from "./catalog/locate.js";
export { type Recommendation, recommend } from "./catalog/recommend.js";
export type { CatalogEntry } from "./catalog/schema.js";
export { type CompanionRole, type FindInstalled, findNothing } from "./catalog/types.js";
export { chooseVariant, type VariantChoice } from "./catalog/variants.js";
export { type Config, readConfig, type SettingsSource } from "./config.js";
export type { DownloadedFile, DownloadOptions, FileProgress } from "./download/download.js";
export { Hub, type HubFile, type HubModel, type HubRepository, modelsOf } from "./download/hub.js";
export { type Job, type JobState, Jobs } from "./download/jobs.js";
export type { Plan, PlannedFile, WantedFile, WantedModel } from "./download/plan.js";
export type { InstalledFile, InstalledModel, Origin } from "./download/registry.js";
export { readSelection, type Selection, writeSelection } from "./download/selection.js";
export {
  ModelStore,
  type PullOptions,
  type PullProgress,
  type Removal,
  type StoreOptions,
} from "./download/store.js";
export type { FileState, Verification } from "./download/verify.js";
export { wantedByText } from "./download/wanted.js";
export { MemoryArbiter } from "./engine/arbiter/arbiter.js";
export { memoryArbiter } from "./engine/arbiter/shared.js";
export {
  type Lease,
  MEMORY_ROLES,
  type MemoryEntry,
  type MemoryEvent,
  type MemoryNeed,
  type MemoryOwner,
  type MemoryRequest,
  type MemoryRole,
  type MemorySnapshot,
  type Pressure,
  type PressureLevel,
} from "./engine/arbiter/types.js";
export { LocalContext } from "./engine/context.js";
export type { ContextOptions, StateFolder } from "./engine/context-options.js";
export { Embedder, type EmbedOptions, type EmbedResult } from "./engine/embedder.js";
export { type EmbeddingSpec, Engine, type EngineOptions, type TextSpec } from "./engine/engine.js";
export { TextGeneration } from "./engine/generation.js";
export { type LoadModelOptions, LocalModel, readModelHeader, type TokenOptions } from "./engine/model.js";
export type { PrewarmRequest } from "./engine/prewarm.js";
export type { ModelSpec } from "./engine/specs.js";
export type {
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
} from "./engine/types.js";
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
} from "./errors.js";
export {
  accelerators,
  backendInfo,
  hardwareFacts,
  type Machine,
  machineFacts,
  powerState,
} from "./machine.js";
export { resolveModel } from "./models-dir.js";
export type {
  BackendInfo,
  ChatInput,
  ContextInfo,
  ContextMetrics,
  EmbedderInfo,
  EmbedderOptions,
  HardwareFacts,
  LoadOptions,
  ModelHeader,
  RenderedChat,
  TokenLogprob,
} from "./native.js";
export { localInferencePlugin, localInferencePlugin as default } from "./plugin.js";
export { LocalInferenceService } from "./service.js";
export { SETTINGS, type Setting, type SettingName } from "./settings.js";
export {
  type Constraint,
  grammarConstraint,
  type Part,
  partsConstraint,
  schemaConstraint,
} from "./structured/constraint.js";
export { objectSchema } from "./structured/object.js";
export { type SourceOptions, structureOf } from "./structured/source.js";
export type { Structured } from "./structured/structured.js";
export type { TemplateMode } from "./structured/templates.js";
export type { ToolCall, ToolCallDelta } from "./structured/tool-calls.js";
export { type Validator, validatorOf } from "./structured/validate.js";
export type { DoctorReport, Finding, RoleReport } from "./views/doctor.js";
export { type Inspection, inspectFile, type KvCost } from "./views/inspect.js";
export { type MachineView, machineView } from "./views/machine.js";

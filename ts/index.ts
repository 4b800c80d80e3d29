export type { ActiveModelState } from "./active-model/active-model.js";
export {
  ActiveModels,
  type ActiveModelsOptions,
  type SwitchOptions,
} from "./active-model/active-models.js";
export {
  BUILD,
  machineCapabilities,
  modelCapabilities,
} from "./active-model/capabilities.js";
export type { Capability } from "./active-model/capability.js";
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
export { checkTier } from "./active-model/tier-contract.js";
export { deviceClass, type Fit, fitOf, kvBytesPerToken } from "./catalog/device-fit.js";
export { factsOfEntry, factsOfFile, type ModelFacts } from "./catalog/facts.js";
export { Catalog, catalog } from "./catalog/load.js";
export { type FindInstalled, findNothing, type Located, locateModel } from "./catalog/locate.js";
export { resolveModel } from "./catalog/models-dir.js";
export { type Recommendation, recommend } from "./catalog/recommend.js";
export type { CatalogEntry } from "./catalog/schema.js";
export { chooseVariant, type VariantChoice } from "./catalog/variants.js";
export type { DownloadedFile, DownloadOptions, FileProgress } from "./download/download.js";
export { Hub, type HubFile, type HubModel, type HubRepository, modelsOf } from "./download/hub.js";
export { type Job, type JobState, Jobs } from "./download/jobs.js";
export type { DownloadPlan, PlannedFile, WantedFile, WantedModel } from "./download/plan.js";
export type { PullOptions, PullProgress } from "./download/pull.js";
export type { InstalledFile, InstalledModel, Origin } from "./download/registry.js";
export { readSelection, type Selection, writeSelection } from "./download/selection.js";
export {
  ModelStore,
  type Removal,
  type StoreOptions,
} from "./download/store.js";
export type { FileState, Verification } from "./download/verify.js";
export { wantedByText } from "./download/wanted.js";
export {
  Embedder,
  type EmbedderOptions,
  type EmbedOptions,
  type EmbedResult,
} from "./engine/embedding/embedder.js";
export { type EmbeddingSpec, Engine, type EngineOptions, type TextSpec } from "./engine/engine.js";
export type { LoadOptions } from "./engine/load-options.js";
export { MemoryArbiter } from "./engine/memory/arbiter.js";
export type {
  Lease,
  MemoryEntry,
  MemoryEvent,
  MemoryNeed,
  MemoryOwner,
  MemoryRequest,
  MemorySnapshot,
  Pressure,
  PressureLevel,
} from "./engine/memory/contract.js";
export { memoryArbiter } from "./engine/memory/shared.js";
export { type LoadModelOptions, LocalModel, readModelHeader, type TokenOptions } from "./engine/model.js";
export type { ModelSpec } from "./engine/specs.js";
export { LocalContext } from "./engine/text/context.js";
export type { ContextOptions, StateFolder } from "./engine/text/context-options.js";
export { TextGeneration } from "./engine/text/generation.js";
export type { PrewarmRequest } from "./engine/text/prewarm.js";
export {
  type Constraint,
  grammarConstraint,
  type Part,
  partsConstraint,
  schemaConstraint,
} from "./engine/text/structured/constraint.js";
export type { Structured } from "./engine/text/structured/structure.js";
export type { ToolCall, ToolCallDelta } from "./engine/text/structured/tool-types.js";
export { type Validator, validatorOf } from "./engine/text/structured/validate.js";
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
} from "./engine/text/types.js";
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
export { type SourceOptions, structureOf } from "./handlers/form/structure.js";
export type { TemplateMode } from "./handlers/form/templates.js";
export { objectSchema } from "./handlers/request/object.js";
export type {
  BackendInfo,
  ContextInfo,
  ContextMetrics,
  EmbedderInfo,
  HardwareFacts,
  ModelHeader,
  RenderedChat,
  TokenLogprob,
} from "./native/addon.js";
export {
  accelerators,
  backendInfo,
  hardwareFacts,
  type Machine,
  machineFacts,
  powerState,
} from "./native/machine.js";
export { localInferencePlugin, localInferencePlugin as default } from "./plugin.js";
export { type ActiveRole, type CompanionRole, MEMORY_ROLES, type MemoryRole, type Role } from "./roles.js";
export { LocalInferenceService } from "./service.js";
export { type Config, readConfig, type SettingsSource } from "./settings/config.js";
export { SETTINGS, type Setting, type SettingName } from "./settings/settings.js";
export type { DoctorReport, Finding, RoleReport } from "./views/doctor.js";
export { type Inspection, inspectFile, type KvCost } from "./views/inspect.js";
export { type MachineView, machineView } from "./views/machine.js";

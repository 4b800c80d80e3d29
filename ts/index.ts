// `@elizaos/plugin-local-inference`: the plugin for an agent, and the engine. What is exported is promised: api/ shows it.
export type { ActiveModelState } from "./active-model/active-model.js";
export type { SwitchOptions } from "./active-model/active-models.js";
export { ModelDoesNotFitError, type Shortfall } from "./active-model/does-not-fit.js";
export type { LoadOverrides } from "./active-model/overrides.js";
export type { TemplateCost } from "./agent/prompt/costs.js";
export { localInferencePlugin, localInferencePlugin as default } from "./plugin.js";
export * from "./public/engine.js";
export type { ActiveRole, TextRole } from "./roles.js";
export { LocalInferenceService } from "./service.js";
export { SETTINGS, type Setting, type SettingName } from "./settings/settings.js";
export type { DoctorReport, Finding, RoleReport } from "./views/doctor.js";

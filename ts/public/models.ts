// `@elizaos/plugin-local-inference/models`: which models there are, which to use, and how they come to this machine.
export { factsOfEntry, factsOfFile, type ModelFacts } from "../catalog/facts.js";
export { type Catalog, catalog } from "../catalog/load.js";
export { type Recommendation, recommend } from "../catalog/recommend.js";
export type { CatalogEntry } from "../catalog/schema.js";
export type { DownloadedFile, DownloadOptions, FileProgress } from "../download/download.js";
export { type Hub, type HubFile, type HubModel, type HubRepository, modelsOf } from "../download/hub.js";
export { type Job, type JobState, Jobs } from "../download/jobs.js";
export type { DownloadPlan, PlannedFile, WantedFile, WantedModel } from "../download/plan.js";
export type { PullOptions, PullProgress } from "../download/pull.js";
export type { InstalledFile, InstalledModel, Origin } from "../download/registry.js";
export { ModelStore, type Removal, type StoreOptions } from "../download/store.js";
export type { FileState, Verification } from "../download/verify.js";
export { wantedByText } from "../download/wanted.js";
export type { CompanionRole } from "../roles.js";

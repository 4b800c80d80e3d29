import { type Fit, type FitRequirements, fitOf } from "../catalog/device-fit.js";
import { defaultVariant, factsOfEntry } from "../catalog/facts.js";
import { catalog } from "../catalog/load.js";
import { type Recommended, recommend } from "../catalog/recommend.js";
import type { CatalogEntry } from "../catalog/schema.js";
import type { InstalledModel } from "../download/registry.js";
import { loadNative } from "../native/addon.js";
import { machineFacts } from "../native/machine.js";
import type { Config } from "../settings/config.js";

/** A model of the catalog as lists show it. */
export interface CatalogLine {
  readonly id: string;
  readonly name: string;
  readonly kind: "chat" | "embedding";
  readonly variant: string;
  readonly quantization: string;
  /** undefined: not known. */
  readonly bytes?: number;
  readonly contextLength: number;
  readonly licence?: string;
  readonly repository: string;
  /** Whether the hub has it. */
  readonly published: boolean;
  readonly recommended: boolean;
  readonly installed: boolean;
  readonly notes: readonly string[];
  readonly fit?: FitLine;
}

/** Whether a model fits on this machine, in short. */
export interface FitLine {
  readonly verdict: Fit["verdict"];
  /** Tokens of the largest context that fits. */
  readonly largestContext: number;
  /** With the context that would be chosen. */
  readonly neededBytes: number;
  /** Whether the size of the weights is not known exactly. */
  readonly estimated: boolean;
  readonly reason: string;
}

/** Judges catalog entries for this machine. */
export type Fitter = (entry: CatalogEntry) => FitLine;

/** Judges for the machine as it is now. @throws LocalInferenceError `BACKEND_UNAVAILABLE`. */
export async function fitterOf(config: Config): Promise<Fitter> {
  const [machine, { assessFit }] = await Promise.all([machineFacts(), loadNative()]);
  const requirements = requirementsOf(config);
  return (entry) => fitLine(fitOf(factsOfEntry(entry), machine, assessFit, requirements));
}

function requirementsOf({ contextSize, kvType, memoryHeadroomBytes }: Config): FitRequirements {
  return { contextSize, kvTypeK: kvType, kvTypeV: kvType, headroomBytes: memoryHeadroomBytes };
}

export function fitLine({ verdict, numbers, estimated, reason }: Fit): FitLine {
  const { largestContext, neededBytes } = numbers;
  return { verdict, largestContext, neededBytes, estimated, reason };
}

export function catalogLines(installed: readonly InstalledModel[], fitter?: Fitter): CatalogLine[] {
  const ids = new Set(installed.map(({ catalogId }) => catalogId));
  return catalog().entries.map((entry) => catalogLine(entry, ids.has(entry.id), fitter));
}

function catalogLine(entry: CatalogEntry, installed: boolean, fitter: Fitter | undefined): CatalogLine {
  const variant = defaultVariant(entry);
  const bytes = variant.bytes ?? variant.approximateBytes;
  return {
    id: entry.id,
    name: entry.displayName,
    kind: entry.kind,
    variant: variant.id,
    quantization: variant.quantization,
    ...(bytes === undefined ? {} : { bytes }),
    contextLength: entry.contextLength,
    ...(entry.licence === null ? {} : { licence: entry.licence }),
    repository: entry.hub.repository,
    published: entry.provenance.publish === "published" && variant.status === "published",
    recommended: entry.recommended,
    installed,
    notes: entry.provenance.notes,
    ...(fitter === undefined ? {} : { fit: fitter(entry) }),
  };
}

/** What this machine should use. */
export interface RecommendationView {
  readonly deviceClass: string;
  readonly chat?: RecommendedLine;
  readonly embedding?: RecommendedLine;
  readonly skipped: readonly { readonly id: string; readonly reason: string }[];
}

export interface RecommendedLine {
  readonly id: string;
  readonly name: string;
  readonly variant: string;
  readonly reason: string;
  readonly fit: FitLine;
}

/** @throws LocalInferenceError `BACKEND_UNAVAILABLE`. */
export async function recommendationView(config: Config): Promise<RecommendationView> {
  const { chat, embedding, ...rest } = await recommend(requirementsOf(config));
  return {
    ...rest,
    ...(chat === undefined ? {} : { chat: recommendedLine(chat) }),
    ...(embedding === undefined ? {} : { embedding: recommendedLine(embedding) }),
  };
}

function recommendedLine({ entry, variant, reason, fit }: Recommended): RecommendedLine {
  return { id: entry.id, name: entry.displayName, variant: variant.id, reason, fit: fitLine(fit) };
}

/** An installed model as lists show it: what people and programs need, without what only this package does. */
export type InstalledLine = Omit<InstalledModel, "files" | "companions"> & {
  readonly companions: readonly string[];
};

export function installedLine(model: InstalledModel): InstalledLine {
  const { files, ...facts } = model;
  const companions = [...new Set(files.map(({ role }) => role))].filter((role) => role !== "model");
  return { ...facts, companions };
}

import { fitOf } from "../catalog/device-fit.js";
import type { ModelFacts } from "../catalog/facts.js";
import type { AnySpec } from "../engine/engine.js";
import { LocalInferenceError } from "../errors.js";
import type { Kind } from "../roles.js";
import { present } from "../support/present.js";
import { modelCapabilities } from "./capabilities.js";
import { chosenFor, draftFields, draftOptions, draftWarnings } from "./drafting.js";
import type {
  Field,
  FieldOrigin,
  LoadFields,
  LoadSettings,
  ResolvedLoad,
  ResolveInput,
} from "./load-types.js";
import type { LoadOverrides } from "./overrides.js";
import { runtimeForTier, type TierRuntime } from "./runtime-for-tier.js";

export type * from "./load-types.js";

/**
 * Decides how a model is loaded, from its inputs alone.
 *
 * @throws LocalInferenceError `UNSUPPORTED` for a model that cannot do what it is loaded for, `INVALID_INPUT` for a context
 * longer than the model's or a KV type that it cannot have.
 */
export function resolveLoad(input: ResolveInput): ResolvedLoad {
  const { model, files, machine, settings, overrides = {}, assess, freedBytes } = input;
  const { tier, warnings } = tierOf(model);
  const runtime = tier && runtimeForTier(tier);
  const requirements = { headroomBytes: settings.memoryHeadroomBytes, freedBytes };
  const kind = input.kind ?? (model.kind === "embedding" ? "embedding" : "text");
  assertCapable(model, kind);
  const contextSize = contextField(model, kind, tier, settings, overrides);
  const kv = kvFields(input, runtime, contextSize.value);
  const flash = flashField(runtime, overrides);
  const fit = fitOf(model, machine, assess, {
    ...requirements,
    contextSize: chosen(contextSize.value),
    kvTypeK: chosen(kv.kvTypeK.value),
    kvTypeV: chosen(kv.kvTypeV.value),
    flashAttention: flash.value,
  });
  const fields: LoadFields = present({
    path: { value: files.path, from: "setting" },
    contextSize,
    ...kv,
    gpuLayers: gpuField(settings, overrides),
    threads: first(overrides.threads, settings.threads, undefined, "auto" as const),
    flashAttention: flash,
    parallel: runtime
      ? { value: runtime.optimizations.parallel, from: "catalog" }
      : { value: "auto", from: "default" },
    useMmap: first(overrides.useMmap, undefined, undefined, true),
    useMlock: first(overrides.useMlock, undefined, undefined, false),
    memoryHeadroomBytes: first(undefined, settings.memoryHeadroomBytes, undefined, "auto" as const),
    ctxCheckpoints: runtime && { value: runtime.optimizations.ctxCheckpoints, from: "catalog" },
    ctxCheckpointInterval: runtime && { value: runtime.optimizations.ctxCheckpointInterval, from: "catalog" },
    // An embedding model has no drafter.
    ...(kind === "embedding" ? {} : draftFields(runtime, files, settings)),
    vision: files.vision === undefined ? undefined : { value: files.vision, from: "catalog" },
  } satisfies { [K in keyof LoadFields]: LoadFields[K] | undefined });
  if (kind === "text") warnings.push(...draftWarnings(model.id, runtime, files, settings));
  if (fit.verdict !== "fits") warnings.push(`Memory is tight: ${fit.reason}.`);
  const loadFacts = {
    entry: tier ?? model.entry,
    runtime,
    flashAttention: fields.flashAttention.value,
    kvTypeK: fit.numbers.kvTypeK,
    kvTypeV: fit.numbers.kvTypeV,
    drafter: files.drafter,
    chosenDrafter: chosenFor(files),
    speculationDisabled: settings.speculationDisabled,
    vision: files.vision,
  };
  // All of them are about text generation.
  const capabilities = kind === "embedding" ? [] : modelCapabilities(loadFacts);
  return { model, fields, fit, capabilities, warnings, spec: specOf(kind, fields) };
}

/** Fields without a meaning for an embedding model. */
const TEXT_ONLY = ["contextSize", "kvTypeK", "kvTypeV", "flashAttention", "parallel", "ctxCheckpoints"];

/** The fields that the load depends on as lines for people: name, value, origin. */
export function describeLoad({
  fields,
  spec,
}: ResolvedLoad): { field: string; value: string; from: FieldOrigin }[] {
  const unused = spec.kind === "embedding" ? TEXT_ONLY : [];
  return Object.entries(fields)
    .filter(([field]) => !unused.includes(field))
    .map(([field, { value, from }]: [string, Field<unknown>]) => ({
      field,
      value: typeof value === "object" ? JSON.stringify(value) : String(value),
      from,
    }));
}

function assertCapable({ id, kind: made }: ModelFacts, kind: Kind): void {
  if (made === "vocabulary")
    throw new LocalInferenceError(
      "UNSUPPORTED",
      `${id} is a vocabulary without weights and cannot be loaded as a model.`,
    );
  if (made === "embedding" && kind === "text") {
    throw new LocalInferenceError("UNSUPPORTED", `${id} is an embedding model and cannot generate text.`);
  }
}

/** A file whose architecture is not that of its catalog entry is loaded by its header, without the entry. */
function tierOf(model: ModelFacts): { tier: ModelFacts["entry"]; warnings: string[] } {
  const { entry, header } = model;
  if (entry === undefined || header === undefined || header.architecture === entry.architecture) {
    return { tier: entry, warnings: [] };
  }
  const warning =
    `The file of ${entry.id} declares the architecture ${header.architecture} instead of ${entry.architecture}: ` +
    "it holds another model and runs with that model's settings.";
  return { tier: undefined, warnings: [warning] };
}

function contextField(
  model: ModelFacts,
  kind: Kind,
  tier: ModelFacts["entry"],
  settings: LoadSettings,
  overrides: LoadOverrides,
): LoadFields["contextSize"] {
  // An embedder reads as much as the model does and keeps no cache.
  if (kind === "embedding") return { value: "auto", from: "header" };
  const catalogued =
    tier !== undefined && tier.contextLength < model.contextLength ? tier.contextLength : undefined;
  return first(overrides.contextSize, settings.contextSize, catalogued, "auto" as const);
}

type KvFields = Pick<LoadFields, "kvTypeK" | "kvTypeV">;

function kvFields(input: ResolveInput, runtime: TierRuntime | undefined, context: number | "auto"): KvFields {
  const { settings, overrides = {} } = input;
  const standard = runtime === undefined ? undefined : tierKv(input, context);
  const of = (override: string | undefined): Field<string> => {
    if (override !== undefined) return { value: override, from: "override" };
    if (settings.kvType !== undefined) return { value: settings.kvType, from: "setting" };
    return standard ?? { value: "auto", from: "default" };
  };
  return { kvTypeK: of(overrides.kvTypeK), kvTypeV: of(overrides.kvTypeV) };
}

/** Tiers default to q8_0, half the size of f16 and equal to it in three digits. The settings can prefer f16 where it fits. */
function tierKv(input: ResolveInput, context: number | "auto"): Field<string> {
  const { model, machine, assess, settings, freedBytes } = input;
  if (settings.preferAccurateKv) {
    const requirements = {
      headroomBytes: settings.memoryHeadroomBytes,
      freedBytes,
      contextSize: chosen(context),
    };
    const exact = fitOf(model, machine, assess, { ...requirements, kvTypeK: "f16", kvTypeV: "f16" });
    const whole = exact.numbers.largestContext >= (chosen(context) ?? model.contextLength);
    if (exact.verdict === "fits" && whole) return { value: "f16", from: "machine" };
  }
  return { value: "q8_0", from: "catalog" };
}

function gpuField(settings: LoadSettings, overrides: LoadOverrides): LoadFields["gpuLayers"] {
  if (overrides.useGpu === false) return { value: 0, from: "override" };
  return first(overrides.gpuLayers, settings.gpuLayers, undefined, "auto" as const);
}

function flashField(
  runtime: TierRuntime | undefined,
  overrides: LoadOverrides,
): LoadFields["flashAttention"] {
  if (overrides.flashAttention !== undefined) {
    return { value: overrides.flashAttention ? "on" : "off", from: "override" };
  }
  return runtime === undefined ? { value: "auto", from: "default" } : { value: "on", from: "catalog" };
}

function first<T, D>(
  override: T | undefined,
  setting: T | undefined,
  catalogued: T | undefined,
  standard: D,
) {
  if (override !== undefined) return { value: override, from: "override" as const };
  if (setting !== undefined) return { value: setting, from: "setting" as const };
  if (catalogued !== undefined) return { value: catalogued, from: "catalog" as const };
  return { value: standard, from: "default" as const };
}

function specOf(kind: Kind, fields: LoadFields): AnySpec {
  const threads = chosen(fields.threads.value);
  const memoryHeadroomBytes = chosen(fields.memoryHeadroomBytes.value);
  const load = present({
    gpuLayers: chosen(fields.gpuLayers.value),
    useMmap: fields.useMmap.from === "default" ? undefined : fields.useMmap.value,
    useMlock: fields.useMlock.from === "default" ? undefined : fields.useMlock.value,
    memoryHeadroomBytes,
  });
  const path = fields.path.value;
  if (kind === "embedding") return { kind, path, load, embedder: present({ threads }) };
  const { value: flashAttention } = fields.flashAttention;
  const drafts = draftOptions(fields);
  const context = present({
    contextSize: chosen(fields.contextSize.value),
    kvTypeK: chosen(fields.kvTypeK.value),
    kvTypeV: chosen(fields.kvTypeV.value),
    threads,
    parallel: chosen(fields.parallel.value),
    memoryHeadroomBytes,
    flashAttention: flashAttention === "auto" ? undefined : flashAttention,
    ...drafts.context,
  });
  return { kind, path, load: { ...load, ...drafts.load }, context };
}

/** The engine chooses where nobody did. */
function chosen<T extends number | string>(value: T | "auto"): T | undefined {
  return value === "auto" ? undefined : value;
}

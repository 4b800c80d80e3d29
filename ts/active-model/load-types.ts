import type { AssessFit, Fit } from "../catalog/device-fit.js";
import type { ModelFacts } from "../catalog/facts.js";
import type { EmbeddingSpec, TextSpec } from "../engine/engine.js";
import type { Machine } from "../native/machine.js";
import type { Config } from "../settings/config.js";
import type { Capability } from "./capability.js";
import type { LoadOverrides } from "./overrides.js";

/** Where a value comes from, the strongest first. */
export type FieldOrigin = "override" | "setting" | "catalog" | "header" | "machine" | "default";

export interface Field<T> {
  readonly value: T;
  readonly from: FieldOrigin;
}

/** What a model is loaded for. A model that writes text can make vectors, too. */
export type Purpose = "text" | "embedding";

/** The settings that loading depends on. */
export type LoadSettings = Pick<
  Config,
  | "contextSize"
  | "kvType"
  | "gpuLayers"
  | "threads"
  | "memoryHeadroomBytes"
  | "mtpDisabled"
  | "preferAccurateKv"
>;

/** Files of a model that are on this machine. */
export interface ModelFiles {
  /** Real path of the GGUF. */
  readonly path: string;
  readonly drafter?: string | undefined;
  /** For a model without a drafter of its own. */
  readonly chosenDrafter?: ChosenDrafter | undefined;
  readonly vision?: string | undefined;
}

/** What LOCAL_DRAFTER names: a file, the heads in the model's own file, repetitions, or a file that cannot be used. */
export type ChosenDrafter =
  | ({ readonly path?: undefined } & (
      | { readonly kind: "heads" }
      | { readonly kind: "ngram" }
      | { readonly kind: "missing"; readonly reason: string }
    ))
  | { readonly kind: "file"; readonly path: string };

/** Speculative decoding with a tier's drafter, as the engine is to run it. */
export interface MtpLoad {
  readonly specType: "draft-mtp";
  readonly drafterFile: string;
  readonly draftMin: number;
  readonly draftMax: number;
  /** Tokens verified at once. */
  readonly speculativeSamples: number;
  readonly gpuLayers: "auto" | number;
}

export interface LoadFields {
  readonly path: Field<string>;
  /** Tokens; `auto`: the largest that fits when the context is opened. */
  readonly contextSize: Field<number | "auto">;
  readonly kvTypeK: Field<string>;
  readonly kvTypeV: Field<string>;
  readonly gpuLayers: Field<number | "auto">;
  readonly threads: Field<number | "auto">;
  readonly flashAttention: Field<"auto" | "on" | "off">;
  /** Requests side by side; `auto`: as many as cost neither context nor KV precision, up to 4. */
  readonly parallel: Field<number | "auto">;
  readonly mmap: Field<boolean>;
  readonly mlock: Field<boolean>;
  /** Bytes to leave free; `auto`: by the size of the machine. */
  readonly headroomBytes: Field<number | "auto">;
  readonly ctxCheckpoints?: Field<number>;
  readonly ctxCheckpointInterval?: Field<number>;
  readonly mtp?: Field<MtpLoad>;
  /** What drafts where no drafter is made for the model. */
  readonly drafter?: Field<ChosenDrafter>;
  readonly vision?: Field<string>;
}

/** Everything that loading a model needs, and why. */
export interface ResolvedLoad {
  readonly model: ModelFacts;
  readonly fields: LoadFields;
  readonly fit: Fit;
  readonly capabilities: readonly Capability[];
  /** What a user should know; none of it keeps the model from loading. */
  readonly warnings: readonly string[];
  /** What the engine takes. */
  readonly spec: TextSpec | EmbeddingSpec;
}

export interface ResolveInput {
  readonly model: ModelFacts;
  /** Default: what the model is made for. */
  readonly purpose?: Purpose | undefined;
  readonly files: ModelFiles;
  readonly machine: Machine;
  readonly settings: LoadSettings;
  readonly overrides?: LoadOverrides;
  readonly assess: AssessFit;
  /** Bytes that the model which leaves gives back. */
  readonly freedBytes?: number;
}

import type { AssessFit, Fit } from "../catalog/device-fit.js";
import type { ModelFacts } from "../catalog/facts.js";
import type { AnySpec } from "../engine/engine.js";
import type { Machine } from "../native/machine.js";
import type { Kind } from "../roles.js";
import type { Config } from "../settings/config.js";
import type { Capability } from "./capability.js";
import type { LoadOverrides } from "./overrides.js";
import type { ContractOnly } from "./runtime-for-tier.js";

/** Where a value comes from, the strongest first. */
export type FieldOrigin = "override" | "setting" | "catalog" | "header" | "machine" | "default";

export interface Field<T> {
  readonly value: T;
  readonly from: FieldOrigin;
}

/** The settings that loading depends on. */
export type LoadSettings = Pick<
  Config,
  | "contextSize"
  | "kvType"
  | "gpuLayers"
  | "threads"
  | "memoryHeadroomBytes"
  | "speculationDisabled"
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

/** What proposes tokens for a model: a file, the heads in the model's own file, or repetitions of the text. */
export type Drafter =
  | { readonly kind: "heads" }
  | { readonly kind: "ngram" }
  | {
      readonly kind: "file";
      readonly path: string;
      /** Fewest and most tokens of a draft. Default: the engine's. */
      readonly draftMin?: number;
      readonly draftMax?: number;
      /** Of a tier's drafter. */
      readonly contract?: Pick<ContractOnly, "specType" | "speculativeSamples" | "gpuLayers">;
    };

/** What LOCAL_DRAFTER names: a drafter, or a file that cannot be used. */
export type ChosenDrafter = Drafter | { readonly kind: "missing"; readonly reason: string };

/** Fields that a tier's contract adds and the engine never gets. */
interface ContractFields {
  readonly ctxCheckpoints?: Field<ContractOnly["ctxCheckpoints"]>;
  readonly ctxCheckpointInterval?: Field<ContractOnly["ctxCheckpointInterval"]>;
}

export interface LoadFields extends ContractFields {
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
  readonly useMmap: Field<boolean>;
  readonly useMlock: Field<boolean>;
  /** Bytes to leave free; `auto`: by the size of the machine. */
  readonly memoryHeadroomBytes: Field<number | "auto">;
  /** Of its tier, otherwise the one that LOCAL_DRAFTER names. */
  readonly drafter?: Field<Drafter>;
  readonly vision?: Field<string>;
}

/** Everything that loading a model needs, and why. */
export interface ResolvedLoad<S extends AnySpec = AnySpec> {
  readonly model: ModelFacts;
  readonly fields: LoadFields;
  readonly fit: Fit;
  readonly capabilities: readonly Capability[];
  /** Problems to report to the user; the model loads all the same. */
  readonly warnings: readonly string[];
  /** The load as the engine takes it. */
  readonly spec: S;
}

export interface ResolveInput {
  readonly model: ModelFacts;
  /** Default: what the model is made for. */
  readonly kind?: Kind | undefined;
  readonly files: ModelFiles;
  readonly machine: Machine;
  readonly settings: LoadSettings;
  readonly overrides?: LoadOverrides;
  readonly assess: AssessFit;
  /** Bytes that the model to be unloaded frees. */
  readonly freedBytes?: number;
}

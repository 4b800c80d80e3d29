// What drafts tokens for a model: the drafter of its tier, otherwise the one that LOCAL_DRAFTER names.
import { basename } from "node:path";
import type { TextSpec } from "../engine/engine.js";
import { present } from "../support/present.js";
import type { ChosenDrafter, LoadFields, LoadSettings, ModelFiles } from "./load-types.js";
import type { TierRuntime } from "./runtime-for-tier.js";

type DraftFields = Pick<LoadFields, "drafter">;
type DraftSettings = Pick<LoadSettings, "speculationDisabled">;

/** The drafter of a text model; no field where it has none. */
export function draftFields(
  runtime: TierRuntime | undefined,
  files: ModelFiles,
  { speculationDisabled }: DraftSettings,
): DraftFields {
  if (speculationDisabled) return {};
  if (runtime?.mtp !== undefined && files.drafter !== undefined) {
    const { specType, draftMin, draftMax, gpuLayers } = runtime.mtp;
    const contract = { specType, speculativeSamples: draftMax, gpuLayers };
    const drafter = { kind: "file", path: files.drafter, draftMin, draftMax, contract } as const;
    return { drafter: { value: drafter, from: "catalog" } };
  }
  const chosen = chosenFor(files);
  if (chosen === undefined || chosen.kind === "missing") return {};
  return { drafter: { value: chosen, from: "setting" } };
}

/** What LOCAL_DRAFTER means for this model: a model does not draft for itself. */
export function chosenFor({ path, chosenDrafter: chosen }: ModelFiles): ChosenDrafter | undefined {
  return chosen?.kind === "file" && chosen.path === path ? undefined : chosen;
}

/** Warnings about a drafter that is missing. */
export function draftWarnings(
  id: string,
  runtime: TierRuntime | undefined,
  files: ModelFiles,
  { speculationDisabled }: DraftSettings,
): string[] {
  if (speculationDisabled || files.drafter !== undefined) return [];
  if (files.chosenDrafter?.kind === "missing") {
    return [`LOCAL_DRAFTER cannot be used, and ${id} runs without it: ${files.chosenDrafter.reason}`];
  }
  if (runtime?.mtp === undefined || chosenFor(files) !== undefined) return [];
  return [`The drafter ${runtime.mtp.drafterFile} is missing: ${id} runs without it, more slowly.`];
}

/** The options of the context that a drafter needs, and of the model where its own heads draft. */
export function draftOptions({ drafter }: DraftFields): Pick<TextSpec, "context" | "load"> {
  switch (drafter?.value.kind) {
    case "file": {
      const { path, draftMin, draftMax } = drafter.value;
      return { context: present({ drafter: path, draftMin, draftMax }) };
    }
    case "heads":
      return { context: { heads: true }, load: { heads: true } };
    case "ngram":
      return { context: { ngram: true } };
    default:
      return {};
  }
}

/** The drafter's file, which must stay while the model is loaded. */
export function drafterFile({ drafter }: DraftFields): string | undefined {
  return drafter?.value.kind === "file" ? drafter.value.path : undefined;
}

/** A chosen drafter in words. */
export function describeDrafter(chosen: ChosenDrafter): string {
  switch (chosen.kind) {
    case "file":
      return `drafts with ${basename(chosen.path)}`;
    case "heads":
      return "drafts with the heads in the model's own file, if it has any";
    case "ngram":
      return "drafts from repetitions in the text";
    case "missing":
      return chosen.reason;
  }
}

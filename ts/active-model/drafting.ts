// What drafts tokens for a model: the drafter of its tier, otherwise what LOCAL_DRAFTER says.
import { basename } from "node:path";
import type { TextSpec } from "../engine/engine.js";
import type { ChosenDrafter, Field, LoadFields, LoadSettings, ModelFiles, MtpLoad } from "./load-types.js";
import type { TierRuntime } from "./runtime-for-tier.js";

type DraftFields = Pick<LoadFields, "mtp" | "drafter">;

/** The fields of a text model that say what drafts; none of them where nothing does. */
export function draftFields(
  runtime: TierRuntime | undefined,
  files: ModelFiles,
  settings: Pick<LoadSettings, "mtpDisabled">,
): DraftFields {
  if (settings.mtpDisabled) return {};
  if (runtime?.mtp !== undefined && files.drafter !== undefined) {
    const { specType, draftMin, draftMax, gpuLayers } = runtime.mtp;
    const drafterFile = files.drafter;
    const mtp = { specType, drafterFile, draftMin, draftMax, speculativeSamples: draftMax, gpuLayers };
    return { mtp: { value: mtp, from: "catalog" } satisfies Field<MtpLoad> };
  }
  const chosen = chosenFor(files);
  if (chosen === undefined || chosen.kind === "missing") return {};
  return { drafter: { value: chosen, from: "setting" } };
}

/** What LOCAL_DRAFTER means for this model: a drafter that is one of the models in use does not draft for itself. */
export function chosenFor({ path, chosenDrafter }: ModelFiles): ChosenDrafter | undefined {
  return chosenDrafter?.path === path ? undefined : chosenDrafter;
}

/** What a user should know when a drafter that was counted on is not there. */
export function draftWarnings(
  id: string,
  runtime: TierRuntime | undefined,
  files: ModelFiles,
  settings: Pick<LoadSettings, "mtpDisabled">,
): string[] {
  if (settings.mtpDisabled || files.drafter !== undefined) return [];
  if (files.chosenDrafter?.kind === "missing") {
    return [`LOCAL_DRAFTER cannot be used, and ${id} runs without it: ${files.chosenDrafter.reason}`];
  }
  if (runtime?.mtp === undefined || chosenFor(files) !== undefined) return [];
  return [`The drafter ${runtime.mtp.drafterFile} is missing: ${id} runs without it, more slowly.`];
}

/** The same for the engine: options of the context, and of the model where its own heads draft. */
export function draftOptions({ mtp, drafter }: DraftFields): Pick<TextSpec, "context" | "load"> {
  if (mtp !== undefined) {
    const { drafterFile, draftMin, draftMax, speculativeSamples } = mtp.value;
    return { context: { drafter: drafterFile, draftMin, draftMax, speculativeSamples } };
  }
  switch (drafter?.value.kind) {
    case "file":
      return { context: { drafter: drafter.value.path } };
    case "heads":
      return { context: { mtp: true }, load: { mtp: true } };
    case "ngram":
      return { context: { ngram: true } };
    default:
      return {};
  }
}

/** The drafter's file, which must stay while the model is loaded. */
export function drafterFile({ mtp, drafter }: DraftFields): string | undefined {
  return mtp?.value.drafterFile ?? drafter?.value.path;
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

import { invalidInput } from "../errors.js";
import type { Purpose, ResolvedLoad } from "./resolve-load.js";
import { SLOTS, type SlotName } from "./slot.js";

/** @throws LocalInferenceError `INVALID_INPUT`: the two uses load a model in different ways. */
export function purposeOf(slots: readonly SlotName[] | undefined): Purpose | undefined {
  if (slots === undefined || slots.length === 0) return undefined;
  const vectors = slots.filter((slot) => slot === "embedding").length;
  if (vectors === 0) return "text";
  if (vectors === slots.length) return "embedding";
  throw invalidInput("Text and embedding models are switched separately.");
}

/** The slots that were asked for, or those that the model is made for. */
export function slotsFor(
  { model }: ResolvedLoad,
  slots: readonly SlotName[] | undefined,
): readonly SlotName[] {
  if (slots !== undefined && slots.length > 0) return SLOTS.filter((slot) => slots.includes(slot));
  return model.kind === "embedding" ? ["embedding"] : ["small", "large"];
}

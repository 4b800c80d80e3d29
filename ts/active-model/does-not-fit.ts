import { LocalInferenceError } from "../errors.js";
import { bytesText } from "../support/bytes-text.js";
import type { ResolvedLoad } from "./load-types.js";

/** The numbers of a model that was not admitted. Bytes. */
export interface Shortfall {
  readonly modelId: string;
  readonly requiredBytes: number;
  readonly availableBytes: number;
  readonly shortfallBytes: number;
  /** Tokens of the longest context that fits; 0: none. */
  readonly largestContext: number;
  /** Variant of the same model that would fit. */
  readonly fittingVariantId?: string;
}

/** A model that does not fit the memory; the models in use stay as they were. */
export class ModelDoesNotFitError extends LocalInferenceError {
  override name = "ModelDoesNotFitError";
  readonly shortfall: Shortfall;

  constructor(resolved: ResolvedLoad, fittingVariantId: string | undefined) {
    const { model, fit } = resolved;
    const { neededBytes, budgetBytes, missingBytes, largestContext } = fit.numbers;
    const numbers =
      `${model.id} needs ${bytesText(neededBytes)}, ${bytesText(missingBytes)} more than the ` +
      `${bytesText(budgetBytes)} that it may use.`;
    super("OUT_OF_MEMORY", numbers, { hint: remedy(largestContext, fittingVariantId) });
    this.shortfall = {
      modelId: model.id,
      requiredBytes: neededBytes,
      availableBytes: budgetBytes,
      shortfallBytes: missingBytes,
      largestContext,
      ...(fittingVariantId === undefined ? {} : { fittingVariantId }),
    };
  }
}

function remedy(largestContext: number, variant: string | undefined): string {
  if (largestContext > 0) return `Set LOCAL_CONTEXT_SIZE to ${largestContext} or less: that fits.`;
  if (variant !== undefined) return `Use its variant ${variant}, which fits.`;
  return "Use a smaller model or quantisation, or free memory.";
}

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

/** A model that the memory cannot hold; nothing was changed. */
export class ModelDoesNotFitError extends LocalInferenceError {
  override name = "ModelDoesNotFitError";
  readonly shortfall: Shortfall;

  constructor(resolved: ResolvedLoad, fittingVariantId: string | undefined) {
    const { model, fit } = resolved;
    const { neededBytes, budgetBytes, missingBytes, largestContext } = fit.numbers;
    const numbers =
      `${model.id} needs ${bytesText(neededBytes)} and ${bytesText(budgetBytes)} may be used: ` +
      `${bytesText(missingBytes)} are missing.`;
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
  if (largestContext > 0) return `A context of ${largestContext} tokens fits.`;
  if (variant !== undefined) return `Its variant ${variant} would fit.`;
  return "Use a smaller model or quantisation, or free memory.";
}

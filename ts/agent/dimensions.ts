import { LocalInferenceError } from "../errors.js";

/** The vector sizes that elizaOS can store. */
export const VECTOR_DIMENSIONS = [384, 512, 768, 1024, 1536, 3072] as const;

export interface VectorShape {
  /** Dimensions kept of the model's own. */
  readonly kept: number;
  /** Dimensions of the stored vector: the kept ones, then zeros, which leave cosines as they are. */
  readonly stored: number;
}

/**
 * The shape of stored vectors for a model of `own` dimensions.
 *
 * @param wanted The user's setting: fewer keep the leading dimensions, more pad.
 * @throws LocalInferenceError `UNSUPPORTED` when the vector is longer than elizaOS can store.
 */
export function vectorShape(own: number, wanted: number | undefined): VectorShape {
  const kept = Math.min(own, wanted ?? own);
  const least = Math.max(kept, wanted ?? 0);
  const stored = VECTOR_DIMENSIONS.find((size) => size >= least);
  if (stored === undefined) {
    throw new LocalInferenceError(
      "UNSUPPORTED",
      `The embedding model has ${own} dimensions and elizaOS stores at most ${VECTOR_DIMENSIONS.at(-1)}.`,
      { hint: "Set LOCAL_EMBEDDING_DIMENSIONS to keep fewer, if the model is trained for it." },
    );
  }
  return { kept, stored };
}

export function padded(vector: Float32Array, size: number): number[] {
  const result = new Array<number>(size).fill(0);
  for (let i = 0; i < vector.length; i++) result[i] = vector[i] ?? 0;
  return result;
}

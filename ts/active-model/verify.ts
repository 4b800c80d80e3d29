import type { EmbeddingSpec, Engine, TextSpec } from "../engine/engine.js";
import { LocalInferenceError } from "../errors.js";

/**
 * Loads a model and has it compute something: one token, or one vector.
 *
 * @throws LocalInferenceError what loading and decoding throw; `DECODE_FAILED` for a model that computes nothing.
 */
export async function loadAndVerify(engine: Engine, spec: TextSpec | EmbeddingSpec): Promise<void> {
  if ("embedder" in spec) {
    const { vectors } = await engine.embed(spec, ["Hello"]);
    const sound = vectors[0]?.every(Number.isFinite) && vectors[0].some((value) => value !== 0);
    if (!sound) throw new LocalInferenceError("DECODE_FAILED", "The model gives no usable vector.");
    return;
  }
  await engine.preload(spec);
  const request = { prompt: "Hello", maxTokens: 1, temperature: 0, ignoreEos: true };
  const { usage } = await (await engine.generate(spec, request)).result;
  if (usage.completionTokens < 1) {
    throw new LocalInferenceError("DECODE_FAILED", "The model generates nothing.");
  }
}

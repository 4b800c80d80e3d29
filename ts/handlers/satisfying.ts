import type { TextGeneration } from "../engine/generation.js";
import type { GenerationResult } from "../engine/types.js";
import { unavailable } from "../errors.js";
import type { Structured } from "../structured/structured.js";

const ATTEMPTS = 2;

/**
 * The answer, generated once more when a complete one is not what was asked for: a grammar cannot express everything
 * that a schema can. An answer that was cut short is reported by its finish reason instead.
 *
 * @throws LocalInferenceError when the model fails twice.
 */
export async function satisfying(
  generate: () => Promise<TextGeneration>,
  structured: () => Structured | undefined,
): Promise<GenerationResult> {
  for (let attempt = 1; ; attempt++) {
    const result = await (await generate()).result;
    const problem = result.finishReason === "stop" ? await structured()?.problem?.(result.text) : undefined;
    if (problem === undefined) return result;
    if (attempt === ATTEMPTS) {
      throw unavailable(
        "capability_unavailable",
        `The model's answer does not satisfy the schema: ${problem}.`,
        "Simplify the schema or use a larger model.",
      );
    }
  }
}

import type { Structured } from "../engine/text/structured/structure.js";
import type { GenerationResult } from "../engine/text/types.js";
import { unavailable } from "../errors.js";
import type { Attempt } from "./attempt.js";

const ATTEMPTS = 2;

/**
 * The answer, generated once more when it does not have the form that was asked for: a grammar cannot express everything
 * that a schema can.
 *
 * @param attempt Starts an attempt by its number, from 1.
 * @throws LocalInferenceError when the model fails twice.
 */
export async function satisfying(attempt: (number: number) => Promise<Attempt>): Promise<GenerationResult> {
  for (let number = 1; ; number++) {
    const { generation, structured } = await attempt(number);
    const result = await generation.result;
    const problem = await problemOf(result, structured);
    if (problem === undefined) return result;
    if (number === ATTEMPTS) {
      throw unavailable(
        "capability_unavailable",
        `The model's answer does not satisfy the schema: ${problem}.`,
        "Simplify the schema or use a larger model.",
      );
    }
  }
}

/**
 * Why an answer does not have the form that was asked for. One that a limit has closed is judged, too: most callers see no
 * finish reason. Calls that a limit cut short are no problem here; the answer leaves them out.
 */
export async function problemOf(
  result: GenerationResult,
  structured: Structured | undefined,
): Promise<string | undefined> {
  const call = result.toolCalls?.find(({ problem }) => problem !== undefined);
  if (result.finishReason === "cancelled") return undefined;
  if (call !== undefined && result.finishReason !== "stop") return undefined;
  if (call !== undefined) return `in the call of ${call.name}, ${call.problem}`;
  return result.toolCalls === undefined ? structured?.problem?.(result.text) : undefined;
}

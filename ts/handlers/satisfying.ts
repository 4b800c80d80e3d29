import type { TextGeneration } from "../engine/text/generation.js";
import type { Structured } from "../engine/text/structured/structured.js";
import type { GenerateRequest, GenerationResult } from "../engine/text/types.js";
import { unavailable } from "../errors.js";

const ATTEMPTS = 2;
/** Seeds of llama.cpp; the number itself asks for a random one. */
const SEEDS = 0xffff_ffff;
/** Temperature of a second attempt at what has only one answer. */
const LOOSE = 0.7;

/**
 * The answer, generated once more when it is not what was asked for: a grammar cannot express everything that a schema
 * can.
 *
 * @throws LocalInferenceError when the model fails twice.
 */
export async function satisfying(
  generate: (attempt: number) => Promise<TextGeneration>,
  structured: () => Structured | undefined,
): Promise<GenerationResult> {
  for (let attempt = 1; ; attempt++) {
    const result = await (await generate(attempt)).result;
    const problem = await problemOf(result, structured());
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

/**
 * Why an answer is not what was asked for. One that a limit has closed is judged, too: most callers see no finish reason.
 * Of calls, those that a limit cut are left out by the caller.
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

/**
 * The request of an attempt. The second one has the next seed, because the same one would give the same answer. Where
 * nothing is drawn, at temperature 0, it draws: the likeliest answer has failed, and another one is better than none.
 * Its seed is then fixed, so that the request as a whole still gives one answer.
 */
export function attemptOf(request: GenerateRequest, attempt: number): GenerateRequest {
  const { seed, temperature, topK } = request;
  const greedy = temperature === 0 || topK === 1;
  if (attempt === 1 || (seed === undefined && !greedy)) return request;
  const next: GenerateRequest = { ...request, seed: ((seed ?? 0) + attempt - 1) % SEEDS };
  if (temperature === 0) next.temperature = LOOSE;
  if (topK === 1) delete next.topK;
  return next;
}

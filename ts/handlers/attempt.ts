import { basename } from "node:path";
import type { IAgentRuntime } from "@elizaos/core";
import type { Agent } from "../agent/agent.js";
import type { LaidOut } from "../agent/prompt/layout.js";
import type { TextSpec } from "../engine/engine.js";
import type { TextGeneration } from "../engine/text/generation.js";
import type { Structured } from "../engine/text/structured/structure.js";
import type { GenerateRequest } from "../engine/text/types.js";
import { emitModelUsed } from "./model-used.js";

/** Seeds of llama.cpp; the number itself asks for a random one. */
const SEEDS = 0xffff_ffff;
/** Temperature of a second attempt at a request that has only one answer. */
const LOOSE = 0.7;

/** Who asks, and which of the agent's models. */
export interface Asker {
  readonly runtime: IAgentRuntime;
  readonly agent: Agent;
  /** Model type of the request. */
  readonly type: string;
  readonly role: "small" | "large";
  readonly signal?: AbortSignal | undefined;
}

/** A request made ready for one model, with the form that its answer is held to. */
export interface Prepared {
  readonly request: GenerateRequest;
  readonly structured?: Structured | undefined;
  /** The prompt as the agent's events show it. */
  readonly prompt: string;
  /** How a prompt of elizaOS was laid out; undefined for one that nobody knows. */
  readonly laidOut?: LaidOut | undefined;
}

/** One generation for a request, and the form that its answer is held to. */
export interface Attempt {
  readonly generation: TextGeneration;
  readonly structured?: Structured | undefined;
}

/**
 * Starts an attempt on the model that is active for a role, which stays in memory until the generation has ended, and
 * reports what it cost.
 *
 * @param number 1 for the first attempt.
 */
export function startAttempt(
  asker: Asker,
  prepare: (spec: TextSpec) => Prepared | Promise<Prepared>,
  number = 1,
): Promise<Attempt> {
  const { agent, role, signal } = asker;
  const start = async (spec: TextSpec) => {
    const ready = await prepare(spec);
    const { request, structured } = ready;
    await structured?.ready?.();
    const generation = await agent.engine.generate(spec, attemptOf(request, number), { signal });
    const { settled } = generation;
    void settled.then(() => report(asker, spec.path, ready, generation));
    return { value: { generation, structured }, until: settled };
  };
  return agent.active.use(role, start, signal);
}

/**
 * The request of an attempt. The second one has the next seed, because the same one would give the same answer. At
 * temperature 0, where nothing is drawn, it draws: the likeliest answer has failed, and another one is better than none.
 * Its seed is then fixed, so that the request as a whole still gives one answer.
 */
export function attemptOf(request: GenerateRequest, number: number): GenerateRequest {
  const { seed, temperature, topK } = request;
  const greedy = temperature === 0 || topK === 1;
  if (number === 1 || (seed === undefined && !greedy)) return request;
  const next: GenerateRequest = { ...request, seed: ((seed ?? 0) + number - 1) % SEEDS };
  if (temperature === 0) next.temperature = LOOSE;
  if (topK === 1) delete next.topK;
  return next;
}

/** Without measurements the engine never ran, so there is nothing to report. */
function report(
  { runtime, agent, type }: Asker,
  path: string,
  { prompt, laidOut }: Prepared,
  { usage }: TextGeneration,
): void {
  if (usage === undefined) return;
  agent.prompts.count(laidOut, usage);
  const tokens = { prompt: usage.promptTokens, completion: usage.completionTokens };
  emitModelUsed(runtime, { type, model: basename(path), prompt, tokens, usage });
}

import type { Usage } from "../engine/text/types.js";

/** Totals of the requests of one model type since the agent started. */
export interface TypeMetrics {
  requests: number;
  promptTokens: number;
  cachedPromptTokens: number;
  completionTokens: number;
  draftedTokens: number;
  acceptedTokens: number;
  /** Milliseconds in all requests together. */
  queueMs: number;
  prefillMs: number;
  decodeMs: number;
  /** Of the last request. */
  timeToFirstTokenMs?: number;
  prefillTokensPerSecond?: number;
  decodeTokensPerSecond?: number;
}

const SUMS = [
  "promptTokens",
  "cachedPromptTokens",
  "completionTokens",
  "draftedTokens",
  "acceptedTokens",
  "queueMs",
  "prefillMs",
  "decodeMs",
] as const satisfies readonly (keyof TypeMetrics & keyof Usage)[];
const LAST = ["timeToFirstTokenMs", "prefillTokensPerSecond", "decodeTokensPerSecond"] as const;

const byAgent = new WeakMap<object, Map<string, TypeMetrics>>();

/** Adds a request to the totals of an agent. */
export function countRequest(
  agent: object,
  type: string,
  tokens: { prompt: number; completion: number },
  usage?: Usage,
): void {
  const types = byAgent.get(agent) ?? new Map<string, TypeMetrics>();
  byAgent.set(agent, types);
  const zero = Object.fromEntries(SUMS.map((name) => [name, 0])) as Record<(typeof SUMS)[number], number>;
  const metrics = types.get(type) ?? { requests: 0, ...zero };
  types.set(type, metrics);
  metrics.requests += 1;
  const measured: Partial<Usage> = usage ?? {
    promptTokens: tokens.prompt,
    completionTokens: tokens.completion,
  };
  for (const name of SUMS) metrics[name] += measured[name] ?? 0;
  for (const name of LAST) if (measured[name] !== undefined) metrics[name] = measured[name];
}

/** The totals of an agent by model type. */
export function metricsOf(agent: object): Readonly<Record<string, TypeMetrics>> {
  return Object.fromEntries(byAgent.get(agent) ?? []);
}

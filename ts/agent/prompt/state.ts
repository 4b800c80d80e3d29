import type { IAgentRuntime } from "@elizaos/core";
import { isRecord } from "../../support/records.js";
import type { Values } from "./match.js";

/** What one provider gave for a message. */
export interface ProviderResult {
  readonly name: string;
  readonly text: string;
  readonly values: Values;
  readonly data: Values;
}

/** What the runtime holds for a message: what a prompt about it can have been made from. */
export interface MessageState {
  readonly values: Values;
  readonly results: ReadonlyMap<string, ProviderResult>;
}

/** Messages looked at, the newest first: a prompt is made right after its state. */
const LATEST = 16;

/** The states of the latest messages of an agent. */
export function latestStates(runtime: IAgentRuntime): MessageState[] {
  const { stateCache } = runtime as { stateCache?: unknown };
  if (!(stateCache instanceof Map)) return [];
  return [...stateCache.values()]
    .slice(-LATEST)
    .reverse()
    .flatMap((state) => {
      if (!isRecord(state) || !isRecord(state.values) || !isRecord(state.data)) return [];
      const providers = isRecord(state.data.providers) ? state.data.providers : {};
      return [{ values: state.values, results: resultsOf(providers) }];
    });
}

function resultsOf(providers: Values): Map<string, ProviderResult> {
  const results = Object.entries(providers).flatMap(([name, result]): [string, ProviderResult][] => {
    if (!isRecord(result)) return [];
    const { text, values, data } = result;
    return [
      [
        name,
        { name, text: typeof text === "string" ? text : "", values: recordOf(values), data: recordOf(data) },
      ],
    ];
  });
  return new Map(results);
}

function recordOf(value: unknown): Values {
  return isRecord(value) ? value : {};
}

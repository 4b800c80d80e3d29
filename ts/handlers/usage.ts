import type { IAgentRuntime } from "@elizaos/core";
import { countRequest } from "../agent/metrics.js";
import { PLUGIN_NAME } from "../agent/names.js";
import type { GenerationResult, Usage } from "../engine/text/types.js";
import { log } from "../support/log.js";

/** Characters of a prompt that an event carries. */
const PROMPT_LIMIT = 200;

/** The counts elizaOS reads; the last field is of 2.x. */
export interface TokenUsage {
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
  cacheReadInputTokens: number;
  /** Of this plugin: messages that were left out so that the conversation fits; absent when there are none. */
  droppedMessages?: number;
}

export function tokenUsage(usage: Usage): TokenUsage {
  return {
    promptTokens: usage.promptTokens,
    completionTokens: usage.completionTokens,
    totalTokens: usage.promptTokens + usage.completionTokens,
    cacheReadInputTokens: usage.cachedPromptTokens,
    ...(usage.droppedMessages === undefined ? {} : { droppedMessages: usage.droppedMessages }),
  };
}

/** Why an answer with tool calls ended, in the word of the AI SDK that elizaOS's own providers use. */
const TOOL_CALLS = "tool-calls";

/** elizaOS knows one word for an answer that was cut short, whatever the limit was; it outranks the calls before it. */
export function finishReasonOf({ finishReason, toolCalls }: GenerationResult): string {
  if (finishReason === "context") return "length";
  return finishReason === "stop" && toolCalls !== undefined ? TOOL_CALLS : finishReason;
}

export interface ModelUsed {
  /** Model type of the request. */
  type: string;
  /** File name of the model, without directory. */
  model: string;
  prompt: string;
  tokens: { prompt: number; completion: number };
  /** All measurements of a text generation. */
  usage?: Usage;
}

/** Tells the agent what a request cost. Listeners cannot delay or fail the request. */
export function emitModelUsed(runtime: IAgentRuntime, used: ModelUsed): void {
  const { prompt, completion } = used.tokens;
  countRequest(runtime, used.type, used.tokens, used.usage);
  const { droppedMessages } = used.usage ?? {};
  if (droppedMessages !== undefined) {
    log("info", "The context was full: the oldest messages were left out.", { droppedMessages });
  }
  const event = {
    runtime,
    source: PLUGIN_NAME,
    provider: PLUGIN_NAME,
    type: used.type,
    model: used.model,
    modelName: used.model,
    prompt: used.prompt.slice(0, PROMPT_LIMIT),
    tokens: { prompt, completion, total: prompt + completion },
    ...(used.usage === undefined ? {} : { usage: used.usage }),
  };
  void (async () => runtime.emitEvent("MODEL_USED", event))().catch(() => {});
}

import type { GenerationResult, Usage } from "../engine/text/types.js";
import { present } from "../support/present.js";

/** The answer to a request of the 2.x form. */
export interface TextObject {
  text: string;
  toolCalls?: ToolCallObject[];
  finishReason: string;
  usage: TokenUsage;
}

/** A tool call as elizaOS 2 reads it. */
export interface ToolCallObject {
  id: string;
  name: string;
  /** The value of the call's JSON text: an object, unless the tool's `parameters` ask for something else. */
  arguments: unknown;
}

/** The counts elizaOS reads; the last field is of 2.x. */
export interface TokenUsage {
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
  cacheReadInputTokens: number;
  /** Of this plugin: messages that were left out so that the conversation fits; absent when there are none. */
  droppedMessages?: number;
}

export function textObject(result: GenerationResult): TextObject {
  return present({
    text: result.text,
    toolCalls: callObjects(result),
    finishReason: finishReasonOf(result),
    usage: tokenUsage(result.usage),
  });
}

/** The calls that can be made; undefined when there are none. Calls that a limit cut short show in the finish reason. */
export function callObjects({ toolCalls = [] }: GenerationResult): ToolCallObject[] | undefined {
  const whole = toolCalls.filter(({ problem }) => problem === undefined);
  if (whole.length === 0) return undefined;
  return whole.map(({ id, name, arguments: text }) => ({ id, name, arguments: JSON.parse(text) }));
}

/** Why an answer with tool calls ended, in the word of the AI SDK that elizaOS's own providers use. */
const TOOL_CALLS = "tool-calls";

/** elizaOS knows one word for an answer that was cut short, whatever the limit was; it outranks the calls before it. */
export function finishReasonOf({ finishReason, toolCalls }: GenerationResult): string {
  if (finishReason === "context") return "length";
  return finishReason === "stop" && toolCalls !== undefined ? TOOL_CALLS : finishReason;
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

import type { TokenLogprob, Usage } from "../native.js";
import type { Constraint } from "../structured/constraint.js";
import type { ToolCall, ToolCallDelta } from "../structured/tool-calls.js";

export type { Constraint, ToolCall, ToolCallDelta };

/** A chat message in the form of the OpenAI chat-completion API; it reaches the model's template unchanged. */
export interface ChatMessage {
  role: "system" | "user" | "assistant" | "tool";
  content: string | null;
  name?: string;
  tool_calls?: readonly { id?: string; type: "function"; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
  reasoning_content?: string;
}

/** A function the model may call, in the form of the OpenAI chat-completion API. */
export interface ChatTool {
  type: "function";
  function: { name: string; description?: string; parameters?: unknown; strict?: boolean };
}

/** How tokens are chosen. Everything is optional; the engine's default applies to what is undefined. */
export interface Sampling {
  /** Upper limit of generated tokens, 1 or more. Default: the room left in the context. */
  maxTokens?: number;
  /** The end of the answer is not accepted before this many tokens. Default 0. */
  minTokens?: number;
  /** 0 always takes the likeliest token. */
  temperature?: number;
  /** Nucleus sampling, 0 to 1; 1 is off. */
  topP?: number;
  /** Number of candidates; 0 is off. */
  topK?: number;
  /** Least probability relative to the likeliest token, 0 to 1; 0 is off. */
  minP?: number;
  /** Locally typical sampling, 0 to 1; 1 is off. */
  typicalP?: number;
  /** Divides the logits of tokens in the penalty window; 1 is off. */
  repetitionPenalty?: number;
  frequencyPenalty?: number;
  presencePenalty?: number;
  /** Tokens that the penalties look back on. */
  penaltyWindow?: number;
  /** Same seed and same request, same text. Default: random, reported in the usage. */
  seed?: number;
  dryMultiplier?: number;
  dryBase?: number;
  dryAllowedLength?: number;
  dryWindow?: number;
  drySequenceBreakers?: string[];
  xtcProbability?: number;
  xtcThreshold?: number;
  mirostat?: 0 | 1 | 2;
  mirostatTau?: number;
  mirostatEta?: number;
  logitBias?: { token: number; bias: number }[];
  /** Alternatives reported for each token, 0 to 20. Default: no log probabilities. */
  logprobs?: number;
  /** A GBNF grammar that the text must match. */
  grammar?: string;
  /** Do not stop at the model's end of answer. */
  ignoreEos?: boolean;
  /**
   * Drafts of several tokens that are verified together (docs/speculative.md): as the context is set up (`auto`, the
   * default), not at all, or windows of `min` to `max` tokens, 1 to 16 each, within those of the context. With
   * `adaptive: false` every step drafts `max`, for measuring.
   */
  speculative?: "off" | "auto" | { min: number; max: number; adaptive?: boolean };
}

/** One generation: either `messages`, rendered by the model's chat template, or a raw `prompt`. */
export interface GenerateRequest extends Sampling {
  messages?: readonly ChatMessage[];
  prompt?: string;
  /** Parse special tokens written in a raw prompt. Default false. */
  parseSpecial?: boolean;
  /** Sequences that end the text and are not part of it. */
  stop?: readonly string[];
  /** What the answer must match, reasoning aside; outranks `grammar` and `tools`. */
  constraint?: Constraint;
  /** Text that the answer begins with: the model continues it, and it is part of the result. */
  prefill?: string;
  tools?: readonly ChatTool[];
  toolChoice?: "auto" | "none" | "required";
  /** Let a model that can reason do so. Default: its template's own choice. */
  enableThinking?: boolean;
  /** A chat template that replaces the model's own. */
  template?: string;
  /** Variables for the template. */
  templateVariables?: Record<string, unknown>;
}

/** A stretch of the answer. Either text can be empty. */
export interface Piece {
  text: string;
  /** Text of the reasoning block, without its tags. */
  reasoning: string;
  /** Tokens that this piece stands for. */
  tokens: number;
  logprobs?: TokenLogprob[];
  /** What this piece adds to tool calls. */
  toolCalls?: ToolCallDelta[];
}

/**
 * Why a generation ended: the model or a stop sequence (`stop`), `maxTokens` (`length`), a full context (`context`),
 * or the reader left (`cancelled`).
 */
export type FinishReason = "stop" | "length" | "context" | "cancelled";

export interface GenerationResult {
  /** The answer, without reasoning and stop sequence. */
  text: string;
  reasoning: string;
  finishReason: FinishReason;
  /** The stop sequence that ended the text. */
  stopString?: string;
  usage: Usage;
  logprobs?: TokenLogprob[];
  /** Calls of the request's tools, in their order; absent when there are none. */
  toolCalls?: ToolCall[];
}

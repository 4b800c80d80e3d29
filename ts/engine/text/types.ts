import type { Usage as AddonUsage, TokenLogprob } from "../../native/addon.js";
import type { Constraint } from "./structured/constraint.js";
import type { ChatTool, ToolCall, ToolCallDelta } from "./structured/tool-types.js";

export type { ChatTool, Constraint, ToolCall, ToolCallDelta };

/** Who waits for an answer, the most urgent first. */
export const LANES = ["interactive", "normal", "background"] as const;
export type Lane = (typeof LANES)[number];

/** What happens when a request does not fit the context. */
export const CONTEXT_FULL = ["stop", "error", "truncate", "shift"] as const;
export type ContextFull = (typeof CONTEXT_FULL)[number];

/** Measurements of the engine. */
export interface Usage extends AddonUsage {
  /** Messages that were left out so that the conversation fits (`contextFull: "truncate"`); absent when there are none. */
  droppedMessages?: number;
}

/** A chat message in the form of the OpenAI chat-completion API; it reaches the model's template unchanged. */
export interface ChatMessage {
  role: "system" | "user" | "assistant" | "tool";
  content: string | null;
  name?: string;
  tool_calls?: readonly { id?: string; type: "function"; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
  reasoning_content?: string;
}

/** A conversation for {@link LocalModel.renderChat}, as JSON text where the chat template reads JSON. */
export interface ChatInput {
  /** An array of {@link ChatMessage}. */
  messagesJson: string;
  /** An array of {@link ChatTool}. */
  toolsJson?: string;
  /** Whether the model may, must not or must call one of the tools. Default `auto`. */
  toolChoice?: "auto" | "none" | "required";
  /** End the prompt with the beginning of an answer. Default true. */
  addGenerationPrompt?: boolean;
  /** Let a model that can reason do so. Default true. */
  enableThinking?: boolean;
  /** A chat template that replaces the model's own. */
  template?: string;
  /** An object with variables for the template. */
  templateKwargsJson?: string;
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
  /**
   * The same seed and request give the same text. Default: random, and reported in the usage. That seed does not reproduce
   * the text if a drafter drafted tokens by sampling, which it does only for requests without a seed.
   */
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
   * Whether tokens are drafted and verified several at a time (docs/speculative.md): as the context is set up (`auto`, the
   * default), not at all, or in windows of `min` to `max` tokens, 1 to 16 each, within those of the context. With
   * `adaptive: false` every step drafts `max`, for measuring.
   */
  speculative?: "off" | "auto" | { min: number; max: number; adaptive?: boolean };
}

/** How a request shares the model with others (docs/concurrency.md). */
export interface Sharing {
  /**
   * `interactive`: a person waits; `background`: nobody waits, and the scheduler parks the request for others. Default
   * `normal`. Waiting requests start by lane, then by age; none starves.
   */
  lane?: Lane;
  /** Longest wait for a start in milliseconds, up to a day; then `QUEUE_TIMEOUT`. Default: the context's. */
  queueTimeoutMs?: number;
  /**
   * Name of 1 to 1,024 bytes under which the KV cache is stored when the context has a `state` folder; the next request
   * of the same name starts from there, also after a restart.
   */
  conversation?: string;
  /**
   * When the context is full: `stop` ends the answer with finish reason `context` (the default); `error` ends it with
   * `CONTEXT_OVERFLOW`; `shift` drops half of the tokens after the first `keepTokens` and goes on (`UNSUPPORTED` for models
   * with sliding windows or recurrent state); `truncate` leaves out the oldest messages before the request starts. A prompt
   * that does not fit is refused with `CONTEXT_OVERFLOW` in every case.
   */
  contextFull?: ContextFull;
  /** Tokens at the beginning that `shift` keeps. Default: those of the system message. */
  keepTokens?: number;
  /**
   * Tokens that `truncate` leaves for the answer. Default: `maxTokens`, at most half of the context; without `maxTokens`
   * a quarter, at most 1,024.
   */
  reserveTokens?: number;
}

/** One generation: either `messages`, rendered by the model's chat template, or a raw `prompt`. */
export interface GenerateRequest extends Sampling, Sharing {
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
  /** Calls of the request's tools, in their order; absent when there are none. See {@link ToolCall.problem}. */
  toolCalls?: ToolCall[];
}

import type { TokenLogprob, Usage } from "../native.js";

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
}

/** One generation: either `messages`, rendered by the model's chat template, or a raw `prompt`. */
export interface GenerateRequest extends Sampling {
  messages?: readonly ChatMessage[];
  prompt?: string;
  /** Parse special tokens written in a raw prompt. Default false. */
  parseSpecial?: boolean;
  /** Sequences that end the text and are not part of it. */
  stop?: readonly string[];
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
}

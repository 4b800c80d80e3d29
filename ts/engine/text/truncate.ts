import { LocalInferenceError } from "../../errors.js";
import { droppable, withoutOldest } from "./turns.js";
import type { ChatMessage, GenerateRequest } from "./types.js";

/** Most tokens reserved for an answer without `maxTokens`. */
const USUAL_ANSWER = 1024;

export interface Truncated {
  readonly messages: readonly ChatMessage[];
  /** Messages that were left out. */
  readonly dropped: number;
}

/** Tokens that a prompt must leave for the answer, and for at least one. */
export function reserveOf({ reserveTokens, maxTokens }: GenerateRequest, contextSize: number): number {
  const half = Math.floor(contextSize / 2);
  const usual = maxTokens === undefined ? Math.min(USUAL_ANSWER, Math.floor(half / 2)) : maxTokens;
  return Math.max(1, Math.min(reserveTokens ?? usual, half));
}

/** Tokens of a context, and how many of them the prompt should take at most. */
export interface Room {
  readonly contextSize: number;
  readonly prompt: number;
}

/**
 * Leaves out the oldest messages until the prompt leaves room for the answer; as few as possible. Messages that must stay
 * are sent even if they leave less room than that.
 *
 * @param count Tokens of the prompt that the model's template makes of messages.
 * @throws LocalInferenceError `CONTEXT_OVERFLOW` when the messages that must stay fill the context.
 */
export async function truncated(
  messages: readonly ChatMessage[],
  room: Room,
  count: (messages: readonly ChatMessage[]) => Promise<number>,
): Promise<Truncated> {
  const stretches = droppable(messages);
  const without = (dropped: number) => withoutOldest(messages, stretches, dropped);
  const fits = async (dropped: number) => (await count(without(dropped))) <= room.prompt;
  if (await fits(0)) return { messages, dropped: 0 };
  const tokens = await count(without(stretches.length));
  if (tokens >= room.contextSize) throw overflow(tokens, room.contextSize);
  // Fewer messages have fewer tokens, so the smallest number that fits is found by halving.
  let [tooFew, enough] = [0, stretches.length];
  while (enough - tooFew > 1) {
    const middle = Math.floor((tooFew + enough) / 2);
    if (await fits(middle)) enough = middle;
    else tooFew = middle;
  }
  const rest = without(enough);
  return { messages: rest, dropped: messages.length - rest.length };
}

function overflow(tokens: number, contextSize: number): LocalInferenceError {
  return new LocalInferenceError(
    "CONTEXT_OVERFLOW",
    `The system text and the last message have ${tokens} tokens, and the context holds ${contextSize}, the answer included.`,
    { hint: "Shorten the last message, or use a larger context.", reason: "invalid_input" },
  );
}

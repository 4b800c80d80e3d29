import type { ChatMessage } from "./types.js";

/**
 * The stretches of a conversation that can be left out, the oldest first; each is a list of indices.
 *
 * System messages and everything from the last user message on stay. A turn goes as a whole: a user message with the
 * answers to it. When no turn is left, rounds of tool calls behind the last user message go, each call with its results;
 * the last round stays, because the model is about to read it.
 */
export function droppable(messages: readonly ChatMessage[]): number[][] {
  const lastUser = messages.findLastIndex(({ role }) => role === "user");
  const turns: number[][] = [];
  const rounds: number[][] = [];
  messages.forEach(({ role }, index) => {
    if (role === "system" || index === lastUser) return;
    const groups = index < lastUser ? turns : rounds;
    const begins = index < lastUser ? role === "user" : role === "assistant";
    const group = groups.at(-1);
    if (group === undefined || begins) groups.push([index]);
    else group.push(index);
  });
  return [...turns, ...rounds.slice(0, -1)];
}

/** The conversation without its first `count` stretches. */
export function withoutOldest(
  messages: readonly ChatMessage[],
  stretches: readonly (readonly number[])[],
  count: number,
): ChatMessage[] {
  const dropped = new Set(stretches.slice(0, count).flat());
  return messages.filter((_, index) => !dropped.has(index));
}

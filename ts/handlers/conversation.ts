import type { ChatMessage } from "../engine/text/types.js";
import { stableFirst } from "./request/prompt.js";
import type { Question } from "./request/text.js";

/**
 * The messages that a model is sent. The character's system text stands in front of prompts; messages come with their own.
 *
 * @param system The request's own system text; an empty one leaves out the character's.
 */
export function conversationFor(
  question: Question,
  system: string | undefined,
  characterSystem: string | undefined,
): ChatMessage[] {
  if (question.messages !== undefined) return withSystem(question.messages, system);
  const user: ChatMessage = { role: "user", content: stableFirst(question.prompt) };
  return withSystem([user], system ?? characterSystem);
}

function withSystem(messages: readonly ChatMessage[], system: string | undefined): ChatMessage[] {
  if (!system) return [...messages];
  const [first, ...rest] = messages;
  if (first?.role !== "system") return [{ role: "system", content: system }, ...messages];
  if (first.content === system) return [...messages];
  // Many templates accept one system message only.
  return [{ ...first, content: `${system}\n\n${first.content ?? ""}` }, ...rest];
}

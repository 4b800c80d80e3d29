import type { ChatMessage, GenerateRequest } from "./types.js";

/** The beginning that later requests share: a conversation so far, or a raw prompt. */
export type PrewarmRequest = Pick<
  GenerateRequest,
  | "messages"
  | "prompt"
  | "parseSpecial"
  | "tools"
  | "toolChoice"
  | "enableThinking"
  | "template"
  | "templateVariables"
  | "lane"
  | "queueTimeoutMs"
>;

/** Two beginnings of a message that no text continues alike. */
const PROBES = ["A", "1"] as const;

/**
 * The part of a rendered prompt that stays the same whatever the user says next. Templates put text behind the last
 * message and sometimes in front of the first one, so the prompt of the beginning alone would not be it.
 */
export async function commonBeginning(
  messages: readonly ChatMessage[],
  render: (messages: readonly ChatMessage[]) => Promise<string>,
): Promise<string> {
  const [one, other] = await Promise.all(
    PROBES.map((content) => render([...messages, { role: "user", content }])),
  );
  return shared(one ?? "", other ?? "");
}

function shared(one: string, other: string): string {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return one.slice(0, length);
}

import type { ChatMessage, GenerateRequest } from "./types.js";

/** The beginning that later requests have in common: a conversation so far, or a raw prompt. */
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

/** Two messages that have no beginning in common, so that rendered prompts differ from where the message stands. */
const PROBES = ["A", "1"] as const;

/**
 * The part of a rendered prompt that stays the same whatever the user says next. Rendering the beginning alone would not
 * give it: templates put text behind the last message, and sometimes in front of the first one.
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

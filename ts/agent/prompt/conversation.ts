import type { Block } from "./blocks.js";
import { type Drawn, withFirstNames } from "./drawn.js";
import { lengthAt } from "./match.js";
import type { ProviderResult } from "./state.js";

/** What the formatted messages of a conversation were made from. */
interface Message {
  readonly entityId?: unknown;
  readonly createdAt?: unknown;
  readonly content?: { readonly text?: unknown };
}

/**
 * The blocks of bootstrap's RECENT_MESSAGES: the conversation, which only grows, and what belongs to this message. A text of
 * another form is one block.
 */
export function conversationBlocks(drawn: Drawn, result: ProviderResult, text: string): Block[] {
  const { recentMessages, recentPosts, recentActionResults } = result.values;
  const conversation = [recentMessages, recentPosts].find(
    (value): value is string =>
      typeof value === "string" && value !== "" && lengthAt(text, 0, value) !== undefined,
  );
  if (conversation === undefined) return [{ name: result.name, text, changes: "turn" }];
  const length = lengthAt(text, 0, conversation) ?? 0;
  const blocks: Block[] = [
    {
      name: result.name,
      text: withFixedTimes(withFirstNames(drawn, text.slice(0, length), conversation), result),
      changes: "conversation",
    },
  ];
  let rest = text.slice(length).replace(/^\n+/, "");
  if (typeof recentActionResults === "string" && recentActionResults !== "") {
    const results = lengthAt(rest, 0, recentActionResults) ?? 0;
    blocks.push({ name: "action results", text: rest.slice(0, results), changes: "turn" });
    rest = rest.slice(results).replace(/^\n+/, "");
  }
  blocks.push({ name: "received message", text: rest, changes: "turn" });
  return blocks.filter((block) => block.text !== "");
}

/**
 * Replaces the age of each message (`just now`, `2 hours ago`), which changes by itself, by its date, which does not: the time
 * of day stands before it, and the prompt says what time it is. Only what elizaOS wrote in front of a message that it holds is
 * replaced, never a line in a message.
 */
export function withFixedTimes(text: string, { data }: ProviderResult): string {
  const { recentMessages } = data;
  if (!Array.isArray(recentMessages)) return text;
  const messages = (recentMessages as Message[]).filter(({ entityId }) => Boolean(entityId));
  let result = "";
  let at = 0;
  for (const message of inTextOrder(messages, text)) {
    const head = headOf(message, text, at);
    if (head === undefined) continue;
    result += text.slice(at, head.from) + head.date;
    at = head.to;
    // Lines of the message itself may look like the beginning of another one.
    const body = typeof message.content?.text === "string" ? message.content.text : "";
    const start = text.indexOf(`: ${body}`, at);
    if (body === "" || start < 0) continue;
    result += text.slice(at, start + 2 + body.length);
    at = start + 2 + body.length;
  }
  return result + text.slice(at);
}

/** Formatting turns the list around in place: which end comes first is told by the text. */
function inTextOrder(messages: readonly Message[], text: string): readonly Message[] {
  const reversed = [...messages].reverse();
  const [first] = messages;
  const [last] = reversed;
  if (first === undefined || last === undefined) return [];
  const place = (message: Message) => headOf(message, text, 0)?.from ?? Number.POSITIVE_INFINITY;
  return place(first) <= place(last) ? messages : reversed;
}

interface Head {
  /** Where the age stands. */
  readonly from: number;
  readonly to: number;
  readonly date: string;
}

/** `14:05 (2 minutes ago) [id]` at the beginning of a line. */
function headOf({ entityId, createdAt }: Message, text: string, from: number): Head | undefined {
  const date = new Date(Number(createdAt) || 0);
  const time = `${two(date.getHours())}:${two(date.getMinutes())} (`;
  const id = `) [${String(entityId)}]`;
  for (let at = text.indexOf(time, from); at >= 0; at = text.indexOf(time, at + 1)) {
    if (at > 0 && text[at - 1] !== "\n") continue;
    const start = at + time.length;
    const end = text.indexOf(id, start);
    if (end < 0) return undefined;
    if (AGE.test(text.slice(start, end))) return { from: start, to: end, date: dateText(date) };
  }
  return undefined;
}

const AGE = /^(?:just now|\d+ (?:minute|hour|day)s? ago)$/;

function dateText(date: Date): string {
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}

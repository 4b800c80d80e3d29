import type { ChatMessage } from "../../engine/text/types.js";
import { invalidInput, unavailable } from "../../errors.js";
import { present } from "../../support/present.js";
import { given, isRecord } from "../../support/records.js";
import { type Params, stringOf } from "./fields.js";

const ROLES: Readonly<Record<string, ChatMessage["role"]>> = {
  system: "system",
  developer: "system",
  user: "user",
  assistant: "assistant",
  tool: "tool",
};

/** The messages of a chat request, or undefined when there are none. */
export function readMessages({ messages }: Params): ChatMessage[] | undefined {
  if (messages === undefined || messages === null) return undefined;
  if (!Array.isArray(messages)) throw invalidInput("messages must be an array.");
  return messages.length === 0 ? undefined : messages.map(readMessage);
}

/** @throws LocalInferenceError `LOCAL_INFERENCE_UNAVAILABLE` for media beside the prompt: no model here reads them. */
export function refuseAttachments({ attachments }: Params): void {
  if (!given(attachments)) return;
  throw unavailable("capability_unavailable", "Local text generation does not support attachments.");
}

function readMessage(message: unknown, index: number): ChatMessage {
  const where = `messages[${index}]`;
  if (!isRecord(message)) throw invalidInput(`${where} must be an object.`);
  const role = ROLES[String(message.role)];
  if (role === undefined) throw invalidInput(`${where}.role ${JSON.stringify(message.role)} is not known.`);
  return present({
    role,
    content: readContent(message.content, where),
    name: stringOf(message.name),
    tool_call_id: stringOf(message.toolCallId ?? message.tool_call_id),
    tool_calls: readToolCalls(message.toolCalls ?? message.tool_calls, where),
  }) as ChatMessage;
}

/**
 * The content of a message: a text, or parts whose texts are joined. The one place that decides which parts a request may
 * have.
 */
function readContent(content: unknown, where: string): string {
  if (content === undefined || content === null) return "";
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) throw invalidInput(`${where}.content must be a string or an array of parts.`);
  return content.map((part) => readPart(part, where)).join("");
}

function readPart(part: unknown, where: string): string {
  if (typeof part === "string") return part;
  if (isRecord(part) && typeof part.text === "string") return part.text;
  const type = isRecord(part) ? String(part.type) : typeof part;
  throw unavailable(
    "capability_unavailable",
    `Local text generation does not read ${type} parts (${where}).`,
  );
}

function readToolCalls(calls: unknown, where: string): ChatMessage["tool_calls"] {
  if (!given(calls)) return undefined;
  if (!Array.isArray(calls)) throw invalidInput(`${where}.toolCalls must be an array.`);
  return calls.map((call: unknown) => {
    const body = isRecord(call) && isRecord(call.function) ? call.function : call;
    if (!isRecord(body) || typeof body.name !== "string") {
      throw invalidInput(`${where}.toolCalls needs a name for each call.`);
    }
    const { arguments: args = {} } = body;
    const id = isRecord(call) ? stringOf(call.id) : undefined;
    const text = typeof args === "string" ? args : JSON.stringify(args);
    return present({ id, type: "function" as const, function: { name: body.name, arguments: text } });
  });
}

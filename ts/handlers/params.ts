import { samplingOf } from "../engine/text/request.js";
import type { ChatMessage, ChatTool, GenerateRequest } from "../engine/text/types.js";
import { invalidInput, unavailable } from "../errors.js";
import { present } from "../support/present.js";
import { stableFirst } from "./segments.js";

/**
 * The parameters of a text request: those of elizaOS 1.7 and the ones that 2.x adds. Values come from callers and from
 * agent settings, so nothing is taken for granted; the object may be frozen.
 */
export type TextParams = Readonly<Record<string, unknown>>;

const ROLES: Readonly<Record<string, ChatMessage["role"]>> = {
  system: "system",
  developer: "system",
  user: "user",
  assistant: "assistant",
  tool: "tool",
};

/** Messages of a chat request, or undefined when there are none. */
export function messagesOf(params: TextParams): ChatMessage[] | undefined {
  const { messages } = params;
  if (messages === undefined || messages === null) return undefined;
  if (!Array.isArray(messages)) throw invalidInput("messages must be an array.");
  return messages.length === 0 ? undefined : messages.map(chatMessage);
}

/** The conversation: `messages`, or the prompt behind the system text. */
export function conversationOf(params: TextParams, characterSystem: string | undefined): ChatMessage[] {
  const system = optionalString(params, "system");
  const messages = messagesOf(params);
  if (messages !== undefined) return withSystem(messages, system);
  const user: ChatMessage = { role: "user", content: promptText(params) };
  return withSystem([user], system ?? characterSystem);
}

export function promptOf(params: TextParams): string {
  const { prompt } = params;
  if (typeof prompt !== "string") throw invalidInput("A text request needs a prompt or messages.");
  return prompt;
}

/** The prompt of a chat, with the parts in front that every prompt of its kind has. */
export function promptText(params: TextParams): string {
  return stableFirst(promptOf(params), params.promptSegments);
}

/** Everything but the conversation and the form of the answer: sampling, stop sequences, tools. */
export function optionsOf(params: TextParams): Omit<GenerateRequest, "messages" | "prompt"> {
  rejectUnsupported(params);
  const sampling = samplingOf(params);
  if (params.omitMaxTokens === true) delete sampling.maxTokens;
  // The form of the answer is structureOf's to find.
  delete sampling.grammar;
  return present({ ...sampling, stop: stopsOf(params), ...toolsOf(params) });
}

/** Whether the caller expects the object form of 2.x instead of a string. */
export function wantsObject(params: TextParams): boolean {
  return ["messages", "tools", "toolChoice", "responseSchema"].some((key) => given(params[key]));
}

/** What cannot be honoured is refused rather than ignored. */
function rejectUnsupported(params: TextParams): void {
  if (!given(params.attachments)) return;
  throw unavailable("capability_unavailable", "Local text generation does not support attachments.");
}

function withSystem(messages: ChatMessage[], system: string | undefined): ChatMessage[] {
  if (!system) return messages;
  const [first, ...rest] = messages;
  if (first?.role !== "system") return [{ role: "system", content: system }, ...messages];
  if (first.content === system) return messages;
  // Many templates accept one system message only.
  return [{ ...first, content: `${system}\n\n${first.content ?? ""}` }, ...rest];
}

function chatMessage(message: unknown, index: number): ChatMessage {
  const where = `messages[${index}]`;
  if (!isRecord(message)) throw invalidInput(`${where} must be an object.`);
  const role = ROLES[String(message.role)];
  if (role === undefined) throw invalidInput(`${where}.role ${JSON.stringify(message.role)} is not known.`);
  return present({
    role,
    content: contentOf(message.content, where),
    name: typeof message.name === "string" ? message.name : undefined,
    tool_call_id: stringOf(message.toolCallId ?? message.tool_call_id),
    tool_calls: toolCallsOf(message.toolCalls ?? message.tool_calls, where),
  }) as ChatMessage;
}

function contentOf(content: unknown, where: string): string {
  if (content === undefined || content === null) return "";
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) throw invalidInput(`${where}.content must be a string or an array of parts.`);
  return content.map((part) => partText(part, where)).join("");
}

function partText(part: unknown, where: string): string {
  if (typeof part === "string") return part;
  if (isRecord(part) && typeof part.text === "string") return part.text;
  const type = isRecord(part) ? String(part.type) : typeof part;
  throw unavailable(
    "capability_unavailable",
    `Local text generation does not read ${type} parts (${where}).`,
  );
}

function toolCallsOf(calls: unknown, where: string): ChatMessage["tool_calls"] {
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

function toolsOf(params: TextParams): Pick<GenerateRequest, "tools" | "toolChoice"> {
  if (!given(params.tools)) return {};
  if (!Array.isArray(params.tools)) throw invalidInput("tools must be an array.");
  const tools = params.tools.map(chatTool);
  const { toolChoice = "auto" } = params;
  if (toolChoice === "auto" || toolChoice === "none" || toolChoice === "required")
    return { tools, toolChoice };
  const name = namedTool(toolChoice);
  const chosen = tools.filter((tool) => tool.function.name === name);
  if (chosen.length === 0)
    throw invalidInput(`toolChoice ${JSON.stringify(toolChoice)} names none of the tools.`);
  return { tools: chosen, toolChoice: "required" };
}

function chatTool(tool: unknown, index: number): ChatTool {
  const body = isRecord(tool) && isRecord(tool.function) ? tool.function : tool;
  if (!isRecord(body) || typeof body.name !== "string") throw invalidInput(`tools[${index}] needs a name.`);
  const { name, description, parameters } = body;
  return {
    type: "function",
    function: present({ name, description: stringOf(description), parameters: parameters ?? undefined }),
  };
}

function namedTool(choice: unknown): string | undefined {
  if (!isRecord(choice)) return undefined;
  return stringOf(isRecord(choice.function) ? choice.function.name : (choice.name ?? choice.toolName));
}

function stopsOf(params: TextParams): string[] | undefined {
  const { stopSequences } = params;
  if (!given(stopSequences)) return undefined;
  if (!Array.isArray(stopSequences) || stopSequences.some((stop) => typeof stop !== "string")) {
    throw invalidInput("stopSequences must be an array of strings.");
  }
  return stopSequences.filter((stop) => stop !== "");
}

function optionalString(params: TextParams, key: string): string | undefined {
  const value = params[key];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") throw invalidInput(`${key} must be a string.`);
  return value;
}

function stringOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Set to something that asks for something: empty lists do not. */
function given(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

import { type Block, inOrder, isLasting, mostOften } from "./blocks.js";
import { withFixedTimes } from "./conversation.js";
import { undrawnValue } from "./drawn.js";
import { VARIABLE_CHANGES } from "./known.js";
import { matchTemplate, type Stretch } from "./match.js";
import { type Memory, providerBlocks } from "./providers.js";
import { type Section, sectionsOf } from "./sections.js";
import type { MessageState } from "./state.js";
import type { Template } from "./template.js";

/** A prompt in the order in which its parts change. */
export interface LaidOut {
  /** The template that it was made from. */
  readonly template: string;
  readonly text: string;
  /** What stays the same for this agent and template: the beginning of `text`. */
  readonly head: string;
  readonly blocks: readonly Block[];
  /** The room that the message was said in; empty when the prompt is about none. */
  readonly room: string;
  /** Names of the actions that are possible for the message; undefined when the runtime does not say. */
  readonly actions?: readonly string[] | undefined;
}

/** The variable whose value is the text of several providers. */
const PROVIDERS = "providers";

/** The line at the end: small models follow what they read last. */
function question(text: string): string {
  const form = text.includes("<response>") ? ", beginning with <response>" : "";
  return `Now do what the task at the beginning asks, in the form given there${form}.`;
}

/**
 * Puts the parts of a prompt in the order in which they change, each whole and none left out: the template's own text, what
 * is the same for this agent, what belongs to the room, the conversation, and what is new.
 *
 * @returns undefined for a prompt that was not made from this template with what the runtime holds for the message.
 */
export function layOut(
  prompt: string,
  template: { readonly name: string; readonly parts: Template },
  state: MessageState,
  memory: Memory,
): LaidOut | undefined {
  const stretches = matchTemplate(template.parts, prompt, state.values);
  if (stretches === undefined) return undefined;
  const room = roomOf(state);
  const parts: (Block | Enclosed)[] = [];
  for (const section of sectionsOf(stretches)) {
    const made = partsOf(section, state, room, memory);
    if (made === undefined) return undefined;
    parts.push(...made);
  }
  return { ...assembled(template.name, parts, room), actions: actionNames(state) };
}

/** Providers inside a tag of the template: their order changes within it. */
interface Enclosed {
  readonly before: string;
  readonly blocks: readonly Block[];
  readonly after: string;
}

function partsOf(
  { stretches }: Section,
  state: MessageState,
  room: string,
  memory: Memory,
): (Block | Enclosed)[] | undefined {
  const at = stretches.findIndex(({ variable }) => variable === PROVIDERS);
  const value = stretches[at];
  if (value === undefined) return [blockOf(stretches, state, room, memory)];
  const blocks = providerBlocks(value.text, state, room, memory);
  if (blocks === undefined) return undefined;
  const [before, after] = [textOf(stretches.slice(0, at)), textOf(stretches.slice(at + 1))];
  return before === "" && after === "" ? blocks : [{ before, blocks, after }];
}

function blockOf(stretches: readonly Stretch[], state: MessageState, room: string, memory: Memory): Block {
  const variables = stretches.flatMap(({ variable }) => variable ?? []);
  const name = variables.join(", ");
  const text = stretches.map((stretch) => valueText(stretch, state, memory)).join("");
  if (variables.length === 0) return { name: "", text, changes: "template" };
  const known = variables.map((variable) => VARIABLE_CHANGES[variable] ?? "turn");
  return { name, text, changes: memory.watch.judge(room, name, text, mostOften(known)) };
}

function valueText({ text, variable }: Stretch, state: MessageState, { drawn }: Memory): string {
  if (variable === undefined) return text;
  const conversation = state.results.get("RECENT_MESSAGES");
  if (variable === "recentMessages" && conversation !== undefined) return withFixedTimes(text, conversation);
  return undrawnValue(drawn, variable, state, text);
}

function assembled(template: string, parts: readonly (Block | Enclosed)[], room: string): LaidOut {
  const loose = parts.filter((part): part is Block => "changes" in part);
  const enclosed = parts.filter((part): part is Enclosed => "before" in part);
  const lasting = inOrder(loose.filter(isLasting));
  const passing = inOrder(loose.filter((block) => !isLasting(block)));
  const inside = enclosed.map((part) => ({ ...part, blocks: inOrder(part.blocks) }));
  const head = [
    ...lasting.map(({ text }) => text),
    ...inside.slice(0, 1).map(({ before, blocks }) => before + joined(blocks.filter(isLasting))),
  ].join("\n\n");
  const whole = [
    ...lasting.map((block) => block.text),
    ...inside.map(({ before, blocks, after }) => before + joined(blocks) + after),
    ...passing.map((block) => block.text),
  ].join("\n\n");
  const text = `${whole}\n\n${question(lasting.map((block) => block.text).join())}`;
  const blocks = [...lasting, ...inside.flatMap((part) => part.blocks), ...passing];
  return { template, text, head, blocks, room };
}

function joined(blocks: readonly Block[]): string {
  return blocks.map(({ text }) => text).join("\n");
}

function textOf(stretches: readonly Stretch[]): string {
  return stretches.map(({ text }) => text).join("");
}

function actionNames({ results }: MessageState): string[] | undefined {
  const actions = results.get("ACTIONS")?.data.actionsData;
  return Array.isArray(actions) ? actions.map((action) => String(action?.name)) : undefined;
}

/** Two rooms do not share what changes; a prompt without messages belongs to none. */
function roomOf({ results }: MessageState): string {
  const messages = results.get("RECENT_MESSAGES")?.data.recentMessages;
  const room: unknown = Array.isArray(messages) ? messages[0]?.roomId : undefined;
  return typeof room === "string" ? room : "";
}

import { isRecord } from "../../support/records.js";
import { drawnNames, named } from "./match.js";
import type { MessageState, ProviderResult } from "./state.js";

/**
 * Texts that elizaOS draws anew for each message: the order of lists, examples, the names in them. The first draw for the
 * same content is used again for as long as that content stays.
 */
export class Drawn {
  readonly #first: Map<string, string>;

  /** @param kept What {@link Drawn.entries} gave before. */
  constructor(kept: Iterable<readonly [string, string]> = []) {
    this.#first = new Map(kept);
  }

  /** Grows with each draw that is remembered. */
  get size(): number {
    return this.#first.size;
  }

  /** The text that was drawn first for this content. */
  first(content: readonly unknown[], text: string): string {
    const key = JSON.stringify(content);
    const first = this.#first.get(key);
    if (first !== undefined) return first;
    if (this.#first.size >= MOST) this.#first.delete(this.#first.keys().next().value ?? "");
    this.#first.set(key, text);
    return text;
  }

  entries(): [string, string][] {
    return [...this.#first];
  }
}

/** A text in which elizaOS has put drawn names for placeholders, with the names that were drawn first. */
export function withFirstNames(drawn: Drawn, text: string, value: string): string {
  const names = drawnNames(text, value);
  return names.length === 0
    ? text
    : named(value, (placeholder, index) => drawn.first(["name", placeholder], names[index] ?? placeholder));
}

/** Draws remembered: more than a character with its actions and rooms needs. */
const MOST = 512;

/** The text of a provider with its draws made once; a provider that draws nothing keeps its text. */
export function undrawn(drawn: Drawn, result: ProviderResult, state: MessageState, text: string): string {
  switch (result.name) {
    case "CHARACTER":
      return drawn.first(["CHARACTER", ...characterContent(result)], text);
    case "ACTIONS":
      return actionsText(drawn, result, text);
    case "EVALUATORS":
      return drawn.first(["EVALUATORS", result.values.evaluatorNames, result.values.evaluators], text);
    case "ANXIETY":
      return drawn.first(["ANXIETY", channelOf(state)], text);
    default:
      return text;
  }
}

/** The value of a variable that a template names itself, with its draws made once. */
export function undrawnValue(drawn: Drawn, name: string, state: MessageState, text: string): string {
  const actions = state.results.get("ACTIONS");
  const character = state.results.get("CHARACTER");
  if (name === "actionNames" && actions !== undefined) return namesInOrder(actions, text);
  if (name === "actionsWithDescriptions" && actions !== undefined) return listInOrder(actions, text);
  if (name === "actionExamples" && actions !== undefined) return examplesOf(drawn, actions, text);
  if (name === "evaluationExamples") return drawn.first([name, state.values.evaluatorNames], text);
  if (character !== undefined && DRAWN_OF_CHARACTER.has(name)) {
    return drawn.first([name, ...characterContent(character)], text);
  }
  return text;
}

const DRAWN_OF_CHARACTER: ReadonlySet<string> = new Set([
  "bio",
  "topics",
  "examples",
  "characterMessageExamples",
  "characterPostExamples",
]);

/** Everything that the text of a character is drawn from. */
function characterContent({ data, values }: ProviderResult): unknown[] {
  const character = isRecord(data.character) ? data.character : {};
  const { name, bio, adjectives, topics, messageExamples, postExamples, style, system } = character;
  const lists = [bio, adjectives, topics, messageExamples, postExamples].map(unordered);
  // Posts and messages have other directions and examples.
  return [name, ...lists, style, system, values.directions, values.examples === values.characterPostExamples];
}

/** Shuffling sorts these lists in place. */
function unordered(list: unknown): unknown {
  return Array.isArray(list) ? list.map((item) => JSON.stringify(item)).sort() : list;
}

function actionsText(drawn: Drawn, result: ProviderResult, text: string): string {
  const { actionNames, actionsWithDescriptions, actionExamples } = result.values;
  const parts = [actionNames, actionsWithDescriptions, actionExamples].filter(
    (part): part is string => typeof part === "string" && part !== "",
  );
  if (result.text !== parts.join("\n\n")) return text;
  const [names = "", list, examples] = [
    namesInOrder(result, String(actionNames ?? "")),
    listInOrder(result, String(actionsWithDescriptions ?? "")),
    examplesOf(drawn, result, String(actionExamples ?? "")),
  ];
  return [names, list, examples].filter((part) => part !== "").join("\n\n");
}

interface ActionFacts {
  readonly name: string;
  readonly description: string;
}

function actionsOf({ data }: ProviderResult): ActionFacts[] {
  const { actionsData } = data;
  if (!Array.isArray(actionsData)) return [];
  return actionsData.map((action) => ({
    name: String(action?.name),
    description: action?.description || "No description available",
  }));
}

/** The names in the order in which the agent has its actions; a text of another form stays as it is. */
function namesInOrder(result: ProviderResult, text: string): string {
  const names = actionsOf(result).map(({ name }) => name);
  const start = text.indexOf(": ") + 2;
  const listed = text.slice(start);
  return isShuffled(listed, names, ", ") ? text.slice(0, start) + names.join(", ") : text;
}

function listInOrder(result: ProviderResult, text: string): string {
  const items = actionsOf(result).map(({ name, description }) => `- **${name}**: ${description}`);
  const start = text.indexOf("\n") + 1;
  const end = text.length - (text.endsWith("\n") ? 1 : 0);
  const listed = text.slice(start, end);
  return isShuffled(listed, items, "\n") ? text.slice(0, start) + items.join("\n") + text.slice(end) : text;
}

function examplesOf(drawn: Drawn, result: ProviderResult, text: string): string {
  return drawn.first(["actionExamples", actionsOf(result)], text);
}

/** Whether a list holds these items and nothing else, in any order. Items may contain the separator. */
function isShuffled(listed: string, items: readonly string[], separator: string): boolean {
  if (items.length === 0 || listed.length !== items.join(separator).length) return false;
  const pieces = (texts: readonly string[]) => texts.join(separator).split(separator).sort().join(separator);
  return pieces(items) === pieces([listed]);
}

/** The kind of conversation that the latest message belongs to. */
function channelOf({ results }: MessageState): unknown[] {
  const messages = results.get("RECENT_MESSAGES")?.data.recentMessages;
  const contents = Array.isArray(messages) ? messages.map((message) => message?.content?.channelType) : [];
  return [...new Set(contents.filter((type) => typeof type === "string"))].sort();
}

import { type Part, partsConstraint } from "../../engine/text/structured/constraint.js";
import type { Structured } from "../../engine/text/structured/structure.js";

/**
 * How far a reply template binds a model: `actions` lets it choose among the agent's actions and providers, `reply` has
 * it answer with text and nothing else. Small models choose actions at random.
 */
export type TemplateMode = "actions" | "reply";

/**
 * What an agent can choose among. It comes from the agent, never from a prompt: what strangers write stands in there, too.
 */
export interface Offered {
  readonly actions: readonly string[];
  readonly providers: readonly string[];
}

/** Characters at the end of a prompt in which its output template stands. */
const END = 2_500;
/** Longest thought in characters: a small model may not find the end of one. */
const LONGEST_THOUGHT = 600;
const MOST_NAMES = 4;
const NAMES = /^[A-Za-z][\w-]*$/;

interface Field {
  readonly name: string;
  readonly example: string;
  /** Blanks between the tag before and this one. */
  readonly gap: string;
}

/**
 * The form that an elizaOS prompt asks for by an XML example at its end: `<response>` with one tag for each field. Names
 * and order, and the blanks between them, are the example's.
 */
export function templateStructure(
  prompt: string,
  mode: TemplateMode,
  offered: Offered = { actions: [], providers: [] },
): Structured | undefined {
  const template = templateOf(prompt);
  if (template === undefined) return undefined;
  const { fields, gap } = template;
  const parts: Part[] = [];
  for (const [index, field] of fields.entries()) {
    parts.push({ type: "literal", text: `${index === 0 ? "<response>" : ""}${field.gap}<${field.name}>` });
    parts.push(...contentOf(field, fields, mode, offered));
  }
  parts.push({ type: "literal", text: `${gap}</response>` });
  return { constraint: partsConstraint(parts) };
}

function contentOf(field: Field, fields: readonly Field[], mode: TemplateMode, offered: Offered): Part[] {
  const until = `</${field.name}>`;
  const end: Part = { type: "literal", text: until };
  const options = choicesOf(field);
  if (options !== undefined) return [{ type: "choice", options }, end];
  if (field.name === "parameters") return [{ type: "json", schema: { type: "object" } }, end];
  if (field.name === "actions" && isReply(fields)) return [...actionsOf(offered, mode), end];
  if (field.name === "providers") return [...providersOf(offered, mode), end];
  if (field.name === "action") return actionOf(offered, end);
  const isThought = field.name === "thought" || field.name === "reasoning";
  if (isThought) return [{ type: "text", until, most: LONGEST_THOUGHT }];
  // core takes what is between the first <response> and the first </response>.
  return [{ type: "text", until, without: ["</response>"], filled: field.name === "text" }];
}

/** Fields of a message: the ones whose text goes to the user. */
function isReply(fields: readonly Field[]): boolean {
  return fields.some(({ name }) => name === "text") && fields.some(({ name }) => name === "actions");
}

/** core streams the text only when the actions are exactly REPLY, and has decided to respond before it asks. */
function actionsOf({ actions }: Offered, mode: TemplateMode): Part[] {
  const others = mode === "reply" ? [] : namesIn(actions);
  const useful = others.filter((name) => !["REPLY", "IGNORE", "NONE", "STOP"].includes(name));
  if (useful.length === 0) return [{ type: "literal", text: "REPLY" }];
  return [
    { type: "literal", text: "REPLY" },
    {
      type: "list",
      options: ["", ...useful.map((name) => `,${name}`)],
      separator: "",
      least: 1,
      most: MOST_NAMES,
    },
  ];
}

/** One action of several steps, or none. */
function actionOf({ actions }: Offered, end: Part): Part[] {
  const names = namesIn(actions);
  if (names.length > 0) return [{ type: "choice", options: ["", ...names] }, end];
  return [{ type: "text", until: end.type === "literal" ? end.text : "</action>", most: 60 }];
}

function providersOf({ providers }: Offered, mode: TemplateMode): Part[] {
  if (mode === "reply") return [];
  const names = namesIn(providers);
  if (names.length === 0) return [];
  return [{ type: "list", options: names, separator: ",", least: 0, most: MOST_NAMES }];
}

/** Each name once; one that could not stand in a list is left out. */
function namesIn(names: readonly string[]): string[] {
  return [...new Set(names.filter((name) => NAMES.test(name)))];
}

/** `RESPOND | IGNORE | STOP`, `true|false`: the example names what may stand there. */
function choicesOf({ example }: Field): string[] | undefined {
  const options = example.split("|").map((option) => option.trim());
  return options.length > 1 && options.every((option) => NAMES.test(option)) ? options : undefined;
}

/** The last `<response>` example of a prompt that asks for XML near its end. */
function templateOf(prompt: string): { fields: Field[]; gap: string } | undefined {
  const start = prompt.lastIndexOf("<response>\n");
  if (start < 0 || start < prompt.length - END) return undefined;
  const end = prompt.indexOf("</response>", start);
  const before = prompt.slice(Math.max(0, start - 400), start);
  if (end < 0 || !(/\bXML\b/.test(before) || before.trimEnd().endsWith("<output>"))) return undefined;
  const body = prompt.slice(start + "<response>".length, end);
  const fields: Field[] = [];
  let read = 0;
  for (const match of body.matchAll(/(\s*)<([A-Za-z_]\w*)>([^<]*)<\/\2>/g)) {
    // Anything but blanks between the tags is a form that is not known here.
    if (match.index !== read) return undefined;
    read += match[0].length;
    fields.push({ gap: match[1] ?? "", name: match[2] ?? "", example: (match[3] ?? "").trim() });
  }
  const gap = body.slice(read);
  const distinct = new Set(fields.map(({ name }) => name)).size === fields.length;
  if (fields.length < 2 || gap.trim() !== "" || !distinct) return undefined;
  return { fields, gap };
}

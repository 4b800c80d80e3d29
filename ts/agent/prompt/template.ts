import { createHash } from "node:crypto";

/**
 * A text of a template, known by its digest: a template that is not part of this package is recognised without a copy of
 * its words.
 */
export interface LiteralPart {
  readonly kind: "literal";
  /** UTF-16 code units. */
  readonly length: number;
  /** Its first characters, by which it is searched for. */
  readonly anchor: string;
  readonly digest: string;
}

export interface VariablePart {
  readonly kind: "variable";
  readonly name: string;
}

/** A prompt template: literals and variables in turn, as Handlebars reads `{{name}}`. */
export type Template = readonly (LiteralPart | VariablePart)[];

/** A template as a table has it: names of variables, and length, anchor and digest of literals. */
export type CompactTemplate = readonly (string | readonly [length: number, anchor: string, digest: string])[];

/** The template that a row of a table stands for. */
export function templateOf(compact: CompactTemplate): Template {
  return compact.map((part) => {
    if (typeof part === "string") return { kind: "variable", name: part };
    const [length, anchor, digest] = part;
    return { kind: "literal", length, anchor, digest };
  });
}

const VARIABLE = /\{\{\{?\s*([A-Za-z_]\w*)\s*\}?\}\}/g;
const ANCHOR = 12;

/** Reads a template; undefined for one with blocks or helpers, whose output cannot be told from its text. */
export function parseTemplate(text: string): Template | undefined {
  const parts: (LiteralPart | VariablePart)[] = [];
  let read = 0;
  const literal = (end: number) => {
    if (end > read) parts.push(literalOf(text.slice(read, end)));
  };
  for (const match of text.matchAll(VARIABLE)) {
    literal(match.index);
    parts.push({ kind: "variable", name: match[1] ?? "" });
    read = match.index + match[0].length;
  }
  literal(text.length);
  return text.replaceAll(VARIABLE, "").includes("{{") ? undefined : parts;
}

/** The literal that a text is. */
function literalOf(text: string): LiteralPart {
  return { kind: "literal", length: text.length, anchor: text.slice(0, ANCHOR), digest: digestOf(text) };
}

/** Whether a literal stands in a text at an offset. */
export function standsAt(text: string, offset: number, { length, anchor, digest }: LiteralPart): boolean {
  return text.startsWith(anchor, offset) && digestOf(text.slice(offset, offset + length)) === digest;
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

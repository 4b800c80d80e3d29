import { type LiteralPart, standsAt, type Template } from "./template.js";

/** A stretch of a prompt: of the template itself, or the value of one of its variables. */
export interface Stretch {
  readonly text: string;
  /** The variable whose value this is. */
  readonly variable?: string;
}

export type Values = Readonly<Record<string, unknown>>;

/**
 * Takes a prompt apart into what its template wrote and the values of its variables.
 *
 * A value that the runtime holds must stand where the template has its variable, to the letter. The end of any other value
 * is where the next literal stands; when that literal stands in more than one place, somebody may have written it into a
 * value, and the prompt counts as not recognised.
 *
 * @returns undefined when the prompt was not made from this template with these values.
 */
export function matchTemplate(template: Template, prompt: string, values: Values): Stretch[] | undefined {
  const stretches: Stretch[] = [];
  let at = 0;
  for (const [index, part] of template.entries()) {
    if (part.kind === "literal") {
      if (!standsAt(prompt, at, part)) return undefined;
      stretches.push({ text: prompt.slice(at, at + part.length) });
      at += part.length;
      continue;
    }
    const length = valueLength(prompt, at, part.name, values, literalAfter(template, index));
    if (length === undefined) return undefined;
    stretches.push({ text: prompt.slice(at, at + length), variable: part.name });
    at += length;
  }
  return at === prompt.length ? stretches : undefined;
}

/** Length of a value where it stands in a prompt; undefined when it does not. The names of people in examples are drawn. */
export function lengthAt(prompt: string, at: number, value: string): number | undefined {
  if (!DRAWN_NAME.test(value)) return prompt.startsWith(value, at) ? value.length : undefined;
  return withNames(prompt, at, value)?.[0].length;
}

/** The names that were drawn for the placeholders of a value, in their order. */
export function drawnNames(text: string, value: string): string[] {
  return withNames(text, 0, value)?.slice(1) ?? [];
}

/** The value with other names for its placeholders. */
export function named(value: string, nameOf: (placeholder: string, index: number) => string): string {
  let index = -1;
  return value.replaceAll(DRAWN_NAMES, (placeholder) => {
    index += 1;
    return nameOf(placeholder, index);
  });
}

function withNames(prompt: string, at: number, value: string): RegExpExecArray | null {
  const pattern = value.split(DRAWN_NAMES).map(escaped).join("([^\\s{}]{1,40})");
  const matcher = new RegExp(pattern, "y");
  matcher.lastIndex = at;
  return matcher.exec(prompt);
}

/** elizaOS replaces `{{name1}}` to `{{name10}}` in a finished prompt. */
const DRAWN_NAME = /\{\{name(?:10|[1-9])\}\}/;
const DRAWN_NAMES = new RegExp(DRAWN_NAME, "g");

function literalAfter(template: Template, index: number): LiteralPart | undefined {
  const next = template[index + 1];
  return next?.kind === "literal" ? next : undefined;
}

function valueLength(
  prompt: string,
  at: number,
  name: string,
  values: Values,
  next: LiteralPart | undefined,
): number | undefined {
  const value = values[name];
  if (value !== undefined && value !== null) return lengthAt(prompt, at, String(value));
  if (next === undefined) return undefined;
  const [first, second] = placesOf(prompt, at, next);
  return first === undefined || second !== undefined ? undefined : first - at;
}

/** The first two places where a literal stands. */
function placesOf(prompt: string, from: number, literal: LiteralPart): number[] {
  const places: number[] = [];
  for (let at = prompt.indexOf(literal.anchor, from); at >= 0; at = prompt.indexOf(literal.anchor, at + 1)) {
    if (standsAt(prompt, at, literal)) places.push(at);
    if (places.length === 2) break;
  }
  return places;
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

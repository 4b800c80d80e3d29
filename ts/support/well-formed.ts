/** Half of a surrogate pair, as a text that was cut in the middle of a character has it. */
const LONE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

/** An escape of JSON; the group is there for half of a surrogate pair, which `JSON.stringify` always escapes. */
const ESCAPE = /\\(?:u(d[89a-f][0-9a-f]{2})|.)/g;

/** The text with U+FFFD for each half of a character: UTF-8 and databases have no place for halves. */
export function wellFormed(text: string): string {
  return text.replaceAll(LONE, "\uFFFD");
}

/** A value as JSON text whose strings and keys are well-formed. */
export function wellFormedJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(ESCAPE, (written, half: string | undefined) =>
    half === undefined ? written : "\\ufffd",
  );
}

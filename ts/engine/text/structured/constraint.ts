import type { ConstraintInput } from "../../../native/addon.js";
import { wellFormedJson } from "../../../support/well-formed.js";

/**
 * What an answer must match: a GBNF grammar, a JSON Schema as text, or parts (as JSON text) that follow one another.
 * With triggers, the answer is free until one of them appears. `spans` divide an answer into given texts and JSON values; a
 * `greedy` value is the model's likeliest.
 */
export type Constraint = ConstraintInput;

/** One part of a text; see {@link partsConstraint}. Lengths are in characters. */
export type Part =
  | { type: "literal"; text: string }
  | { type: "choice"; options: readonly string[] }
  | { type: "list"; options: readonly string[]; separator: string; least: number; most: number }
  /**
   * Free text up to and including `until`, with none of `without` in it; `filled`: more than blanks; `most`: at most that
   * long, and without the character that `until` begins with.
   */
  | { type: "text"; until: string; without?: readonly string[]; filled?: boolean; most?: number }
  | { type: "json"; schema: unknown };

export function grammarConstraint(grammar: string): Constraint {
  return { kind: "gbnf", source: grammar };
}

export function schemaConstraint(schema: unknown): Constraint {
  return { kind: "schema", source: wellFormedJson(schema) };
}

/** A text made of parts in this order. Literal parts cost no sampling. */
export function partsConstraint(parts: readonly Part[]): Constraint {
  return { kind: "parts", source: wellFormedJson(parts) };
}

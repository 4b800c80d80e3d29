import { invalidInput } from "../../../errors.js";

/** Keywords whose values are no schemas. */
const VALUES = new Set(["const", "default", "enum", "examples", "required", "dependentRequired"]);
/** Keywords whose values are schemas by name. */
const MAPS = new Set(["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"]);
/** What ajv takes for evaluated although it may not be: a branch that failed, every item beside one that matched. */
const CONDITIONS_OF_ITEMS = ["anyOf", "contains", "dependentSchemas", "if", "oneOf"];

/**
 * Refuses the few combinations of keywords that no grammar expresses and that ajv is known to read otherwise than the
 * draft, so that an answer that breaks the schema could pass: found by the official test suite (bench/schema-suite.mjs).
 *
 * @throws LocalInferenceError `INVALID_INPUT`
 */
export function requireSound(schema: unknown): void {
  const used = new Set<string>();
  collect(schema, used);
  if (used.has("$dynamicRef")) refuse("$dynamicRef is not supported");
  const unevaluated = ["unevaluatedItems", "unevaluatedProperties"].find((keyword) => used.has(keyword));
  if (unevaluated && used.has("if")) refuse(`${unevaluated} is not supported together with if`);
  if (!used.has("unevaluatedItems")) return;
  const condition = CONDITIONS_OF_ITEMS.find((keyword) => used.has(keyword));
  if (condition) refuse(`unevaluatedItems is not supported together with ${condition}`);
}

function refuse(reason: string): never {
  throw invalidInput(`The JSON Schema cannot be enforced: ${reason}. Write it without.`);
}

/** The keywords of a schema and of those within it; names of properties are none. */
function collect(schema: unknown, used: Set<string>): void {
  if (typeof schema !== "object" || schema === null) return;
  if (Array.isArray(schema)) {
    for (const item of schema) collect(item, used);
    return;
  }
  for (const [keyword, value] of Object.entries(schema)) {
    if (value === undefined) continue;
    used.add(keyword);
    if (VALUES.has(keyword)) continue;
    if (MAPS.has(keyword)) for (const inner of Object.values(Object(value))) collect(inner, used);
    else collect(value, used);
  }
}

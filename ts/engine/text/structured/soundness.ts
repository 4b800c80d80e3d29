import { invalidInput } from "../../../errors.js";

/** Keywords whose values are not schemas. */
const VALUES = new Set(["const", "default", "enum", "examples", "required", "dependentRequired"]);
/** Keywords whose values are schemas by name. */
const MAPS = new Set(["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"]);
/** Keywords whose items ajv counts as evaluated although they may not be: those of a branch that failed, or beside a match. */
const CONDITIONS_OF_ITEMS = ["anyOf", "contains", "dependentSchemas", "if", "oneOf"];

/**
 * Refuses the few combinations of keywords that no grammar expresses and that ajv reads differently from the draft: an
 * answer that breaks the schema could pass. The official test suite found them (bench/schema-suite.mjs).
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

/** Collects the keywords of a schema and of the schemas within it; names of properties are not keywords. */
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

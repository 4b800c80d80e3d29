import { schemaConstraint } from "./constraint.js";
import type { Structured } from "./structured.js";
import { validatorOf } from "./validate.js";

/** The form of an answer that satisfies a JSON Schema: enforced as far as a grammar can, then validated. */
export function schemaStructure(schema: unknown): Structured {
  return {
    constraint: schemaConstraint(schema),
    problem: async (text) => (await validatorOf(schema))(text),
  };
}

/** `responseFormat: json_object`: any object. */
export function jsonObjectStructure(): Structured {
  return { constraint: schemaConstraint({ type: "object" }) };
}

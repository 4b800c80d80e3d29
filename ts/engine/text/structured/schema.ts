import { schemaConstraint } from "./constraint.js";
import { requireSound } from "./soundness.js";
import type { Structured } from "./structured.js";
import { validatorOf } from "./validate.js";

/**
 * The form of an answer that satisfies a JSON Schema: enforced as far as a grammar can, then validated.
 *
 * @throws LocalInferenceError `INVALID_INPUT` for a schema that cannot be validated.
 */
export function schemaStructure(schema: unknown): Structured {
  const constraint = schemaConstraint(schema);
  requireSound(schema);
  return {
    constraint,
    ready: async () => void (await validatorOf(schema)),
    problem: async (text) => (await validatorOf(schema))(text),
  };
}

/** `responseFormat: json_object`: any object. */
export function jsonObjectStructure(): Structured {
  return { constraint: schemaConstraint({ type: "object" }) };
}

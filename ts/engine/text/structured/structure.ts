import { type Constraint, schemaConstraint } from "./constraint.js";
import { requireSound } from "./soundness.js";
import { validatorOf } from "./validate.js";

/** The form that a request asks its answer to have. */
export interface Structured {
  readonly constraint: Constraint;
  /** Text that the answer begins with; it is part of the answer. */
  readonly prefill?: string;
  /** Fails for a form that answers could not be judged by; to be called before one is generated. */
  readonly ready?: () => Promise<void>;
  /** Why a complete answer does not have the form, where the constraint alone does not ensure it. */
  readonly problem?: (text: string) => Promise<string | undefined>;
}

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

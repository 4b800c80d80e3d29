import type { Constraint } from "./constraint.js";

/** What a request asks of the form of its answer. */
export interface Structured {
  readonly constraint: Constraint;
  /** Text that the answer begins with; it is part of the answer. */
  readonly prefill?: string;
  /** Fails for a form that answers could not be judged by: to be asked before one is generated. */
  readonly ready?: () => Promise<void>;
  /** Why a complete answer is not what was asked for, where the constraint alone does not see to it. */
  readonly problem?: (text: string) => Promise<string | undefined>;
}

import { LocalInferenceError } from "../../../errors.js";
import type { RenderedChat } from "../../../native/addon.js";
import { type Constraint, schemaConstraint } from "./constraint.js";
import type { ChatTool } from "./tool-types.js";

/** How a request with tools is constrained, and how its answer is read. */
export interface ToolForm {
  /** What takes the place of a grammar of the template. */
  readonly constraint?: Constraint;
  /** The answer is one JSON call instead of the template's own form. */
  readonly plainCall: boolean;
}

/**
 * Calls have the template's own form where it has one. A template that knows no tools can still be made to call one: the
 * answer is then `{"name", "arguments"}`.
 */
export function toolForm(
  tools: readonly ChatTool[],
  choice: "auto" | "none" | "required" | undefined,
  chat: RenderedChat,
): ToolForm {
  return choice === "required" && !chat.constrainsCalls
    ? { constraint: callConstraint(tools), plainCall: true }
    : { plainCall: false };
}

function callConstraint(tools: readonly ChatTool[]): Constraint {
  if (tools.length === 0) {
    throw new LocalInferenceError("INVALID_INPUT", "A tool call needs a tool.", { reason: "invalid_input" });
  }
  const call = ({ function: { name, parameters } }: ChatTool) => ({
    type: "object",
    properties: { name: { const: name }, arguments: parameters ?? { type: "object" } },
    required: ["name", "arguments"],
    additionalProperties: false,
  });
  return schemaConstraint(tools.length === 1 ? call(tools[0] as ChatTool) : { anyOf: tools.map(call) });
}

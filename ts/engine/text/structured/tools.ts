import { LocalInferenceError } from "../../../errors.js";
import type { RenderedChat } from "../../../native/addon.js";
import { type Constraint, schemaConstraint } from "./constraint.js";
import type { ChatTool } from "./tool-types.js";

/** How a request with tools is constrained, and how its answer is read. */
export interface ToolForm {
  readonly constraint?: Constraint;
  /** The answer is one JSON call instead of the template's own form. */
  readonly plainCall: boolean;
}

/**
 * The template's own grammar where it has one: at its trigger when the model may choose, over the whole output when it
 * must call. A template that knows no tools can still be made to call one: the answer is then `{"name", "arguments"}`.
 */
export function toolForm(
  tools: readonly ChatTool[],
  choice: "auto" | "none" | "required" | undefined,
  chat: RenderedChat,
): ToolForm {
  if (choice === "none") return { plainCall: false };
  if (chat.grammar !== undefined) {
    const { triggerWords: triggers, triggerPatterns, answerFormat } = chat;
    const grammar = { kind: "gbnf" as const, source: chat.grammar };
    const constraint = chat.grammarLazy
      ? { ...grammar, triggers, triggerPatterns: triggerPatterns.filter(isSupported) }
      : { ...grammar, prefix: answerFormat.generationPrompt };
    const waits =
      chat.grammarLazy &&
      triggers.length + (constraint as { triggerPatterns: string[] }).triggerPatterns.length === 0;
    return waits ? { plainCall: false } : { constraint, plainCall: false };
  }
  return choice === "required"
    ? { constraint: callConstraint(tools), plainCall: true }
    : { plainCall: false };
}

/** Patterns that look ahead are of another regular-expression dialect. */
function isSupported(pattern: string): boolean {
  return !/\(\?[=!<]/.test(pattern);
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

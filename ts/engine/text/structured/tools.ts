import { invalidInput } from "../../../errors.js";
import type { RenderedChat } from "../../../native/addon.js";
import { type Constraint, schemaConstraint } from "./constraint.js";
import type { ChatTool } from "./tool-types.js";
import { validatorOf } from "./validate.js";

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

/**
 * Why a call cannot be made as it is; undefined when it can. Grammars do not ensure all of it: a model that may choose is
 * free before its call, some formats do not know the tool's schema, and no grammar expresses every keyword.
 *
 * @throws LocalInferenceError `INVALID_INPUT` for `parameters` that are not a schema.
 */
export async function callProblem(
  call: { readonly name: string; readonly arguments: string },
  tools: readonly ChatTool[],
): Promise<string | undefined> {
  const tool = tools.find(({ function: { name } }) => name === call.name);
  if (tool === undefined) return "it is none of the tools";
  const problem = (await validatorOf(tool.function.parameters ?? { type: "object" }))(call.arguments);
  return problem && `its arguments are not valid: ${problem}`;
}

function callConstraint(tools: readonly ChatTool[]): Constraint {
  if (tools.length === 0) {
    throw invalidInput("A tool call needs a tool.");
  }
  const call = ({ function: { name, parameters } }: ChatTool) => ({
    type: "object",
    properties: { name: { const: name }, arguments: parameters ?? { type: "object" } },
    required: ["name", "arguments"],
    additionalProperties: false,
  });
  return schemaConstraint(tools.length === 1 ? call(tools[0] as ChatTool) : { anyOf: tools.map(call) });
}

import type { ChatTool } from "./tool-types.js";
import { validatorOf } from "./validate.js";

/**
 * Why a call cannot be made as it is; undefined when it can. Grammars do not see to all of it: a model that may choose
 * is free before its call, some formats do not know the tool's schema, and no grammar expresses every keyword.
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

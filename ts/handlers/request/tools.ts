import type { ChatTool, GenerateRequest } from "../../engine/text/types.js";
import { invalidInput } from "../../errors.js";
import { present } from "../../support/present.js";
import { given, isRecord } from "../../support/records.js";
import { type Params, stringOf } from "./fields.js";

/** The tools that a model may call, in the form that templates know; a choice of one tool leaves that one and requires it. */
export function readTools(params: Params): Pick<GenerateRequest, "tools" | "toolChoice"> {
  if (!given(params.tools)) return {};
  if (!Array.isArray(params.tools)) throw invalidInput("tools must be an array.");
  const tools = params.tools.map(readTool);
  const { toolChoice = "auto" } = params;
  if (toolChoice === "auto" || toolChoice === "none" || toolChoice === "required")
    return { tools, toolChoice };
  const name = chosenTool(toolChoice);
  const chosen = tools.filter((tool) => tool.function.name === name);
  if (chosen.length === 0)
    throw invalidInput(`toolChoice ${JSON.stringify(toolChoice)} names none of the tools.`);
  return { tools: chosen, toolChoice: "required" };
}

function readTool(tool: unknown, index: number): ChatTool {
  const body = isRecord(tool) && isRecord(tool.function) ? tool.function : tool;
  if (!isRecord(body) || typeof body.name !== "string") throw invalidInput(`tools[${index}] needs a name.`);
  const { name, description, parameters } = body;
  return {
    type: "function",
    function: present({ name, description: stringOf(description), parameters: parameters ?? undefined }),
  };
}

function chosenTool(choice: unknown): string | undefined {
  if (!isRecord(choice)) return undefined;
  return stringOf(isRecord(choice.function) ? choice.function.name : (choice.name ?? choice.toolName));
}

import type { GenerationResult } from "../engine/text/types.js";

/** A tool call as elizaOS 2 reads it. */
export interface ToolCallObject {
  id: string;
  name: string;
  /** What the call's JSON text says: an object, unless the tool's `parameters` ask for something else. */
  arguments: unknown;
}

/** The calls that can be made; undefined when there are none. What a limit cut short is left to the finish reason. */
export function callObjects({ toolCalls = [] }: GenerationResult): ToolCallObject[] | undefined {
  const whole = toolCalls.filter(({ problem }) => problem === undefined);
  if (whole.length === 0) return undefined;
  return whole.map(({ id, name, arguments: text }) => ({ id, name, arguments: JSON.parse(text) }));
}

import type { ToolCall } from "../engine/types.js";

/** A tool call as elizaOS 2 reads it. */
export interface ToolCallObject {
  id: string;
  name: string;
  /** An object; the text itself when the model wrote something else. */
  arguments: unknown;
}

export function callObject({ id, name, arguments: text }: ToolCall): ToolCallObject {
  try {
    return { id, name, arguments: JSON.parse(text) };
  } catch {
    return { id, name, arguments: text };
  }
}

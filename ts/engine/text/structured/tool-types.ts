/** A function the model may call, in the form of the OpenAI chat-completion API. */
export interface ChatTool {
  type: "function";
  function: { name: string; description?: string; parameters?: unknown; strict?: boolean };
}

/** A call that a model makes. */
export interface ToolCall {
  /** The model's own id, or one made here. */
  id: string;
  name: string;
  /** JSON text that satisfies the tool's `parameters`, unless there is a `problem`. */
  arguments: string;
  /**
   * Why the call cannot be made as it is: it was cut short, its arguments do not satisfy the tool's `parameters`, it is
   * none of the request's tools. Absent when it can be made.
   */
  problem?: string;
}

/** What a stretch of the answer adds to the call at `index`; the first one of a call has its id and name. */
export interface ToolCallDelta {
  index: number;
  id?: string;
  name?: string;
  arguments: string;
}

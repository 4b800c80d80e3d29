import type { CallChunk } from "./structured/tool-calls.js";
import type { Usage } from "./types.js";

/** Where a generation's chunks come from. */
export interface ChunkStream {
  /** Everything since the last call; the last chunk has `done`, after it comes null. */
  next(): Promise<CallChunk | null>;
  cancel(): void;
}

/** Puts the prefill, with which the answer begins, in front of the text that the model adds to it. */
export function withPrefill(stream: ChunkStream, prefill: string): ChunkStream {
  let pending = prefill;
  return {
    cancel: () => stream.cancel(),
    next: async () => {
      const chunk = await stream.next();
      if (chunk === null) return null;
      const text = pending + chunk.text;
      pending = "";
      return { ...chunk, text };
    },
  };
}

/** Reports in the usage how many messages were left out. */
export function withDropped(stream: ChunkStream, droppedMessages: number): ChunkStream {
  return {
    cancel: () => stream.cancel(),
    next: async () => {
      const chunk = await stream.next();
      if (chunk?.done === undefined) return chunk;
      const usage: Usage = { ...chunk.done.usage, droppedMessages };
      return { ...chunk, done: { ...chunk.done, usage } };
    },
  };
}

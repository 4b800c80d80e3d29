// A namespace import: core 2 lacks some of these names, and a missing named import would fail the whole module.
import * as core from "@elizaos/core";

interface StreamingCore {
  getStreamingContext?: () => { abortSignal?: AbortSignal } | undefined;
}

/** The signal that stops a request: from the parameters (core 2) or from the streaming context (core 1.7). */
export function signalOf(params: unknown): AbortSignal | undefined {
  const own = isObject(params) ? (params.signal ?? params.abortSignal) : undefined;
  if (own instanceof AbortSignal) return own;
  return (core as StreamingCore).getStreamingContext?.()?.abortSignal;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

// A namespace import: core 2 lacks some of these names, and a missing named import would fail the whole module.
import * as core from "@elizaos/core";
import { invalidInput } from "../../errors.js";
import { fieldsOf, isRecord } from "../../support/records.js";

/**
 * The parameters of a request as a caller passed them: those of elizaOS 1.7 and the ones that 2.x adds. Callers and agent
 * settings fill them in, so no field has a known type, and the object may be frozen. Only the files of this folder read
 * them; everything else works with the typed requests made here.
 */
export type Params = Readonly<Record<string, unknown>>;

/** @throws LocalInferenceError `INVALID_INPUT` with this message unless the caller passed parameters. */
export function paramsOf(params: unknown, message: string): Params {
  if (!isRecord(params)) throw invalidInput(message);
  return params;
}

export function optionalString(params: Params, name: string): string | undefined {
  const value = params[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") throw invalidInput(`${name} must be a string.`);
  return value;
}

export function optionalNumber(params: Params, name: string): number | undefined {
  const value = params[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "number") throw invalidInput(`${name} must be a number.`);
  return value;
}

/** The value if it is a string; callers pass other things in fields that are optional. */
export function stringOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

interface StreamingCore {
  getStreamingContext?: () => { abortSignal?: AbortSignal } | undefined;
}

/** The signal that stops a request: from the parameters (core 2) or from the streaming context (core 1.7). */
export function readSignal(params: unknown): AbortSignal | undefined {
  const { signal, abortSignal } = fieldsOf(params);
  const own = signal ?? abortSignal;
  if (own instanceof AbortSignal) return own;
  return (core as StreamingCore).getStreamingContext?.()?.abortSignal;
}

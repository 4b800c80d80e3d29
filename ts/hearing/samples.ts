import { fromNative, invalidInput } from "../errors.js";

/**
 * Sound: mono samples, as floating point in -1..1 or as 16-bit integers. A Node `Buffer` is bytes: view it first, with
 * `new Int16Array(buffer.buffer, buffer.byteOffset, buffer.byteLength / 2)`.
 */
export type Samples = Float32Array | Int16Array;

/** What takes either form. */
interface Taker<T> {
  push(samples: Float32Array): T;
  pushInt16(samples: Int16Array): T;
}

/** Hands samples to the addon in their form. @throws LocalInferenceError `INVALID_INPUT`, `CLOSED` */
export function pushSamples<T>(native: Taker<T>, samples: Samples): T {
  checkSamples(samples);
  return callSync(() => (samples instanceof Float32Array ? native.push(samples) : native.pushInt16(samples)));
}

/** A call into the addon that answers at once; what it throws is mapped. */
export function callSync<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw fromNative(error);
  }
}

export function checkSamples(samples: Samples): void {
  if (!(samples instanceof Float32Array || samples instanceof Int16Array)) {
    const hint = "Give a Float32Array in -1..1 or an Int16Array, mono.";
    throw invalidInput(`Samples are of the type ${nameOf(samples)}.`, { hint });
  }
  if (typeof SharedArrayBuffer !== "undefined" && samples.buffer instanceof SharedArrayBuffer) {
    const hint = "Copy them first: another thread could change them meanwhile.";
    throw invalidInput("The samples lie in a SharedArrayBuffer.", { hint });
  }
  if (samples.length === 0 && isDetached(samples.buffer)) {
    const hint = "Their buffer was given to another thread; copy samples that are still needed here.";
    throw invalidInput("The samples are gone.", { hint });
  }
}

function isDetached(buffer: ArrayBufferLike): boolean {
  try {
    new Uint8Array(buffer);
    return false;
  } catch {
    return true;
  }
}

function nameOf(value: unknown): string {
  if (value === null || typeof value !== "object") return value === null ? "null" : typeof value;
  return value.constructor?.name ?? "object";
}

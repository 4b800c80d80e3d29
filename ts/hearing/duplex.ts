import { Transform, type TransformCallback } from "node:stream";
import type { Resampler } from "./resampler.js";
import type { Vad } from "./vad.js";
import type { WakeWord } from "./wake-word.js";

/** How bytes become samples: signed 16-bit integers or 32-bit floating point, little-endian, mono. */
export type SampleFormat = "s16le" | "f32le";

export interface SampleStreamOptions {
  /** Default `s16le`. */
  format?: SampleFormat;
}

/**
 * A Node stream from bytes to the events of `vad` (object mode on its readable side). Backpressure is Node's: `write` answers
 * false while events wait to be read. The detector stays open; `destroy` only ends the stream.
 */
export function vadTransform(vad: Vad, options: SampleStreamOptions = {}): Transform {
  return eventStream(
    options,
    (samples) => vad.push(samples),
    () => vad.finish(),
  );
}

/** The same for detections of wake words. */
export function wakeWordTransform(words: WakeWord, options: SampleStreamOptions = {}): Transform {
  return eventStream(
    options,
    (samples) => words.push(samples),
    () => [],
  );
}

/** A Node stream from bytes to bytes of 32-bit floating point at the other rate. */
export function resamplerTransform(resampler: Resampler, options: SampleStreamOptions = {}): Transform {
  const cutter = new Cutter(options.format ?? "s16le");
  const bytes = (samples: Float32Array) =>
    Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
  return new Transform({
    transform: guarded((chunk) => [bytes(resampler.push(cutter.cut(chunk)))]),
    flush: guarded(() => [bytes(resampler.finish())]),
  });
}

function eventStream<T>(
  { format = "s16le" }: SampleStreamOptions,
  push: (samples: Float32Array | Int16Array) => T[],
  finish: () => T[],
): Transform {
  const cutter = new Cutter(format);
  return new Transform({
    readableObjectMode: true,
    transform: guarded((chunk) => push(cutter.cut(chunk))),
    flush: guarded(finish),
  });
}

/** Pushes what `work` makes, and turns what it throws into the stream's error. */
function guarded(work: (chunk: Buffer) => readonly unknown[]) {
  return function run(this: Transform, ...given: unknown[]): void {
    const done = given.at(-1) as TransformCallback;
    try {
      for (const value of work(given[0] as Buffer)) this.push(value);
      done();
    } catch (error) {
      done(error as Error);
    }
  };
}

/** Cuts bytes into whole samples, however they arrive. */
class Cutter {
  readonly #format: SampleFormat;
  #rest: Buffer = Buffer.alloc(0);

  constructor(format: SampleFormat) {
    this.#format = format;
  }

  cut(chunk: Buffer): Float32Array | Int16Array {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const size = this.#format === "s16le" ? 2 : 4;
    const whole = bytes.length - (bytes.length % size);
    this.#rest = Buffer.from(bytes.subarray(whole));
    // A copy: samples must begin at a multiple of their size, which a slice of Node's pool need not.
    const aligned = new Uint8Array(bytes.subarray(0, whole)).buffer;
    return size === 2 ? new Int16Array(aligned) : new Float32Array(aligned);
  }
}

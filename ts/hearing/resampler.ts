import { loadNative, type NativeResampler } from "../native/addon.js";
import { callSync, checkSamples, type Samples } from "./samples.js";

/** The two rates, in samples a second, 4,000 to 192,000. */
export interface ResamplerOptions {
  from: number;
  to: number;
}

const FULL_SCALE = 32_768;

/**
 * Converts one stream of mono sound from a rate to another: exact ratio, no delay in the result, everything from half of
 * the lower rate on below -80 dB.
 */
export class Resampler implements Disposable {
  readonly #native: NativeResampler;

  private constructor(native: NativeResampler) {
    this.#native = native;
  }

  /** @throws LocalInferenceError `INVALID_INPUT`, `BACKEND_UNAVAILABLE` */
  static async load({ from, to }: ResamplerOptions): Promise<Resampler> {
    const { NativeResampler } = await loadNative();
    return new Resampler(callSync(() => new NativeResampler(from, to)));
  }

  /** Appends sound in chunks of any length and returns what they complete. @throws LocalInferenceError `INVALID_INPUT`, `CLOSED` */
  push(samples: Samples): Float32Array {
    checkSamples(samples);
    const floats =
      samples instanceof Float32Array ? samples : Float32Array.from(samples, (sample) => sample / FULL_SCALE);
    return callSync(() => this.#native.push(floats));
  }

  /** The end of the stream: in all `ceil(pushed * to / from)` samples have then come out. What follows is a new stream. */
  finish(): Float32Array {
    return callSync(() => this.#native.finish());
  }

  /** Forgets the stream so far. */
  reset(): void {
    callSync(() => this.#native.reset());
  }

  /** Frees its memory. Idempotent; what is used afterwards fails with `CLOSED`. */
  close(): void {
    this.#native.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

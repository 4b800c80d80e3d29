import { closedError } from "../errors.js";
import { loadNative, type NativeVad, type VadEventRecord } from "../native/addon.js";
import { callSync, pushSamples, type Samples } from "./samples.js";
import type { VadEvent } from "./vad-event.js";
import { VadStream, type VadStreamOptions } from "./vad-stream.js";

/** How speech is told from silence. What is out of range is refused with `INVALID_INPUT`. */
export interface VadOptions {
  /** Samples a second of what is pushed, 4,000 to 192,000. Default 16,000; others are resampled. */
  sampleRate?: number;
  /** Which Silero VAD. Default `v6`. */
  model?: "v5" | "v6";
  /** Probability from which on speech begins, 0 to 1. Default 0.5. */
  onset?: number;
  /** Probability below which a window is silence, at most `onset`. Default 0.35. */
  offset?: number;
  /** Shorter speech is dropped, in milliseconds. Default 250. */
  minSpeechMs?: number;
  /** Silence that ends a segment, in milliseconds. Default 700. */
  hangOverMs?: number;
  /** Sound before the first window of speech, in milliseconds. Default 300. */
  preRollMs?: number;
  /** Sound after the last window of speech, in milliseconds, at most `hangOverMs`. Default 200. */
  postRollMs?: number;
  /** Longest segment, in milliseconds; a longer one is cut at its quietest place. Default 30,000. */
  maxSpeechMs?: number;
}

/** Samples a second that places in events and the sound of segments are in. */
export const HEARING_RATE = 16_000;

/**
 * Tells when somebody speaks in one stream of sound. Calls are synchronous: 32 ms of sound take some tens of
 * microseconds, less than a thread would cost.
 */
export class Vad implements Disposable {
  readonly #native: NativeVad;
  #closed = false;

  private constructor(native: NativeVad) {
    this.#native = native;
  }

  /** @throws LocalInferenceError `INVALID_INPUT`, `BACKEND_UNAVAILABLE` */
  static async load(options: VadOptions = {}): Promise<Vad> {
    const { NativeVad } = await loadNative();
    return new Vad(callSync(() => new NativeVad(options)));
  }

  /**
   * Appends sound in chunks of any length and returns what became certain, in order.
   *
   * @throws LocalInferenceError `INVALID_INPUT` (wrong type, shared or detached buffer, a sample that is not finite; the
   * chunk is then left out as a whole), `CLOSED`
   */
  push(samples: Samples): VadEvent[] {
    return events(pushSamples(this.#native, samples));
  }

  /** The stream ends, and with it an open segment. What follows is a new stream. */
  finish(): VadEvent[] {
    return events(callSync(() => this.#native.finish()));
  }

  /** Whether a segment is open. */
  get speaking(): boolean {
    return this.#native.speaking;
  }

  /** Forgets the stream so far. */
  reset(): void {
    callSync(() => this.#native.reset());
  }

  /**
   * Events as an async iterable, fed by `pushFrame`. A detector serves one stream at a time.
   *
   * @throws LocalInferenceError `CLOSED`
   */
  stream(options: VadStreamOptions = {}): VadStream {
    if (this.#closed) throw closedError("voice activity detector");
    return new VadStream(this, options);
  }

  /** Frees its memory. Idempotent; what is used afterwards fails with `CLOSED`. */
  close(): void {
    this.#closed = true;
    this.#native.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** The addon's record has every field; an event those of its kind. */
function events(records: VadEventRecord[]): VadEvent[] {
  return records as unknown as VadEvent[];
}

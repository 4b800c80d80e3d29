import { readFile } from "node:fs/promises";
import { invalidInput, LocalInferenceError } from "../errors.js";
import { loadNative, type NativeWakeWords } from "../native/addon.js";
import { callSync, pushSamples, type Samples } from "./samples.js";

/** A phrase to listen for. */
export interface WakePhrase {
  /** What detections call it. */
  name: string;
  /** Its head: a file (ONNX as openWakeWord trains it, or safetensors), or the bytes of one. */
  head: string | Uint8Array;
  /** Score from which on it counts as said, above 0, at most 1. Default 0.5. */
  threshold?: number;
  /** Least time between two detections, in milliseconds. Default 1,000. */
  refractoryMs?: number;
}

export interface WakeWordOptions {
  /** One or more. */
  phrases: readonly WakePhrase[];
  /** Samples a second of what is pushed, 4,000 to 192,000. Default 16,000; others are resampled. */
  sampleRate?: number;
}

export interface WakeWordDetection {
  readonly name: string;
  /** 0 to 1. */
  readonly score: number;
  /** When it was certain, in samples at 16 kHz since the beginning of the stream. */
  readonly position: number;
}

/** Listens for phrases in one stream of sound. Calls are synchronous: 80 ms of sound take less than a millisecond. */
export class WakeWord implements Disposable {
  readonly #native: NativeWakeWords;
  readonly #names: readonly string[];

  private constructor(native: NativeWakeWords, names: readonly string[]) {
    this.#native = native;
    this.#names = names;
  }

  /**
   * @throws LocalInferenceError `MODEL_NOT_FOUND`, `MODEL_INVALID` or `MODEL_UNSUPPORTED` for a head, `INVALID_INPUT`,
   * `BACKEND_UNAVAILABLE`
   */
  static async load(options: WakeWordOptions): Promise<WakeWord> {
    const names = options.phrases.map((phrase) => phrase.name);
    if (new Set(names).size < names.length) throw invalidInput("Two phrases have the same name.");
    const phrases = await Promise.all(
      options.phrases.map(async ({ name: _, head, ...rest }) => ({ ...rest, head: await bytesOf(head) })),
    );
    const { NativeWakeWords } = await loadNative();
    return new WakeWord(
      callSync(() => new NativeWakeWords(phrases, options.sampleRate)),
      names,
    );
  }

  /**
   * Appends sound in chunks of any length and returns the phrases that were said in it.
   *
   * @throws LocalInferenceError `INVALID_INPUT`, `CLOSED`
   */
  push(samples: Samples): WakeWordDetection[] {
    return pushSamples(this.#native, samples).map(({ phrase, score, position }) => ({
      name: this.#names[phrase] ?? "",
      score,
      position,
    }));
  }

  /** The last score of each phrase, 0 to 1, by name. */
  get scores(): Record<string, number> {
    const scores = callSync(() => this.#native.scores);
    return Object.fromEntries(this.#names.map((name, index) => [name, scores[index] ?? 0]));
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

async function bytesOf(head: string | Uint8Array): Promise<Uint8Array> {
  if (typeof head !== "string") return head;
  try {
    return await readFile(head);
  } catch (cause) {
    throw new LocalInferenceError("MODEL_NOT_FOUND", `The head ${head} cannot be read.`, { cause });
  }
}

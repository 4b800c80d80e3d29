import { abortError, LocalInferenceError, throwIfAborted } from "../../errors.js";
import {
  callNative,
  type EmbedderInfo,
  type NativeEmbedder,
  type NativeEmbedding,
} from "../../native/addon.js";
import { Closing } from "../../support/closing.js";
import { type Deferred, deferred } from "../../support/deferred.js";

/** How an embedder is opened. A value out of range is refused with `INVALID_INPUT`, which names the field. */
export interface EmbedderOptions {
  /** Longest text in tokens. Default: what the model was trained for, at most 2,048. */
  contextSize?: number;
  /** How the vectors of a text's tokens become one. Default: as the model declares. */
  pooling?: "mean" | "cls" | "last";
  /** Threads that evaluate, 1 to 512. Default: the physical cores that the process may use. */
  threads?: number;
}

export interface EmbedOptions {
  /** Which end of a text longer than the model reads is kept; `error` refuses it. Default `head`. */
  truncate?: "head" | "tail" | "error";
  /** Keep the leading dimensions only and normalise again; for models trained that way. */
  dimensions?: number;
  /** Scale vectors to length 1. Default true. */
  normalize?: boolean;
  signal?: AbortSignal | undefined;
}

export interface EmbedResult {
  /** One vector for each text, in order. */
  vectors: Float32Array[];
  /** Tokens the model read for these texts. */
  tokens: number;
}

/** The part of the options that the addon reads. */
export type NativeEmbedOptions = Omit<EmbedOptions, "signal">;

interface Waiting {
  readonly texts: readonly string[];
  readonly options: NativeEmbedOptions;
  readonly outcome: Deferred<EmbedResult>;
  gone: boolean;
}

/** Turns texts into vectors. Calls that come together, or while the model is busy, share a batch. */
export class Embedder implements AsyncDisposable {
  readonly #native: NativeEmbedder;
  readonly #countTokens: (text: string) => Promise<number>;
  readonly #onClose: (embedder: Embedder) => void;
  #queue: Waiting[] = [];
  #running: Promise<void> | undefined;
  /** The batch in the model and who waits for it. */
  #flight: { embedding: NativeEmbedding; members: readonly Waiting[] } | undefined;
  readonly #closing = new Closing("embedder", () => this.#release());

  private constructor(
    native: NativeEmbedder,
    countTokens: (text: string) => Promise<number>,
    onClose: (embedder: Embedder) => void,
  ) {
    this.#native = native;
    this.#countTokens = countTokens;
    this.#onClose = onClose;
  }

  /** @internal */
  static of(
    native: NativeEmbedder,
    countTokens: (text: string) => Promise<number>,
    onClose: (embedder: Embedder) => void,
  ): Embedder {
    return new Embedder(native, countTokens, onClose);
  }

  get info(): EmbedderInfo {
    this.#closing.assertOpen();
    return this.#native.info;
  }

  /**
   * Embeds texts.
   *
   * @throws LocalInferenceError `CONTEXT_OVERFLOW` (with `truncate: "error"`), `INVALID_INPUT`, `DECODE_FAILED`,
   * `CLOSED`; an `AbortError` when the signal fires.
   */
  async embed(texts: readonly string[], options: EmbedOptions = {}): Promise<EmbedResult> {
    this.#closing.assertOpen();
    const { signal, ...native } = options;
    throwIfAborted(signal);
    if (texts.length === 0) return { vectors: [], tokens: 0 };
    const waiting: Waiting = { texts, options: native, outcome: deferred(), gone: false };
    const leave = () => this.#abandon(waiting, abortError(signal));
    signal?.addEventListener("abort", leave, { once: true });
    this.#queue.push(waiting);
    this.#running ??= this.#run();
    try {
      return await waiting.outcome.promise;
    } finally {
      signal?.removeEventListener("abort", leave);
    }
  }

  /** Rejects the calls that wait and frees the memory. Idempotent. */
  close(): Promise<void> {
    return this.#closing.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #release(): Promise<void> {
    this.#onClose(this);
    for (const waiting of [...this.#queue, ...(this.#flight?.members ?? [])]) {
      this.#abandon(waiting, this.#closing.error);
    }
    await callNative(() => this.#native.close());
    await this.#running;
  }

  async #run(): Promise<void> {
    // One turn of the event loop gathers the calls that were made together.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (this.#queue.length > 0) {
      const waiting = this.#queue.filter((one) => !one.gone);
      this.#queue = [];
      for (const group of sameOptions(waiting)) await this.#embedTogether(group);
    }
    this.#running = undefined;
  }

  async #embedTogether(group: readonly Waiting[]): Promise<void> {
    const members = group.filter((one) => !one.gone);
    const [first] = members;
    if (first === undefined) return;
    try {
      const embedding = await callNative(() =>
        this.#native.embed(
          members.flatMap((one) => one.texts),
          first.options,
        ),
      );
      this.#flight = { embedding, members };
      const { vectors, tokens } = await callNative(() => embedding.result());
      await this.#deliver(members, vectors, tokens);
    } catch (error) {
      if (members.length === 1 || isFinal(error)) {
        for (const one of members) one.outcome.reject(error);
        return;
      }
      // A text that cannot be embedded must not fail the calls it happened to share a batch with.
      for (const one of members) await this.#embedTogether([one]);
    } finally {
      this.#flight = undefined;
    }
  }

  async #deliver(members: readonly Waiting[], vectors: Float32Array[], tokens: number): Promise<void> {
    let next = 0;
    for (const one of members) {
      const own = vectors.slice(next, next + one.texts.length);
      next += one.texts.length;
      const read = members.length === 1 ? tokens : await this.#tokensOf(one.texts);
      one.outcome.resolve({ vectors: own, tokens: read });
    }
  }

  /** The tokens of one call of a batch, which the addon counts as a whole. */
  async #tokensOf(texts: readonly string[]): Promise<number> {
    const counts = await Promise.all(texts.map((text) => this.#countTokens(text)));
    const { maxTokens } = this.#native.info;
    return counts.reduce((sum, count) => sum + Math.min(count, maxTokens), 0);
  }

  #abandon(waiting: Waiting, error: LocalInferenceError): void {
    waiting.gone = true;
    waiting.outcome.reject(error);
    const flight = this.#flight;
    if (flight?.members.every((one) => one.gone)) flight.embedding.cancel();
  }
}

function sameOptions(waiting: readonly Waiting[]): Waiting[][] {
  const groups = new Map<string, Waiting[]>();
  for (const one of waiting) {
    const { truncate, dimensions, normalize } = one.options;
    const key = JSON.stringify([truncate, dimensions, normalize]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [one]);
    else group.push(one);
  }
  return [...groups.values()];
}

/** Failures that a second attempt would only repeat. */
function isFinal(error: unknown): boolean {
  return error instanceof LocalInferenceError && ["CANCELLED", "CLOSED", "INTERNAL"].includes(error.code);
}

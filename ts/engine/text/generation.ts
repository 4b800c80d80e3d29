import { abortError, fromNative, LocalInferenceError } from "../../errors.js";
import { callNative, type TokenLogprob } from "../../native/addon.js";
import { deferred, OnDemandPromise, quiet } from "../../support/deferred.js";
import { present } from "../../support/present.js";
import type { CallChunk } from "./structured/tool-calls.js";
import type { FinishReason, GenerationResult, Piece, Usage } from "./types.js";

/** Where a generation's chunks come from. */
export interface ChunkStream {
  /** Everything since the last call; the last chunk has `done`, after it comes null. */
  next(): Promise<CallChunk | null>;
  cancel(): void;
}

/** Puts the text that an answer was begun with in front of it. */
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

/** Has the usage say how many messages were left out. */
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

/**
 * The text a model is producing. Iterate it for the pieces as they come, or await `result`; with neither, the model
 * waits once a few pieces are ready. Every piece is delivered once, however many iterators there are.
 *
 * Leaving the loop stops the model; `result` is then the text so far, with `finishReason: "cancelled"`. An aborted
 * signal makes both reject with an `AbortError`.
 */
export class TextGeneration implements AsyncIterable<Piece>, AsyncDisposable {
  /** Resolves when the model has accepted the request; rejects with the reason when it does not. */
  readonly started: Promise<void>;
  /** The whole answer. Awaiting it reads the rest of the stream. */
  readonly result: Promise<GenerationResult>;

  readonly #signal: AbortSignal | undefined;
  readonly #source: Promise<ChunkStream>;
  /** Rejects when the wait for the source is given up. */
  readonly #givenUp = deferred<never>();
  readonly #outcome = deferred<GenerationResult>();
  readonly #queue: Piece[] = [];
  readonly #logprobs: TokenLogprob[] = [];
  #stream: ChunkStream | undefined;
  #pulling: Promise<void> | undefined;
  #text = "";
  #reasoning = "";
  #tokens = 0;
  #usage: Usage | undefined;
  #left = false;
  #settled = false;
  #failure: LocalInferenceError | undefined;

  private constructor(begin: () => Promise<ChunkStream>, signal: AbortSignal | undefined) {
    this.#signal = signal;
    this.#source = quiet(signal?.aborted ? Promise.reject(abortError(signal)) : callNative(begin));
    this.#source.then(
      (stream) => {
        this.#stream = stream;
        if (this.#settled || this.#left || signal?.aborted) stream.cancel();
      },
      () => {},
    );
    this.started = quiet(Promise.race([this.#source, this.#givenUp.promise]).then(() => {}));
    this.result = OnDemandPromise.of(this.#outcome.promise, () => void this.#drain());
    if (signal?.aborted) this.#fail(abortError(signal));
    else signal?.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** @internal `begin` hands the request to the addon; an aborted signal keeps it from being called. */
  static start(begin: () => Promise<ChunkStream>, signal?: AbortSignal): TextGeneration {
    return new TextGeneration(begin, signal);
  }

  /** Measurements of the engine; undefined until the generation has ended, also when it was stopped. */
  get usage(): Usage | undefined {
    return this.#usage;
  }

  /** Tokens delivered so far. */
  get tokens(): number {
    return this.#tokens;
  }

  /** Resolves when the generation is over, however it ended; never rejects and reads nothing. */
  get settled(): Promise<void> {
    return this.#outcome.promise.then(
      () => {},
      () => {},
    );
  }

  /** Stops the model; resolves once it has stopped. Idempotent. */
  async cancel(): Promise<void> {
    if (this.#settled) return;
    this.#left = true;
    this.#stop(abortError());
    await this.#drain();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.cancel();
  }

  [Symbol.asyncIterator](): AsyncIterator<Piece, undefined> {
    let finished = false;
    return {
      next: async () => {
        const value = finished ? undefined : await this.#nextPiece();
        if (value !== undefined) return { done: false, value };
        finished = true;
        return { done: true, value: undefined };
      },
      return: async () => {
        finished = true;
        await this.cancel();
        return { done: true, value: undefined };
      },
    };
  }

  async #nextPiece(): Promise<Piece | undefined> {
    for (;;) {
      const piece = this.#queue.shift();
      if (piece !== undefined) return piece;
      if (this.#failure !== undefined && !this.#left) throw this.#failure;
      if (this.#settled) return undefined;
      await this.#pull();
    }
  }

  async #drain(): Promise<void> {
    while (!this.#settled) await this.#pull();
  }

  /** One read of the native stream, shared by everyone who waits for it. */
  #pull(): Promise<void> {
    this.#pulling ??= this.#read().finally(() => {
      this.#pulling = undefined;
    });
    return this.#pulling;
  }

  async #read(): Promise<void> {
    try {
      const stream = await Promise.race([this.#source, this.#givenUp.promise]);
      const chunk = await callNative(() => stream.next());
      if (chunk === null) throw new LocalInferenceError("INTERNAL", "The stream ended without a result.");
      this.#take(chunk);
    } catch (error) {
      this.#fail(this.#signal?.aborted ? abortError(this.#signal) : fromNative(error));
    }
  }

  #take(chunk: CallChunk): void {
    this.#text += chunk.text;
    this.#reasoning += chunk.reasoning;
    this.#tokens += chunk.tokens;
    if (chunk.logprobs !== undefined) this.#logprobs.push(...chunk.logprobs);
    this.#offer(chunk);
    if (chunk.done !== undefined) this.#finish(chunk.done);
  }

  #offer({ text, reasoning, tokens, logprobs, calls }: CallChunk): void {
    // What was on its way when the signal fired is nobody's any more.
    if (this.#signal?.aborted) return;
    if (text === "" && reasoning === "" && tokens === 0 && calls === undefined) return;
    this.#queue.push(present({ text, reasoning, tokens, logprobs, toolCalls: calls }));
  }

  #finish(done: NonNullable<CallChunk["done"]>): void {
    this.#usage = done.usage;
    const failure = this.#interruption(done.finishReason);
    if (failure !== undefined) {
      this.#fail(failure);
      return;
    }
    const result: GenerationResult = {
      text: this.#text,
      reasoning: this.#reasoning,
      finishReason: done.finishReason,
      usage: done.usage,
    };
    if (done.stopString !== undefined) result.stopString = done.stopString;
    if (this.#logprobs.length > 0) result.logprobs = this.#logprobs;
    if (done.toolCalls !== undefined) result.toolCalls = done.toolCalls;
    this.#settle();
    this.#outcome.resolve(result);
  }

  /** An answer that ended early for a reason other than its reader leaving is not a result. */
  #interruption(reason: FinishReason): LocalInferenceError | undefined {
    if (this.#signal?.aborted) return abortError(this.#signal);
    if (reason !== "cancelled" || this.#left) return undefined;
    return new LocalInferenceError("CANCELLED", "The model was closed while it was generating.");
  }

  #fail(error: LocalInferenceError): void {
    if (this.#settled) return;
    this.#failure = error;
    this.#settle();
    this.#outcome.reject(error);
  }

  #settle(): void {
    this.#settled = true;
    this.#signal?.removeEventListener("abort", this.#onAbort);
  }

  readonly #onAbort = (): void => {
    this.#queue.length = 0;
    this.#stop(abortError(this.#signal));
    void this.#drain();
  };

  /** Tells a running stream to stop; a request that was not handed over yet is given up. */
  #stop(error: LocalInferenceError): void {
    if (this.#stream !== undefined) this.#stream.cancel();
    else this.#givenUp.reject(error);
  }
}

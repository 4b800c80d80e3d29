import { abortError, fromNative, LocalInferenceError } from "../../errors.js";
import { callNative, type TokenLogprob } from "../../native/addon.js";
import { deferred, OnDemandPromise, quiet } from "../../support/deferred.js";
import { present } from "../../support/present.js";
import type { ChunkStream } from "./chunk-stream.js";
import type { CallChunk } from "./structured/tool-calls.js";
import type { FinishReason, GenerationResult, Piece, Usage } from "./types.js";

/**
 * What becomes of a generation. It goes down this list; each state can be left out but the last:
 * `waiting` → `streaming` → `leaving` → `aborting` → `settled`.
 */
type State =
  /** The request is being rendered and handed to the addon. */
  | { readonly name: "waiting" }
  /** The addon has accepted the request. */
  | { readonly name: "streaming"; readonly stream: ChunkStream }
  /** The reader left. The stream was cancelled and is read to its end, which brings the usage. */
  | { readonly name: "leaving" }
  /** The signal fired. As `leaving`, but what still comes is dropped, and everybody who waits gets an `AbortError`. */
  | { readonly name: "aborting"; readonly error: LocalInferenceError }
  /** It is over. A `failure` is thrown at iterators once the pieces before it are delivered. */
  | { readonly name: "settled"; readonly failure?: LocalInferenceError };

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
  #state: State = { name: "waiting" };
  /** The stream, once the addon has accepted the request; rejects when it does not, or when nobody waits any more. */
  readonly #source: Promise<ChunkStream>;
  readonly #abandoned = deferred<never>();
  readonly #outcome = deferred<GenerationResult>();
  /** The read in progress. */
  #reading: Promise<void> | undefined;
  /** Pieces that no iterator has taken yet. */
  readonly #queue: Piece[] = [];
  readonly #logprobs: TokenLogprob[] = [];
  #text = "";
  #reasoning = "";
  #tokens = 0;
  #usage: Usage | undefined;

  private constructor(begin: () => Promise<ChunkStream>, signal: AbortSignal | undefined) {
    this.#signal = signal;
    const accepted = signal?.aborted ? Promise.reject(abortError(signal)) : callNative(begin);
    this.#source = quiet(Promise.race([accepted, this.#abandoned.promise]));
    accepted.then(
      (stream) => this.#accept(stream),
      () => {},
    );
    this.started = quiet(this.#source.then(() => {}));
    this.result = OnDemandPromise.of(this.#outcome.promise, () => void this.#drain());
    if (signal?.aborted) this.#fail(abortError(signal));
    else signal?.addEventListener("abort", this.#abort, { once: true });
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
    const { name } = this.#state;
    if (name === "waiting" || name === "streaming") this.#stop({ name: "leaving" }, abortError());
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
      if (this.#state.name === "settled") {
        if (this.#state.failure !== undefined) throw this.#state.failure;
        return undefined;
      }
      await this.#read();
    }
  }

  async #drain(): Promise<void> {
    while (this.#state.name !== "settled") await this.#read();
  }

  /** The addon has accepted the request; a stream that nobody waits for any more is cancelled at once. */
  #accept(stream: ChunkStream): void {
    if (this.#state.name === "waiting") this.#state = { name: "streaming", stream };
    else stream.cancel();
  }

  readonly #abort = (): void => {
    const error = abortError(this.#signal);
    this.#queue.length = 0;
    this.#stop({ name: "aborting", error }, error);
    void this.#drain();
  };

  /** Cancels a running stream; a request that the addon has not accepted yet is abandoned with `error`. */
  #stop(next: State, error: LocalInferenceError): void {
    if (this.#state.name === "waiting") this.#abandoned.reject(error);
    if (this.#state.name === "streaming") this.#state.stream.cancel();
    this.#state = next;
  }

  /** Reads one chunk of the stream for everybody who waits. */
  #read(): Promise<void> {
    this.#reading ??= this.#readChunk().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readChunk(): Promise<void> {
    try {
      const stream = await this.#source;
      const chunk = await callNative(() => stream.next());
      if (chunk === null) throw new LocalInferenceError("INTERNAL", "The stream ended without a result.");
      this.#take(chunk);
    } catch (error) {
      this.#fail(fromNative(error));
    }
  }

  #take(chunk: CallChunk): void {
    this.#text += chunk.text;
    this.#reasoning += chunk.reasoning;
    this.#tokens += chunk.tokens;
    if (chunk.logprobs !== undefined) this.#logprobs.push(...chunk.logprobs);
    if (this.#state.name !== "aborting") this.#offer(chunk);
    if (chunk.done !== undefined) this.#finish(chunk.done);
  }

  #offer({ text, reasoning, tokens, logprobs, calls }: CallChunk): void {
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
    this.#settle({ name: "settled" });
    this.#outcome.resolve(result);
  }

  /** An answer that ended early for a reason other than its reader leaving is not a result. */
  #interruption(reason: FinishReason): LocalInferenceError | undefined {
    if (this.#state.name === "aborting") return this.#state.error;
    if (reason !== "cancelled" || this.#state.name === "leaving") return undefined;
    return new LocalInferenceError("CANCELLED", "The model was closed while it was generating.");
  }

  #fail(error: LocalInferenceError): void {
    if (this.#state.name === "settled") return;
    const failure = this.#state.name === "aborting" ? this.#state.error : error;
    // A reader that left is told nothing; `result` still rejects.
    this.#settle(this.#state.name === "leaving" ? { name: "settled" } : { name: "settled", failure });
    this.#outcome.reject(failure);
  }

  #settle(state: State & { readonly name: "settled" }): void {
    this.#state = state;
    this.#signal?.removeEventListener("abort", this.#abort);
  }
}

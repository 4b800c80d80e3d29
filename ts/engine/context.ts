import { closedError, throwIfAborted } from "../errors.js";
import { type ContextInfo, callNative, type NativeContext, type NativeModel } from "../native.js";
import { CallReader } from "../structured/tool-calls.js";
import { type ChunkStream, TextGeneration, withPrefill } from "./generation.js";
import { chatGeneration, chatInput, checkRequest, promptGeneration, toolFormOf } from "./request.js";
import type { GenerateRequest } from "./types.js";

/** A context of a model: its KV cache and the thread that decodes in it. Requests share it; they queue when it is full. */
export class LocalContext implements AsyncDisposable {
  readonly #model: NativeModel;
  readonly #native: NativeContext;
  readonly #onClose: (context: LocalContext) => void;
  #closing: Promise<void> | undefined;
  #closed = false;

  private constructor(model: NativeModel, native: NativeContext, onClose: (context: LocalContext) => void) {
    this.#model = model;
    this.#native = native;
    this.#onClose = onClose;
  }

  /** @internal */
  static of(
    model: NativeModel,
    native: NativeContext,
    onClose: (context: LocalContext) => void,
  ): LocalContext {
    return new LocalContext(model, native, onClose);
  }

  /** The sizes that were chosen, and why. */
  get info(): ContextInfo {
    this.#assertOpen();
    return this.#native.info;
  }

  /**
   * Starts a generation.
   *
   * @throws LocalInferenceError `CLOSED`, `INVALID_INPUT`. What the engine refuses later (a bad option, a prompt that is
   * too long, a template that fails) rejects `started`, `result` and the loop.
   */
  generate(request: GenerateRequest, options: { signal?: AbortSignal | undefined } = {}): TextGeneration {
    this.#assertOpen();
    checkRequest(request);
    return TextGeneration.start(() => this.begin(request, options.signal), options.signal);
  }

  /** @internal Renders the request and hands it to the addon. */
  async begin(request: GenerateRequest, signal: AbortSignal | undefined): Promise<ChunkStream> {
    const chat =
      request.messages === undefined
        ? undefined
        : await callNative(() => this.#model.renderChat(chatInput(request)));
    const input = chat === undefined ? promptGeneration(request) : chatGeneration(request, chat);
    this.#assertOpen();
    throwIfAborted(signal);
    const stream = await callNative(() => this.#native.generate(input));
    const prefilled = request.prefill ? withPrefill(stream, request.prefill) : stream;
    const form = chat && toolFormOf(request, chat);
    if (chat === undefined || form === undefined) return prefilled;
    return form.plainCall ? CallReader.ofPlainCall(prefilled) : CallReader.ofTemplate(prefilled, chat);
  }

  /** Stops what it is generating and frees its memory. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#release();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #release(): Promise<void> {
    this.#closed = true;
    this.#onClose(this);
    await callNative(() => this.#native.close());
  }

  #assertOpen(): void {
    if (this.#closed) throw closedError("context");
  }
}

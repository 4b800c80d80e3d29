import { throwIfAborted } from "../../errors.js";
import {
  type ContextInfo,
  type ContextMetrics,
  callNative,
  type GenerateInput,
  type NativeContext,
  type NativeModel,
  type RenderedChat,
} from "../../native/addon.js";
import { Closing } from "../../support/closing.js";
import { wellFormed } from "../../support/well-formed.js";
import { checkRequest } from "./check-request.js";
import { type ChunkStream, withDropped, withPrefill } from "./chunk-stream.js";
import { TextGeneration } from "./generation.js";
import { commonBeginning, type PrewarmRequest } from "./prewarm.js";
import { chatGeneration, chatInput, promptGeneration, toolFormOf } from "./request.js";
import { CallReader } from "./structured/tool-calls.js";
import { reserveOf, truncated } from "./truncate.js";
import type { ChatMessage, GenerateRequest, Usage } from "./types.js";

/** A context of a model: its KV cache and the thread that decodes in it. Requests share it; they queue when it is full. */
export class LocalContext implements AsyncDisposable {
  readonly #model: NativeModel;
  readonly #native: NativeContext;
  readonly #onClose: (context: LocalContext) => void;
  readonly #closing = new Closing("context", () => this.#release());

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
    this.#closing.assertOpen();
    return this.#native.info;
  }

  /**
   * Starts a generation.
   *
   * @throws LocalInferenceError `CLOSED`, `INVALID_INPUT`. A later refusal of the engine (a bad option, a prompt that is too
   * long, a template that fails) rejects `started`, `result` and the loop.
   */
  generate(request: GenerateRequest, options: { signal?: AbortSignal | undefined } = {}): TextGeneration {
    this.#closing.assertOpen();
    checkRequest(request);
    return TextGeneration.start(() => this.begin(request, options.signal), options.signal);
  }

  /**
   * Evaluates the beginning of later requests, such as a system message, and caches it: they start from there. Resolves
   * once it is evaluated. Prewarmed beginnings take at most three quarters of the context's `prefixCacheBytes`; closing the
   * context frees them.
   *
   * @throws LocalInferenceError `UNSUPPORTED` for a context without a prefix cache; else as {@link LocalContext.generate}.
   */
  async prewarm(request: PrewarmRequest, options: { signal?: AbortSignal | undefined } = {}): Promise<Usage> {
    this.#closing.assertOpen();
    checkRequest(request);
    const begin = async () => {
      const prompt =
        request.messages === undefined
          ? (request.prompt ?? "")
          : await commonBeginning(request.messages, (messages) => this.#promptOf({ ...request, messages }));
      const { lane = "background", queueTimeoutMs } = request;
      const parseSpecial = request.messages !== undefined || request.parseSpecial === true;
      const raw = promptGeneration({ prompt, parseSpecial, lane, ...(queueTimeoutMs && { queueTimeoutMs }) });
      return this.#submit({ ...raw, prewarm: true }, options.signal);
    };
    return (await TextGeneration.start(begin, options.signal).result).usage;
  }

  /** Counts of running and waiting requests, of the cache, and of all since the context was opened; the last ones, once it is closed. */
  metrics(): ContextMetrics {
    return this.#native.metrics();
  }

  /** @internal Renders the request and hands it to the addon. */
  async begin(asked: GenerateRequest, signal: AbortSignal | undefined): Promise<ChunkStream> {
    const { messages, dropped } = await this.#fitting(asked);
    const request = messages === undefined ? asked : { ...asked, messages };
    const chat = messages === undefined ? undefined : await this.#render(request);
    const input = chat === undefined ? promptGeneration(request) : await this.#inputOf(request, chat);
    const native = await this.#submit(input, signal);
    const stream = dropped === 0 ? native : withDropped(native, dropped);
    const prefilled = request.prefill ? withPrefill(stream, wellFormed(request.prefill)) : stream;
    const form = chat && toolFormOf(request, chat);
    if (chat === undefined || form === undefined) return prefilled;
    const { tools = [] } = request;
    return form.plainCall
      ? CallReader.ofPlainCall(prefilled, tools)
      : CallReader.ofTemplate(prefilled, tools, chat);
  }

  async #submit(input: GenerateInput, signal: AbortSignal | undefined): Promise<ChunkStream> {
    this.#closing.assertOpen();
    throwIfAborted(signal);
    return callNative(() => this.#native.generate(input));
  }

  /** The messages that are sent: all, unless `truncate` has the oldest make room. */
  async #fitting(request: GenerateRequest): Promise<{
    messages: readonly ChatMessage[] | undefined;
    dropped: number;
  }> {
    const { messages, contextFull, prefill = "" } = request;
    if (messages === undefined || contextFull !== "truncate") return { messages, dropped: 0 };
    const { contextSize } = this.info;
    const room = { contextSize, prompt: contextSize - reserveOf(request, contextSize) };
    return truncated(messages, room, async (some) =>
      this.#count((await this.#promptOf({ ...request, messages: some })) + prefill),
    );
  }

  /** The addon's input. `shift` keeps the system text unless the request sets `keepTokens`. */
  async #inputOf(request: GenerateRequest, chat: RenderedChat): Promise<GenerateInput> {
    const input = chatGeneration(request, chat);
    const system = request.messages?.[0];
    if (request.contextFull !== "shift" || request.keepTokens !== undefined) return input;
    if (system?.role !== "system" || !system.content) return input;
    const at = chat.prompt.indexOf(system.content.trim());
    if (at < 0) return input;
    const end = at + system.content.trim().length;
    return { ...input, keepTokens: await this.#count(chat.prompt.slice(0, end)) };
  }

  async #promptOf(request: GenerateRequest): Promise<string> {
    return (await this.#render(request)).prompt;
  }

  #render(request: GenerateRequest): Promise<RenderedChat> {
    return callNative(() => this.#model.renderChat(chatInput(request)));
  }

  /** Tokens of a rendered prompt. */
  #count(prompt: string): Promise<number> {
    return callNative(() => this.#model.countTokens(prompt, { special: true, bos: true }));
  }

  /** Stops what it is generating and frees its memory. Idempotent. */
  close(): Promise<void> {
    return this.#closing.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #release(): Promise<void> {
    this.#onClose(this);
    await callNative(() => this.#native.close());
  }
}

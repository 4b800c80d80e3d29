import { abortError, fromNative, throwIfAborted } from "../errors.js";
import {
  callNative,
  loadNative,
  type ModelHeader,
  type NativeLoading,
  type NativeModel,
  type RenderedChat,
} from "../native/addon.js";
import { Closing } from "../support/closing.js";
import { Embedder, type EmbedderOptions } from "./embedding/embedder.js";
import type { LoadOptions } from "./load-options.js";
import { checkRequest } from "./text/check-request.js";
import { LocalContext } from "./text/context.js";
import type { ContextOptions } from "./text/context-options.js";
import { TextGeneration } from "./text/generation.js";
import type { PrewarmRequest } from "./text/prewarm.js";
import type { ChatInput, GenerateRequest, Usage } from "./text/types.js";

const PROGRESS_INTERVAL_MS = 50;

export interface LoadModelOptions extends LoadOptions {
  /** The context that `generate` of the model uses; opened on the first call. */
  context?: ContextOptions;
  /** Stops the load. */
  signal?: AbortSignal;
  /** Called with a fraction from 0 to 1, about 20 times a second. */
  onProgress?: (fraction: number) => void;
}

export interface TokenOptions {
  /** Parse special tokens written in the text. Default false. */
  special?: boolean;
  /** Add the tokens that the model wants around a whole text. Default false. */
  bos?: boolean;
}

/**
 * The facts in a GGUF's header; reads no weights.
 *
 * @throws LocalInferenceError `MODEL_NOT_FOUND`, `MODEL_INVALID`, `BACKEND_UNAVAILABLE`.
 */
export async function readModelHeader(path: string): Promise<ModelHeader> {
  const addon = await loadNative();
  return callNative(() => addon.readHeader(path));
}

/** A model in memory. `await using` or `close()` frees it and everything opened from it. */
export class LocalModel implements AsyncDisposable {
  readonly #native: NativeModel;
  readonly #header: ModelHeader;
  readonly #contextOptions: ContextOptions;
  readonly #children = new Set<{ close(): Promise<void> }>();
  #context: Promise<LocalContext> | undefined;
  readonly #closing = new Closing("model", () => this.#release());

  private constructor(native: NativeModel, contextOptions: ContextOptions) {
    this.#native = native;
    this.#header = native.header;
    this.#contextOptions = contextOptions;
  }

  /**
   * Loads a GGUF.
   *
   * @throws LocalInferenceError `MODEL_NOT_FOUND`, `MODEL_INVALID`, `MODEL_UNSUPPORTED`, `OUT_OF_MEMORY`,
   * `INVALID_INPUT`, `BACKEND_UNAVAILABLE`; an `AbortError` when the signal fires.
   */
  static async load(path: string, options: LoadModelOptions = {}): Promise<LocalModel> {
    const { context = {}, signal, onProgress, ...asked } = options;
    const heads = context.heads === true && context.drafter === undefined;
    const load: LoadOptions = heads ? { heads: true, ...asked } : asked;
    throwIfAborted(signal);
    const addon = await loadNative();
    throwIfAborted(signal);
    const loading = await callNative(() => addon.loadModel(path, load));
    const native = await finish(loading, signal, onProgress);
    return new LocalModel(native, context);
  }

  /** What the file says about itself. */
  get header(): ModelHeader {
    this.#closing.assertOpen();
    return this.#header;
  }

  async tokenize(text: string, options: TokenOptions = {}): Promise<Uint32Array> {
    this.#closing.assertOpen();
    return callNative(() => this.#native.tokenize(text, options));
  }

  async detokenize(tokens: ArrayLike<number>, options: Pick<TokenOptions, "special"> = {}): Promise<string> {
    this.#closing.assertOpen();
    return callNative(() => this.#native.detokenize(Uint32Array.from(tokens), options));
  }

  async countTokens(text: string, options: TokenOptions = {}): Promise<number> {
    this.#closing.assertOpen();
    return callNative(() => this.#native.countTokens(text, options));
  }

  /** The prompt that the model's chat template makes of a conversation. */
  async renderChat(input: ChatInput): Promise<RenderedChat> {
    this.#closing.assertOpen();
    return callNative(() => this.#native.renderChat(input));
  }

  /** Opens a context; it closes with the model. */
  async createContext(options: ContextOptions = {}): Promise<LocalContext> {
    this.#closing.assertOpen();
    const native = await callNative(() => this.#native.openContext(options));
    return this.#adopt(native, (forget) => LocalContext.of(this.#native, native, forget));
  }

  /** Opens an embedder; it closes with the model. */
  async createEmbedder(options: EmbedderOptions = {}): Promise<Embedder> {
    this.#closing.assertOpen();
    const native = await callNative(() => this.#native.openEmbedder(options));
    const count = (text: string) => this.countTokens(text, { bos: true });
    return this.#adopt(native, (forget) => Embedder.of(native, count, forget));
  }

  /** The context that {@link LocalModel.generate} uses. */
  context(): Promise<LocalContext> {
    this.#closing.assertOpen();
    this.#context ??= this.createContext(this.#contextOptions).catch((error: unknown) => {
      this.#context = undefined;
      throw error;
    });
    return this.#context;
  }

  /**
   * Starts a generation in the model's own context.
   *
   * @throws LocalInferenceError `CLOSED`, `INVALID_INPUT`; see {@link LocalContext.generate} for what comes later.
   */
  generate(request: GenerateRequest, options: { signal?: AbortSignal | undefined } = {}): TextGeneration {
    this.#closing.assertOpen();
    checkRequest(request);
    const { signal } = options;
    return TextGeneration.start(async () => (await this.context()).begin(request, signal), signal);
  }

  /** Keeps what later requests begin with evaluated in the model's own context; see {@link LocalContext.prewarm}. */
  async prewarm(request: PrewarmRequest, options: { signal?: AbortSignal | undefined } = {}): Promise<Usage> {
    this.#closing.assertOpen();
    return (await this.context()).prewarm(request, options);
  }

  /** Stops everything opened from the model, then frees it. Idempotent. */
  close(): Promise<void> {
    return this.#closing.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #release(): Promise<void> {
    await Promise.allSettled([...this.#children].map((child) => child.close()));
    await callNative(() => this.#native.close());
  }

  /** The model may have been closed while the child was opening; then the child must not outlive it. */
  async #adopt<T extends { close(): Promise<void> }>(
    native: { close(): Promise<void> },
    wrap: (forget: (child: T) => void) => T,
  ): Promise<T> {
    if (this.#closing.closed) {
      await callNative(() => native.close());
      throw this.#closing.error;
    }
    const child = wrap((closed) => this.#children.delete(closed));
    this.#children.add(child);
    return child;
  }
}

async function finish(
  loading: NativeLoading,
  signal: AbortSignal | undefined,
  onProgress: ((fraction: number) => void) | undefined,
): Promise<NativeModel> {
  const cancel = () => loading.cancel();
  signal?.addEventListener("abort", cancel, { once: true });
  const timer = onProgress && setInterval(() => onProgress(loading.progress()), PROGRESS_INTERVAL_MS).unref();
  try {
    const native = await loading.result();
    if (signal?.aborted) {
      await native.close();
      throw abortError(signal);
    }
    onProgress?.(1);
    return native;
  } catch (error) {
    throw signal?.aborted ? abortError(signal) : fromNative(error);
  } finally {
    clearInterval(timer);
    signal?.removeEventListener("abort", cancel);
  }
}

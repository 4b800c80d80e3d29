import { abortError, closedError, throwIfAborted } from "../errors.js";
import { forwardLogs } from "../native/logs.js";
import type { EmbedOptions, EmbedResult } from "./embedding/embedder.js";
import type { Lease, MemoryOwner } from "./memory/types.js";
import type { LocalModel } from "./model.js";
import { acquire, disown, type Resident, relinquish, residency } from "./residents.js";
import type { AnySpec, EmbeddingSpec, ModelSpec, TextSpec } from "./specs.js";
import type { TextGeneration } from "./text/generation.js";
import type { PrewarmRequest } from "./text/prewarm.js";
import type { GenerateRequest, Usage } from "./text/types.js";

export type { EmbeddingSpec, ModelSpec, TextSpec };

export interface EngineOptions {
  /** Milliseconds without a request after which a model leaves memory; 0: never. Default 15 minutes. */
  idleUnloadMs?: number;
}

interface Call {
  signal?: AbortSignal | undefined;
}

/**
 * Keeps models in memory while they are used. Engines of one process share the weights of the same file loaded with
 * the same options; closing one leaves what another one uses.
 */
export class Engine implements MemoryOwner, AsyncDisposable {
  readonly idleUnloadMs: number;
  /** One controller for each request in progress. */
  readonly #requests = new Set<AbortController>();
  readonly #work = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;
  #closed = false;

  private constructor(options: EngineOptions) {
    this.idleUnloadMs = options.idleUnloadMs ?? 15 * 60_000;
  }

  /** Loads nothing. */
  static create(options: EngineOptions = {}): Engine {
    return new Engine(options);
  }

  /** Requests in progress. */
  get active(): number {
    return this.#requests.size;
  }

  /**
   * Starts a generation, loading the model first when it is not in memory; resolves when the model has accepted it.
   *
   * @throws LocalInferenceError what loading, rendering and the sampling options can throw; `CLOSED`; an `AbortError`.
   */
  generate(spec: TextSpec, request: GenerateRequest, call: Call = {}): Promise<TextGeneration> {
    return this.#request(call.signal, async (signal, resident) => {
      const context = await resident(spec).then((one) => one.context(spec.context ?? {}));
      const generation = context.generate(request, { signal });
      await generation.started;
      return { value: generation, until: generation.settled };
    });
  }

  /** Embeds texts; calls at the same time share a batch. */
  embed(spec: EmbeddingSpec, texts: readonly string[], call: EmbedOptions = {}): Promise<EmbedResult> {
    return this.#request(call.signal, async (signal, resident) => {
      const embedder = await resident(spec).then((one) => one.embedder(spec.embedder ?? {}));
      return { value: await embedder.embed(texts, { ...call, signal }) };
    });
  }

  /** Runs `work` with the model in memory. */
  withModel<T>(spec: ModelSpec, work: (model: LocalModel) => Promise<T>, call: Call = {}): Promise<T> {
    return this.#request(call.signal, async (_, resident) => {
      const { model } = await resident(spec);
      return { value: await work(model) };
    });
  }

  /** Keeps what later requests begin with evaluated, loading the model first; see {@link LocalContext.prewarm}. */
  prewarm(spec: TextSpec, request: PrewarmRequest, call: Call = {}): Promise<Usage> {
    return this.#request(call.signal, async (signal, resident) => {
      const context = await resident(spec).then((one) => one.context(spec.context ?? {}));
      return { value: await context.prewarm(request, { signal }) };
    });
  }

  /** Loads a model and opens what the spec names, so that the first request finds it in memory. */
  preload(spec: TextSpec | EmbeddingSpec, call: Call = {}): Promise<void> {
    return this.#request(call.signal, async (_, resident) => {
      const held = await resident(spec);
      if ("embedder" in spec) await held.embedder(spec.embedder ?? {});
      else if ("context" in spec) await held.context(spec.context ?? {});
      return { value: undefined };
    });
  }

  /**
   * Gives up one model; resolves when it has left memory, unless another engine claims it. Requests that are using it, or
   * waiting for it to load, end with `CLOSED`.
   */
  release(spec: ModelSpec): Promise<void> {
    return relinquish(this, spec);
  }

  /** Whether a model is in memory, and whether another engine uses it. */
  residency(spec: ModelSpec): { loaded: boolean; shared: boolean } {
    return residency(this, spec);
  }

  /** Aborts this engine's requests and gives up its models. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#release();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #release(): Promise<void> {
    this.#closed = true;
    for (const request of this.#requests) request.abort(closedError("engine"));
    await Promise.allSettled(this.#work);
    await disown(this);
  }

  /** Runs one request with a signal that the caller and `close` can fire; holds its model until `until`. */
  async #request<T>(
    outer: AbortSignal | undefined,
    run: (
      signal: AbortSignal,
      resident: (spec: AnySpec) => Promise<Resident>,
    ) => Promise<{ value: T; until?: Promise<void> }>,
  ): Promise<T> {
    if (this.#closed) throw closedError("engine");
    throwIfAborted(outer);
    const controller = new AbortController();
    const forward = () => controller.abort(abortError(outer));
    outer?.addEventListener("abort", forward, { once: true });
    this.#requests.add(controller);
    const held: Lease<Resident>[] = [];
    const hold = async (spec: AnySpec) => {
      const lease = await acquire(this, spec, controller.signal);
      held.push(lease);
      return lease.value;
    };
    const finish = () => {
      outer?.removeEventListener("abort", forward);
      this.#requests.delete(controller);
      for (const lease of held) lease.release();
      forwardLogs();
    };
    const running = run(controller.signal, hold);
    this.#track(running.then(({ until }) => until).finally(finish));
    return (await running).value;
  }

  #track(work: Promise<unknown>): void {
    const tracked = work.catch(() => {}).finally(() => this.#work.delete(tracked));
    this.#work.add(tracked);
  }
}

import { abortError, throwIfAborted } from "../errors.js";
import { forwardLogs } from "../native/logs.js";
import { Closing } from "../support/closing.js";
import type { EmbedOptions, EmbedResult } from "./embedding/embedder.js";
import type { ResidentOf } from "./kinds.js";
import { DEFAULT_IDLE_UNLOAD_MS, type Lease, type MemoryOwner } from "./memory/contract.js";
import type { LocalModel } from "./model.js";
import type { Resident } from "./resident.js";
import { acquire, disown, type Handle, relinquish, residency } from "./residents.js";
import type { AnySpec, EmbeddingSpec, ModelSpec, TextSpec } from "./specs.js";
import type { TextGeneration } from "./text/generation.js";
import type { PrewarmRequest } from "./text/prewarm.js";
import type { GenerateRequest, Usage } from "./text/types.js";

export type { AnySpec, EmbeddingSpec, ModelSpec, TextSpec };

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
  readonly #closing = new Closing("engine", () => this.#release());

  private constructor(options: EngineOptions) {
    this.idleUnloadMs = options.idleUnloadMs ?? DEFAULT_IDLE_UNLOAD_MS;
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
    return this.use(spec, call, async (resident, signal) => {
      const context = await resident.context(spec);
      const generation = context.generate(request, { signal });
      await generation.started;
      return { value: generation, until: generation.settled };
    });
  }

  /** Embeds texts; calls at the same time share a batch. */
  embed(spec: EmbeddingSpec, texts: readonly string[], call: EmbedOptions = {}): Promise<EmbedResult> {
    return this.use(spec, call, async (resident, signal) => {
      const embedder = await resident.embedder(spec);
      return { value: await embedder.embed(texts, { ...call, signal }) };
    });
  }

  /** Runs `work` with the model in memory. */
  withModel<T>(spec: AnySpec, work: (model: LocalModel) => Promise<T>, call: Call = {}): Promise<T> {
    return this.use(spec, call, async ({ model }) => ({ value: await work(model) }));
  }

  /** Keeps what later requests begin with evaluated, loading the model first; see {@link LocalContext.prewarm}. */
  prewarm(spec: TextSpec, request: PrewarmRequest, call: Call = {}): Promise<Usage> {
    return this.use(spec, call, async (resident, signal) => {
      const context = await resident.context(spec);
      return { value: await context.prewarm(request, { signal }) };
    });
  }

  /** Loads a model and opens what the spec names, so that the first request finds it in memory. */
  preload(spec: AnySpec, call: Call = {}): Promise<void> {
    return this.use(spec, call, async (resident: Resident<ModelSpec>) => ({
      value: await resident.open(spec),
    }));
  }

  /**
   * Loads a model and has it compute something: one token, or one vector.
   *
   * @throws LocalInferenceError what loading and decoding throw; `DECODE_FAILED` for a model that computes nothing.
   */
  check(spec: AnySpec, call: Call = {}): Promise<void> {
    return this.use(spec, call, async (resident: Resident<ModelSpec>, signal) => ({
      value: await resident.check(spec, signal),
    }));
  }

  /**
   * Runs `work` with what the spec's kind opens from the model, which stays in memory until `work` has ended and, where it
   * returns `until`, until that has settled. The signal fires when the caller's does or the engine closes.
   *
   * @internal Requests have methods of their own.
   */
  async use<S extends AnySpec, T>(
    spec: S,
    call: Call,
    work: (resident: ResidentOf<S>, signal: AbortSignal) => Promise<{ value: T; until?: Promise<void> }>,
  ): Promise<T> {
    return this.#request(call.signal, async (signal, hold) =>
      work((await hold(spec)).resident(spec), signal),
    );
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
    return this.#closing.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #release(): Promise<void> {
    for (const request of this.#requests) request.abort(this.#closing.error);
    await Promise.allSettled(this.#work);
    await disown(this);
  }

  /** Runs one request with a signal that the caller and `close` can fire; holds its model until `until`. */
  async #request<T>(
    outer: AbortSignal | undefined,
    run: (
      signal: AbortSignal,
      hold: (spec: ModelSpec) => Promise<Handle>,
    ) => Promise<{ value: T; until?: Promise<void> }>,
  ): Promise<T> {
    this.#closing.assertOpen();
    throwIfAborted(outer);
    const controller = new AbortController();
    const forward = () => controller.abort(abortError(outer));
    outer?.addEventListener("abort", forward, { once: true });
    this.#requests.add(controller);
    const held: Lease<Handle>[] = [];
    const hold = async (spec: ModelSpec) => {
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

import { LocalInferenceError } from "../errors.js";
import type { ContextMetrics, ModelShape } from "../native/addon.js";
import { GGUF, ggufNeed } from "./gguf.js";
import { memoryArbiter } from "./memory/shared.js";
import type { LocalModel } from "./model.js";
import { OnceForOptions } from "./once-for-options.js";
import type { ModelKind, Resident } from "./resident.js";
import type { TextSpec } from "./specs.js";
import type { LocalContext } from "./text/context.js";
import type { ContextOptions } from "./text/context-options.js";

/** Tokens of context that a text model should find room for when its size is left to the memory. */
const USEFUL_CONTEXT = 4096;

/** A model that writes text, with the contexts opened from it. */
export class TextResident implements Resident<TextSpec> {
  readonly model: LocalModel;
  readonly #contexts = new OnceForOptions<LocalContext>();
  readonly #open: LocalContext[] = [];
  #kvBytes = 0;

  constructor(model: LocalModel) {
    this.model = model;
  }

  /** Bytes of the KV caches, those of drafters included, and of the prefix caches. */
  get cacheBytes(): number {
    return this.#open.reduce((sum, context) => sum + context.metrics().cacheBytes, this.#kvBytes);
  }

  /** The context that a spec names, opened on the first call; the arbiter evicts idle models if there is no room for it. */
  context({ context: options = {} }: TextSpec): Promise<LocalContext> {
    return this.#contexts.get(options, () => this.#openContext(options));
  }

  async open(spec: TextSpec): Promise<void> {
    await this.context(spec);
  }

  async check(spec: TextSpec, signal: AbortSignal): Promise<void> {
    const context = await this.context(spec);
    const request = { prompt: "Hello", maxTokens: 1, temperature: 0, ignoreEos: true };
    const generation = context.generate(request, { signal });
    const { usage } = await generation.result;
    // The lease of the check ends with the generation, not before.
    await generation.settled;
    if (usage.completionTokens < 1) {
      throw new LocalInferenceError("DECODE_FAILED", "The model generates nothing.");
    }
  }

  metrics(): ContextMetrics[] {
    return this.#open.map((context) => context.metrics());
  }

  async #openContext(options: ContextOptions): Promise<LocalContext> {
    const context = await memoryArbiter().withRoom(() => this.model.createContext(options));
    this.#open.push(context);
    this.#kvBytes += context.info.kvBytes + context.info.drafterBytes;
    return context;
  }
}

export const TEXT: ModelKind<TextSpec, LocalModel, TextResident> = {
  role: "text",
  format: GGUF,
  need: (spec) =>
    ggufNeed(spec, ({ contextLength }: ModelShape) => {
      return spec.context?.contextSize ?? Math.min(USEFUL_CONTEXT, contextLength);
    }),
  resident: (model) => new TextResident(model),
};

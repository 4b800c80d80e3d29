import type {
  ChatInput,
  ContextInfo,
  ContextMetrics,
  ContextOptions,
  EmbedderInfo,
  EmbedderOptions,
  GenerateInput,
  ModelHeader,
  RenderedChat,
} from "../../ts/native/addon.js";
import type { FakeCalls } from "./fake-calls.js";
import { FakeStream } from "./fake-stream.js";

/** Tokens of the fake are UTF-8 bytes. */
export class FakeModel {
  readonly #fake: FakeCalls;
  readonly #path: string;

  constructor(fake: FakeCalls, path: string) {
    this.#fake = fake;
    this.#path = path;
  }

  get header(): ModelHeader {
    return this.#fake.header(this.#path);
  }

  async tokenize(text: string): Promise<Uint32Array> {
    return Uint32Array.from(Buffer.from(text));
  }

  async detokenize(tokens: Uint32Array): Promise<string> {
    return Buffer.from(tokens).toString();
  }

  async countTokens(text: string): Promise<number> {
    return Buffer.byteLength(text);
  }

  async renderChat(input: ChatInput): Promise<RenderedChat> {
    this.#fake.chats.push(input);
    const messages = JSON.parse(input.messagesJson) as { role: string; content: string }[];
    return {
      prompt: messages.map(({ role, content }) => `<${role}>${content}`).join(""),
      format: "fake",
      usedFallback: false,
      supportsThinking: false,
      constrainsCalls: false,
      read: (text, _, partial) =>
        this.#fake.script.parse?.(text, partial) ?? { content: text, reasoning: "", calls: [] },
      ...this.#fake.script.rendered,
    };
  }

  async openContext(options: ContextOptions): Promise<FakeContext> {
    this.#fake.contexts.push(options);
    return new FakeContext(this.#fake);
  }

  async openEmbedder(options: EmbedderOptions): Promise<FakeEmbedder> {
    this.#fake.embedders.push(options);
    return new FakeEmbedder(this.#fake, this.header.embeddingLength);
  }

  async close(): Promise<void> {
    await this.#fake.held(this.#fake.script.holdCloses);
    this.#fake.closed.push("model");
  }
}

const NO_METRICS: ContextMetrics = {
  running: 0,
  waitingInteractive: 0,
  waitingNormal: 0,
  waitingBackground: 0,
  paused: 0,
  contextUsed: 0,
  contextSize: 2048,
  cacheEntries: 0,
  cacheBytes: 0,
  started: 0,
  hits: 0,
  promptTokens: 0,
  cachedPromptTokens: 0,
  completionTokens: 0,
  pauses: 0,
  refused: 0,
  timedOut: 0,
};

class FakeContext {
  readonly #fake: FakeCalls;
  readonly #streams: FakeStream[] = [];

  constructor(fake: FakeCalls) {
    this.#fake = fake;
  }

  get info(): ContextInfo {
    return {
      contextSize: 2048,
      kvTypeK: "f16",
      kvTypeV: "f16",
      kvBytes: 1,
      drafterBytes: 0,
      threads: 1,
      batchSize: 512,
      microBatchSize: 512,
      trainingContext: 2048,
      reason: "fake",
      speculative: {},
    };
  }

  metrics(): ContextMetrics {
    return { ...NO_METRICS, started: this.#streams.length };
  }

  generate(input: GenerateInput): FakeStream {
    this.#fake.inputs.push(completed(input));
    const refusal = this.#fake.script.generateError ?? this.#fake.script.refuse?.(input);
    if (refusal) throw new Error(refusal);
    const stream = new FakeStream(this.#fake.script, input);
    this.#streams.push(stream);
    this.#fake.streams.push(stream);
    return stream;
  }

  async close(): Promise<void> {
    this.#fake.closed.push("context");
    for (const stream of this.#streams) stream.cancel();
  }
}

/** The input with the prompt that the addon makes of it. */
function completed({ chat, prefill = "", ...input }: GenerateInput): GenerateInput {
  if (chat !== undefined) return { ...input, prompt: chat.prompt + prefill, parseSpecial: true };
  return input.prompt === undefined ? input : { ...input, prompt: input.prompt + prefill };
}

/** The vector of a text is its length followed by its first bytes: enough to tell texts apart. */
class FakeEmbedder {
  readonly #fake: FakeCalls;
  readonly #dimensions: number;

  constructor(fake: FakeCalls, dimensions: number) {
    this.#fake = fake;
    this.#dimensions = dimensions;
  }

  get info(): EmbedderInfo {
    const maxTokens = this.#fake.script.maxEmbeddingTokens ?? 256;
    return { dimensions: this.#dimensions, maxTokens, pooling: "mean", threads: 1 };
  }

  embed(texts: string[], options: { dimensions?: number }) {
    const batch = { texts, options, cancelled: false };
    this.#fake.batches.push(batch);
    const result = async () => {
      await this.#fake.held(this.#fake.script.holdEmbeddings);
      if (batch.cancelled) throw new Error("CANCELLED: the embedding was stopped");
      const error = this.#fake.script.embedError?.(texts);
      if (error !== undefined) throw new Error(error);
      const tokens = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
      return { vectors: texts.map((text) => this.#vector(text, options.dimensions)), tokens, truncated: 0 };
    };
    return {
      result,
      cancel: () => {
        batch.cancelled = true;
        this.#fake.release();
      },
    };
  }

  async close(): Promise<void> {
    this.#fake.closed.push("embedder");
  }

  #vector(text: string, dimensions = this.#dimensions): Float32Array {
    const vector = new Float32Array(dimensions);
    vector[0] = text.length;
    vector.set(Buffer.from(text).subarray(0, dimensions - 1), 1);
    return vector;
  }
}

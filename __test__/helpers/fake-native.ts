import { totalmem } from "node:os";
import type { ParsedAnswer } from "../../index.js";
import type {
  ChatInput,
  ContextOptions,
  EmbedderOptions,
  FitAssessment,
  FitOptions,
  GenerateInput,
  LoadOptions,
  LogRecord,
  ModelHeader,
  ModelShape,
  NativeAddon,
  RenderedChat,
} from "../../ts/native/addon.js";
import { setNativeForTests } from "../../ts/native/addon.js";
import { FakeModel } from "./fake-model.js";
import type { FakeStream } from "./fake-stream.js";

export interface FakePiece {
  text?: string;
  reasoning?: string;
  tokens?: number;
}

/** How the fake addon behaves. Errors are written as the addon writes them: `CODE: message`. */
export interface Script {
  /** What a generation answers. Default: "Hello", " there". */
  pieces?: readonly FakePiece[] | ((input: GenerateInput) => readonly FakePiece[]);
  finishReason?: "stop" | "length" | "context";
  /** Pieces after which a stream waits until it is cancelled or released. */
  holdAfter?: number;
  /** Comes out of a stream although it was cancelled before, as what the engine had ready does. */
  latePiece?: FakePiece;
  /** Rejects the read that follows the last piece. */
  streamError?: string;
  /** Thrown by `generate`. */
  generateError?: string;
  loadError?: string | ((path: string) => string | undefined);
  /** What every model takes. */
  neededBytes?: number;
  /** Free bytes of the machine. Default 1,000. */
  memoryAvailable?: number;
  /** Bytes of a control group; without one the machine is not limited. */
  memoryLimit?: number;
  /** Loads wait for `Fake.release`. */
  holdLoads?: boolean;
  /** Closing a model waits for `Fake.release`. */
  holdCloses?: boolean;
  embedError?: (texts: readonly string[]) => string | undefined;
  /** Embedding batches wait for `Fake.release`. */
  holdEmbeddings?: boolean;
  maxEmbeddingTokens?: number;
  header?: Partial<ModelHeader>;
  rendered?: Partial<RenderedChat>;
  /** How answers to requests with tools are read. Default: they are text. */
  parse?: (text: string, partial: boolean) => ParsedAnswer;
}

/** A stand-in for the addon that records how it was called. */
export class Fake {
  readonly script: Script;
  readonly loads: { path: string; options: LoadOptions }[] = [];
  readonly headers: string[] = [];
  readonly chats: ChatInput[] = [];
  readonly inputs: GenerateInput[] = [];
  readonly streams: FakeStream[] = [];
  readonly contexts: ContextOptions[] = [];
  readonly embedders: EmbedderOptions[] = [];
  readonly batches: { texts: readonly string[]; options: object; cancelled: boolean }[] = [];
  /** What was closed, in order. */
  readonly closed: string[] = [];
  readonly logs: LogRecord[] = [];
  logLevel: string | undefined;
  cancelledLoads = 0;
  #waiting: (() => void)[] = [];

  constructor(script: Script = {}) {
    this.script = script;
  }

  get addon(): NativeAddon {
    const addon = {
      readHeader: async (path: string) => {
        this.headers.push(path);
        return this.header(path);
      },
      readShape: async () => ({ ...SHAPE, contextLength: this.script.header?.contextLength ?? 2048 }),
      assessFit: (shape: ModelShape, options: FitOptions) => this.#assess(shape, options),
      defaultHeadroom: () => 0,
      hardwareFacts: async () => ({
        ...HARDWARE,
        memoryTotal: this.script.memoryLimit ?? totalmem(),
        memoryAvailable: this.script.memoryAvailable ?? 1000,
      }),
      backendInfo: async () => ({
        cpuLevels: [],
        devices: [],
        deviceMemoryFree: 0,
        failures: [],
        llamaVersion: "",
        systemInfo: "",
      }),
      accelerators: async () => [],
      powerState: async () => ({}),
      loadModel: (path: string, options: LoadOptions) => this.#load(path, options),
      takeLogs: () => this.logs.splice(0),
      setLogLevel: (level: string) => {
        this.logLevel = level;
      },
      errorCodes: () => [],
      answerParser: () => ({
        parse: (text: string, partial: boolean) =>
          this.script.parse?.(text, partial) ?? { content: text, reasoning: "", calls: [] },
      }),
    };
    return addon as unknown as NativeAddon;
  }

  header(path: string): ModelHeader {
    return {
      path,
      files: [path],
      fileBytes: 1,
      architecture: "fake",
      quantization: "F16",
      parameterCount: 1,
      tensorCount: 1,
      contextLength: 2048,
      embeddingLength: 8,
      blockCount: 1,
      vocabularySize: 256,
      kind: "chat",
      weightBytes: 1,
      ...this.script.header,
    };
  }

  /** Waits while the script holds this kind of work. */
  async held(holds: boolean | undefined): Promise<void> {
    if (holds) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  release(): void {
    for (const go of this.#waiting.splice(0)) go();
  }

  /** A model needs what the script says, whatever its shape. */
  #assess(shape: ModelShape, options: FitOptions): FitAssessment {
    const neededBytes = this.script.neededBytes ?? 1;
    const missingBytes = Math.max(0, neededBytes - options.memoryAvailable);
    return {
      fits: missingBytes === 0,
      contextSize: options.contextSize ?? shape.contextLength,
      kvTypeK: (options.kvTypeK ?? "f16") as "f16",
      kvTypeV: (options.kvTypeV ?? "f16") as "f16",
      windows: "full",
      weightBytes: neededBytes,
      tokenizerBytes: 0,
      kvBytes: 0,
      computeBytes: 0,
      neededBytes,
      budgetBytes: options.memoryAvailable,
      missingBytes,
      largestContext: missingBytes === 0 ? shape.contextLength : 0,
      reason: "fake",
    };
  }

  #load(path: string, options: LoadOptions) {
    this.loads.push({ path, options });
    let cancel: () => void = () => {};
    const cancelled = new Promise<never>((_, reject) => {
      cancel = () => {
        this.cancelledLoads += 1;
        reject(new Error("CANCELLED: the load was stopped"));
      };
    });
    const result = async () => {
      await Promise.race([this.held(this.script.holdLoads), cancelled]);
      const error = this.script.loadError;
      const message = typeof error === "function" ? error(path) : error;
      if (message !== undefined) throw new Error(message);
      return new FakeModel(this, path);
    };
    return { progress: () => 0.5, cancel: () => cancel(), result };
  }
}

const SHAPE: ModelShape = {
  weightBytes: 1,
  contextLength: 2048,
  layers: [],
  stateBytes: 0,
  vocabularySize: 256,
  merges: 0,
  embeddingLength: 8,
  layerInputs: 0,
  feedForwardLength: 8,
  heads: 1,
  queryLength: 8,
};

const HARDWARE = {
  cpuModel: "fake",
  architecture: "x86_64",
  physicalCores: 1,
  logicalCores: 1,
  cpuLimit: 1,
  features: [],
};

/** Puts a fake addon in the place of the real one. */
export function useFake(script: Script = {}): Fake {
  const fake = new Fake(script);
  setNativeForTests(fake.addon);
  return fake;
}

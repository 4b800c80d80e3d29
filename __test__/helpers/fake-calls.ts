import type {
  ChatInput,
  ContextOptions,
  EmbedderOptions,
  GenerateInput,
  LoadOptions,
  LogRecord,
  ModelHeader,
} from "../../ts/native/addon.js";
import type { Script } from "./fake-script.js";
import type { FakeStream } from "./fake-stream.js";

/** What a fake addon was told to do, and what was asked of it. */
export class FakeCalls {
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
}

import type { ParsedAnswer } from "../../index.js";
import type { GenerateInput, ModelHeader, RenderedChat } from "../../ts/native/addon.js";

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
  /** Why `generate` refuses an input; nothing: it does not. */
  refuse?: (input: GenerateInput) => string | false;
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

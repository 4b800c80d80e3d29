import { randomUUID } from "node:crypto";
import { type Chunk, callNative, loadNative, type NativeAnswerParser, type RenderedChat } from "../native.js";

/** A call that a model makes. */
export interface ToolCall {
  /** The model's own id, or one made here. */
  id: string;
  name: string;
  /** JSON text. */
  arguments: string;
}

/** What a stretch of the answer adds to the call at `index`; the first one of a call has its id and name. */
export interface ToolCallDelta {
  index: number;
  id?: string;
  name?: string;
  arguments: string;
}

export interface CallChunk extends Omit<Chunk, "done"> {
  calls?: ToolCallDelta[];
  done?: NonNullable<Chunk["done"]> & { toolCalls?: ToolCall[] };
}

interface ChunkSource {
  next(): Promise<Chunk | null>;
  cancel(): void;
}

interface Read {
  content: string;
  calls: readonly { id: string; name: string; arguments: string }[];
}

/** Reads tool calls out of a stream of chunks; the text that is left is for the user. */
export class CallReader {
  readonly #source: ChunkSource;
  readonly #read: (text: string, reasoning: string, partial: boolean) => Read;
  readonly #ids: string[] = [];
  readonly #arguments: string[] = [];
  #text = "";
  #reasoning = "";
  #content = "";

  private constructor(
    source: ChunkSource,
    read: (text: string, reasoning: string, partial: boolean) => Read,
  ) {
    this.#source = source;
    this.#read = read;
  }

  /** Reads answers in the format of the chat's template. */
  static async ofTemplate(source: ChunkSource, chat: RenderedChat): Promise<CallReader> {
    const addon = await loadNative();
    const parser = await callNative(() => addon.answerParser(chat.answerFormat));
    return new CallReader(source, (text, reasoning, partial) =>
      parse(parser, whole(text, reasoning, chat), text, partial),
    );
  }

  /** Reads an answer that is one call, as JSON. */
  static ofPlainCall(source: ChunkSource): CallReader {
    return new CallReader(source, (text, _, partial) => {
      if (partial) return { content: "", calls: [] };
      const { name, arguments: args } = JSON.parse(text) as { name: string; arguments: unknown };
      return { content: "", calls: [{ id: "", name, arguments: JSON.stringify(args) }] };
    });
  }

  async next(): Promise<CallChunk | null> {
    const chunk = await this.#source.next();
    if (chunk === null) return null;
    this.#text += chunk.text;
    this.#reasoning += chunk.reasoning;
    const read = this.#read(this.#text, this.#reasoning, chunk.done === undefined);
    const calls = this.#deltas(read);
    // Content never shrinks, but its last bytes may turn out to begin a call.
    const text = read.content.startsWith(this.#content) ? read.content.slice(this.#content.length) : "";
    this.#content += text;
    const { done, ...rest } = chunk;
    const result: CallChunk = { ...rest, text };
    if (calls.length > 0) result.calls = calls;
    if (done !== undefined) {
      const toolCalls = read.calls.map(({ name, arguments: args }, index) => ({
        id: this.#ids[index] ?? "",
        name,
        arguments: args,
      }));
      result.done = toolCalls.length === 0 ? done : { ...done, toolCalls };
    }
    return result;
  }

  cancel(): void {
    this.#source.cancel();
  }

  #deltas({ calls }: Read): ToolCallDelta[] {
    const deltas: ToolCallDelta[] = [];
    for (const [index, call] of calls.entries()) {
      // A name may still grow until the arguments begin.
      if (
        call.name === "" ||
        (this.#ids[index] === undefined && call.arguments === "" && index === calls.length - 1)
      ) {
        continue;
      }
      const isNew = this.#ids[index] === undefined;
      const id = this.#ids[index] ?? (call.id || `call_${randomUUID().replaceAll("-", "").slice(0, 24)}`);
      this.#ids[index] = id;
      const known = this.#arguments[index] ?? "";
      const more = call.arguments.startsWith(known) ? call.arguments.slice(known.length) : "";
      this.#arguments[index] = known + more;
      if (isNew) deltas.push({ index, id, name: call.name, arguments: more });
      else if (more !== "") deltas.push({ index, arguments: more });
    }
    return deltas;
  }
}

/** An answer that does not have the form of its template is text. */
function parse(parser: NativeAnswerParser, whole: string, text: string, partial: boolean): Read {
  try {
    return parser.parse(whole, partial);
  } catch {
    return { content: partial ? "" : text, calls: [] };
  }
}

/** The output as the model wrote it: its reasoning was taken out. */
function whole(text: string, reasoning: string, chat: RenderedChat): string {
  if (reasoning === "" && !(chat.thinkingOpen && text !== "")) return text;
  const opening = chat.thinkingOpen ? "" : (chat.thinkingStart ?? "");
  return `${opening}${reasoning}${text === "" ? "" : (chat.thinkingEnds[0] ?? "")}${text}`;
}

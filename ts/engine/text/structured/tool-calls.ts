import { randomUUID } from "node:crypto";
import type { Chunk, RenderedChat } from "../../../native/addon.js";
import { present } from "../../../support/present.js";
import type { ChatTool, ToolCall, ToolCallDelta } from "./tool-types.js";
import { callProblem } from "./tools.js";

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
  /** The answer ends, or leaves its form, within the last call. */
  open?: boolean;
}

type Reader = (text: string, reasoning: string, partial: boolean) => Read;

const NOTHING: Read = { content: "", calls: [] };

/** Reads tool calls out of a stream of chunks; the rest of the text is for the user. */
export class CallReader {
  readonly #source: ChunkSource;
  readonly #tools: readonly ChatTool[];
  readonly #read: Reader;
  readonly #ids: string[] = [];
  readonly #arguments: string[] = [];
  #text = "";
  #reasoning = "";
  #content = "";

  private constructor(source: ChunkSource, tools: readonly ChatTool[], read: Reader) {
    this.#source = source;
    this.#tools = tools;
    this.#read = read;
  }

  /** Reads answers in the format of the chat's template. */
  static ofTemplate(source: ChunkSource, tools: readonly ChatTool[], chat: RenderedChat): CallReader {
    return new CallReader(source, tools, (text, reasoning, partial) =>
      readAnswer(chat, text, reasoning, partial),
    );
  }

  /** Reads an answer that is one call, as JSON. */
  static ofPlainCall(source: ChunkSource, tools: readonly ChatTool[]): CallReader {
    return new CallReader(source, tools, (text, _, partial) => (partial ? NOTHING : plainCall(text)));
  }

  async next(): Promise<CallChunk | null> {
    const chunk = await this.#source.next();
    if (chunk === null) return null;
    this.#text += chunk.text;
    this.#reasoning += chunk.reasoning;
    const read = this.#read(this.#text, this.#reasoning, chunk.done === undefined);
    const calls = this.#deltas(read, chunk.done !== undefined);
    // Content never shrinks, but its last bytes may turn out to begin a call.
    const text = read.content.startsWith(this.#content) ? read.content.slice(this.#content.length) : "";
    this.#content += text;
    const { done, ...rest } = chunk;
    const result: CallChunk = { ...rest, text };
    if (calls.length > 0) result.calls = calls;
    if (done === undefined) return result;
    const toolCalls = await this.#complete(read, done.finishReason);
    result.done = toolCalls.length === 0 ? done : { ...done, toolCalls };
    return result;
  }

  cancel(): void {
    this.#source.cancel();
  }

  #deltas({ calls }: Read, ended: boolean): ToolCallDelta[] {
    const deltas: ToolCallDelta[] = [];
    for (const [index, call] of calls.entries()) {
      const isNew = this.#ids[index] === undefined;
      // A name may still grow until the arguments begin.
      const grows = isNew && call.arguments === "" && index === calls.length - 1 && !ended;
      if (call.name === "" || grows) continue;
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

  #complete({ calls, open = false }: Read, finishReason: string): Promise<ToolCall[]> {
    const named = calls.filter(({ name }) => name !== "");
    const cut =
      finishReason === "stop" ? "it does not have the form of the model's template" : "it was cut short";
    return Promise.all(
      named.map(async ({ name, arguments: args }, index) => {
        const problem =
          open && index === named.length - 1
            ? cut
            : await callProblem({ name, arguments: args }, this.#tools);
        return present({ id: this.#ids[index] ?? "", name, arguments: args, problem }) as ToolCall;
      }),
    );
  }
}

/** An answer that does not have the form of the template is text, except for a call that has begun. */
function readAnswer(chat: RenderedChat, text: string, reasoning: string, partial: boolean): Read {
  try {
    return chat.read(text, reasoning, partial);
  } catch {
    const begun = partial ? NOTHING : readAnswer(chat, text, reasoning, true);
    if (begun.calls.some(({ name }) => name !== "")) return { ...begun, open: true };
    return partial ? NOTHING : { content: text, calls: [] };
  }
}

/** Reads a call as JSON; one that a limit cut short is text. */
function plainCall(text: string): Read {
  try {
    const { name, arguments: args } = JSON.parse(text) as { name: string; arguments: unknown };
    return { content: "", calls: [{ id: "", name, arguments: JSON.stringify(args) }] };
  } catch {
    return { content: text, calls: [] };
  }
}

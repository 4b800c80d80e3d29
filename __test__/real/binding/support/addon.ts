import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type * as Addon from "../../../../index.js";
import type {
  Chunk,
  Finish,
  GenerateInput,
  NativeContext,
  NativeModel,
  NativeStream,
} from "../../../../index.js";
import { modelPath } from "../../../helpers/models.js";

// Read by the OpenMP runtime while it is loaded: without a bound, threads on a busy machine spin at barriers.
process.env.GOMP_SPINCOUNT ??= "1000";

/** The addon itself, as nothing but `ts/native.ts` sees it otherwise. */
export const addon = (await import(new URL("../../../../index.js", import.meta.url).href)) as typeof Addon;

export const PATHS = { chat: modelPath("chat"), embedding: modelPath("embedding"), tiny: modelPath("tiny") };

export const load = (model: keyof typeof PATHS): Promise<NativeModel> =>
  addon.loadModel(PATHS[model], {}).result();

/** What the tiny model generates without end; its text means nothing. */
export const ENDLESS: GenerateInput = { prompt: "a", ignoreEos: true, temperature: 0, maxTokens: 1500 };

export const SMALL = { contextSize: 512, threads: 1 };
export const LARGE = { contextSize: 2048, threads: 1 };

/** The prompt of the one fact that the chat model knows for certain. */
export const CAPITAL: GenerateInput = {
  prompt:
    "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n" +
    "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n",
  parseSpecial: true,
  temperature: 0,
  maxTokens: 32,
};

export interface Read {
  text: string;
  chunks: Chunk[];
  done: Finish;
}

/** Reads a stream to its end. */
export async function readAll(stream: NativeStream): Promise<Read> {
  const chunks: Chunk[] = [];
  for (let chunk = await stream.next(); chunk !== null; chunk = await stream.next()) chunks.push(chunk);
  const done = chunks.at(-1)?.done;
  if (done === undefined) throw new Error("the stream ended without a last word");
  return { text: chunks.map((chunk) => chunk.text).join(""), chunks, done };
}

export const generate = (context: NativeContext, input: GenerateInput): Promise<Read> =>
  readAll(context.generate(input));

/** Expects `CODE: message` with this code, and returns the message. */
export async function rejection(code: string, action: () => unknown): Promise<string> {
  const error = await Promise.resolve()
    .then(action)
    .then(
      () => undefined,
      (reason: unknown) => reason,
    );
  expect(error, `expected ${code}`).toBeInstanceOf(Error);
  const { message } = error as Error;
  expect(message).toMatch(new RegExp(`^${code}: \\S`));
  return message.slice(code.length + 2);
}

/** Counts the turns of the event loop until `work` settles. */
export async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let settled = false;
  const end = () => {
    settled = true;
  };
  work.then(end, end);
  while (!settled) {
    await sleep(1);
    turns++;
  }
  return turns;
}

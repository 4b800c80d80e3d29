import type { TextGeneration } from "../engine/text/generation.js";
import type { Structured } from "../engine/text/structured/structure.js";
import type { GenerationResult } from "../engine/text/types.js";
import { towardsEliza } from "../errors.js";
import { deferred, OnDemandPromise } from "../support/deferred.js";
import { callObjects, finishReasonOf, type TokenUsage, type ToolCallObject, tokenUsage } from "./answer.js";
import { problemOf } from "./satisfying.js";

/** A streamed answer as elizaOS reads it; awaiting one of the promises reads the rest of the stream. */
export interface TextStream {
  /** The answer as it grows, without reasoning; leaving the loop stops the model. */
  textStream: AsyncIterable<string>;
  text: Promise<string>;
  usage: Promise<TokenUsage | undefined>;
  finishReason: Promise<string | undefined>;
  /** Of a request with tools: the calls that can be made. elizaOS 2 keeps them, and the finish reason, where it is there. */
  toolCalls?: Promise<ToolCallObject[] | undefined>;
}

export interface StreamOptions {
  readonly structured?: Structured | undefined;
  /** The request has tools. */
  readonly tools?: boolean;
}

export function textStream(generation: TextGeneration, options: StreamOptions = {}): TextStream {
  const { structured, tools = false } = options;
  const calls = tools ? { toolCalls: later(generation, callObjects) } : {};
  return {
    textStream: new AnswerText(generation),
    text: later(generation, (result) => result.text),
    usage: later(generation, (result) => tokenUsage(result.usage)),
    finishReason: later(generation, (result) => endOf(result, structured)),
    ...calls,
  };
}

/** Text that was streamed cannot be taken back: an answer without the form that was asked for ends with an error. */
async function endOf(result: GenerationResult, structured: Structured | undefined): Promise<string> {
  const problem = await problemOf(result, structured);
  return problem === undefined ? finishReasonOf(result) : "error";
}

function later<T>(
  generation: TextGeneration,
  pick: (result: GenerationResult) => T | Promise<T>,
): Promise<T> {
  const field = deferred<T>();
  const read = () =>
    generation.result.then(
      async (result) => {
        try {
          field.resolve(await pick(result));
        } catch (error) {
          field.reject(towardsEliza(error));
        }
      },
      (error: unknown) => field.reject(towardsEliza(error)),
    );
  return OnDemandPromise.of(field.promise, () => void read());
}

/** The generation is private to the object, because the agent's call log walks everything enumerable of a result. */
class AnswerText implements AsyncIterable<string> {
  readonly #generation: TextGeneration;

  constructor(generation: TextGeneration) {
    this.#generation = generation;
  }

  [Symbol.asyncIterator](): AsyncIterator<string, undefined> {
    const generation = this.#generation;
    const pieces = generation[Symbol.asyncIterator]();
    return {
      async next() {
        try {
          for (;;) {
            const piece = await pieces.next();
            if (piece.done) return { done: true, value: undefined };
            if (piece.value.text !== "") return { done: false, value: piece.value.text };
          }
        } catch (error) {
          throw towardsEliza(error);
        }
      },
      async return() {
        await generation.cancel();
        return { done: true, value: undefined };
      },
    };
  }
}

import { invalidInput } from "../../errors.js";
import { present } from "../../support/present.js";
import { fieldsOf } from "../../support/records.js";
import { readSignal } from "./fields.js";

export interface EmbeddingRequest {
  readonly texts: readonly string[];
  readonly signal?: AbortSignal;
}

/** `TEXT_EMBEDDING`: a string, or an object with a `text`. Without a text, or with an empty one, there are no texts. */
export function readEmbeddingRequest(params: unknown): EmbeddingRequest {
  const text = params === null || params === undefined ? "" : textOf(params);
  return present({ texts: text === "" ? [] : [text], signal: readSignal(params) });
}

/** `TEXT_EMBEDDING_BATCH` of elizaOS 2: an object with `texts`. */
export function readEmbeddingBatch(params: unknown): EmbeddingRequest {
  const { texts } = fieldsOf(params);
  if (!Array.isArray(texts) || texts.some((text) => typeof text !== "string")) {
    throw invalidInput("TEXT_EMBEDDING_BATCH needs texts, an array of strings.");
  }
  return present({ texts, signal: readSignal(params) });
}

function textOf(params: unknown): string {
  const text = typeof params === "string" ? params : fieldsOf(params).text;
  if (typeof text !== "string") throw invalidInput("TEXT_EMBEDDING needs a text.");
  return text;
}

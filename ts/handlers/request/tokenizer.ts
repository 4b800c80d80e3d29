import { invalidInput } from "../../errors.js";
import { fieldsOf } from "../../support/records.js";

/** Model types whose texts the small model counts. */
const SMALL_TYPES: readonly unknown[] = ["TEXT_SMALL", "REASONING_SMALL", "TEXT_NANO"];

/** The role whose tokenizer is meant. core passes the tokenizer's own type where it means no model in particular. */
export function readTokenizerRole(params: unknown): "small" | "large" | "embedding" {
  const { modelType } = fieldsOf(params);
  if (modelType === "TEXT_EMBEDDING") return "embedding";
  return SMALL_TYPES.includes(modelType) ? "small" : "large";
}

/** The text that `TEXT_TOKENIZER_ENCODE` turns into tokens. */
export function readTextToEncode(params: unknown): string {
  const { prompt, text } = fieldsOf(params);
  const asked = prompt ?? text;
  if (typeof asked !== "string") throw invalidInput("TEXT_TOKENIZER_ENCODE needs a prompt.");
  return asked;
}

/** The tokens that `TEXT_TOKENIZER_DECODE` turns into text. */
export function readTokensToDecode(params: unknown): number[] {
  const { tokens } = fieldsOf(params);
  if (!Array.isArray(tokens) || !tokens.every(isToken)) {
    throw invalidInput("TEXT_TOKENIZER_DECODE needs tokens, an array of token ids.");
  }
  return tokens;
}

function isToken(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 0xffff_ffff;
}

import { invalidInput } from "../../errors.js";
import { isRecord } from "../../support/records.js";
import type { Params } from "./fields.js";

/** A stretch of a prompt. */
export interface Segment {
  readonly content: string;
  /** The same in every call of its kind. */
  readonly stable: boolean;
}

/** A prompt as the caller wrote it. */
export interface Prompt {
  readonly text: string;
  /** What the text is made of, where the caller says so. */
  readonly segments?: readonly Segment[];
}

/** @throws LocalInferenceError `INVALID_INPUT` without a prompt. */
export function readPrompt({ prompt, promptSegments }: Params): Prompt {
  if (typeof prompt !== "string") throw invalidInput("A text request needs a prompt or messages.");
  const isList = Array.isArray(promptSegments) && promptSegments.every(isSegment);
  return isList ? { text: prompt, segments: promptSegments } : { text: prompt };
}

/**
 * The prompt with its stable segments in front, so that the next prompt of its kind starts from what is cached. Stable and
 * variable segments keep their order. Segments that are not those of the prompt are ignored.
 */
export function stableFirst({ text, segments }: Prompt): string {
  if (segments?.map(({ content }) => content).join("") !== text) return text;
  const stable = segments.filter((segment) => segment.stable);
  const variable = segments.filter((segment) => !segment.stable);
  if (stable.length === 0 || variable.length === 0) return text;
  return joined([
    joined(stable.map(({ content }) => content)),
    variable.map(({ content }) => content).join(""),
  ]);
}

/** A variable segment stood between two stable ones, often nothing but the blank line that kept them apart. */
function joined(texts: readonly string[]): string {
  return texts.reduce((text, next) =>
    /\n$/.test(text) || /^\n/.test(next) ? text + next : `${text}\n\n${next}`,
  );
}

function isSegment(value: unknown): value is Segment {
  return isRecord(value) && typeof value.content === "string" && typeof value.stable === "boolean";
}

import { invalidInput } from "../../errors.js";
import { isRecord } from "../../support/records.js";
import type { GenerateRequest } from "./types.js";

/** What is wrong with a value, after the place inside it: `": a text is required"`, `".2: ..."`. undefined: nothing. */
type Check = (value: unknown) => string | undefined;

const is =
  (what: string, holds: (value: unknown) => boolean): Check =>
  (value) =>
    holds(value) ? undefined : `: ${what} is required`;

const text = is("a text", (value) => typeof value === "string");
const flag = is("true or false", (value) => typeof value === "boolean");
const object = is("an object", isRecord);

const oneOf = (...words: readonly string[]): Check =>
  is(`one of ${words.join(", ")}`, (value) => words.includes(value as string));

const listOf =
  (item: Check): Check =>
  (value) => {
    if (!Array.isArray(value)) return ": a list is required";
    for (const [index, entry] of value.entries()) {
      const problem = item(entry);
      if (problem !== undefined) return `.${index}${problem}`;
    }
    return undefined;
  };

const chat: Check = (value) =>
  Array.isArray(value) && value.length === 0 ? ": a chat needs at least one message" : listOf(object)(value);

/** The options that this layer reads itself; numbers and their ranges are the addon's to judge. */
const CHECKS: { readonly [Name in keyof GenerateRequest]?: Check } = {
  prompt: text,
  messages: chat,
  prefill: text,
  stop: listOf(text),
  grammar: text,
  template: text,
  templateVariables: object,
  tools: listOf(object),
  toolChoice: oneOf("auto", "none", "required"),
  constraint: object,
  parseSpecial: flag,
  enableThinking: flag,
};

/** @throws LocalInferenceError `INVALID_INPUT` unless exactly one of `messages` and `prompt` is given, in the right form. */
export function checkRequest(request: GenerateRequest): void {
  if (object(request) !== undefined) throw invalidInput("A request must be an object.");
  for (const [name, check] of Object.entries(CHECKS)) {
    const value = request[name as keyof GenerateRequest];
    const problem = value === undefined ? undefined : check(value);
    if (problem !== undefined) throw invalidInput(`${name}${problem}.`);
  }
  if ((request.messages !== undefined) === (request.prompt !== undefined)) {
    throw invalidInput("A generation needs either messages or a prompt.");
  }
}

import { z } from "zod";
import { invalidInput } from "../../errors.js";
import type { GenerateRequest } from "./types.js";

const record = z.record(z.string(), z.unknown());

/** What this layer reads itself; numbers and their ranges are the addon's to judge. */
const SHAPE = z.looseObject({
  prompt: z.string().optional(),
  messages: z.array(record).min(1, "A chat needs at least one message.").optional(),
  prefill: z.string().optional(),
  stop: z.array(z.string()).optional(),
  grammar: z.string().optional(),
  template: z.string().optional(),
  templateVariables: record.optional(),
  tools: z.array(record).optional(),
  toolChoice: z.enum(["auto", "none", "required"]).optional(),
  constraint: record.optional(),
  parseSpecial: z.boolean().optional(),
  enableThinking: z.boolean().optional(),
});

/** @throws LocalInferenceError `INVALID_INPUT` unless exactly one of `messages` and `prompt` is given, in the right form. */
export function checkRequest(request: GenerateRequest): void {
  const { error } = SHAPE.safeParse(request);
  const issue = error?.issues[0];
  if (issue !== undefined) {
    const place = issue.path.join(".");
    throw invalidInput(
      place === "" ? `A request must be an object: ${issue.message}.` : `${place}: ${issue.message}`,
    );
  }
  if ((request.messages !== undefined) === (request.prompt !== undefined)) {
    throw invalidInput("A generation needs either messages or a prompt.");
  }
}

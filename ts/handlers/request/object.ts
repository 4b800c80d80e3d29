import type { ChatMessage } from "../../engine/text/types.js";
import { invalidInput } from "../../errors.js";
import { present } from "../../support/present.js";
import { isRecord } from "../../support/records.js";
import { type Params, paramsOf } from "./fields.js";
import { readMessages } from "./messages.js";
import { type Prompt, readPrompt } from "./prompt.js";
import { type GenerationRequest, readGeneration } from "./text.js";

/** A request for a value that satisfies a schema. */
export interface ObjectRequest extends GenerationRequest {
  readonly prompt: Prompt;
  /** Sent instead of the prompt, where there are some. */
  readonly messages?: readonly ChatMessage[];
  /** The JSON Schema of the value. */
  readonly schema: unknown;
}

/** @throws LocalInferenceError `INVALID_INPUT`; `LOCAL_INFERENCE_UNAVAILABLE` for what the engine cannot honour. */
export function readObjectRequest(unread: unknown): ObjectRequest {
  const params = paramsOf(unread, "An object request needs parameters.");
  const generation = readGeneration(params);
  const prompt = readPrompt(params);
  return {
    ...generation,
    ...present({ prompt, messages: readMessages(params) }),
    schema: objectSchema(params),
  };
}

/** The schema of what an OBJECT request wants: `output` says whether `schema` describes an object or an array's items. */
export function objectSchema({ schema, output = "object", enumValues }: Params): unknown {
  switch (output) {
    case "enum":
      if (!Array.isArray(enumValues) || enumValues.length === 0) {
        throw invalidInput("output enum needs enumValues, an array of strings.");
      }
      return { enum: enumValues };
    case "array":
      if (isRecord(schema) && schema.type === "array") return schema;
      return { type: "array", items: schema ?? { type: "object" } };
    case "object":
      return schema ?? { type: "object" };
    default:
      throw invalidInput(`output ${JSON.stringify(output)} is not known.`);
  }
}

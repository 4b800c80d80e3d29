import { samplingOf } from "../../engine/text/request.js";
import type { ChatMessage, GenerateRequest, Sampling } from "../../engine/text/types.js";
import { invalidInput } from "../../errors.js";
import { present } from "../../support/present.js";
import { given } from "../../support/records.js";
import { optionalString, type Params, paramsOf, readSignal, stringOf } from "./fields.js";
import { type AnswerForm, readForm } from "./form.js";
import { readMessages, refuseAttachments } from "./messages.js";
import { type Prompt, readPrompt } from "./prompt.js";
import { type AskedSharing, readSharing } from "./sharing.js";
import { readTools } from "./tools.js";

/** What a model is to answer: messages, or a prompt. */
export type Question =
  | { readonly messages: readonly ChatMessage[]; readonly prompt?: undefined }
  | { readonly prompt: Prompt; readonly messages?: undefined };

/** Sampling, stop sequences and tools, which the engine takes as they are. */
export type GenerateOptions = Pick<GenerateRequest, keyof Sampling | "stop" | "tools" | "toolChoice">;

/** What every request that generates has. */
export interface GenerationRequest {
  /** The request's own system text; the character's, where it has none. An empty one is none at all. */
  readonly system?: string;
  readonly options: GenerateOptions;
  readonly sharing: AskedSharing;
  /** The caller reads the answer as it grows. */
  readonly stream: boolean;
  readonly signal?: AbortSignal;
}

/** A request of one of the text types. */
export interface TextRequest extends GenerationRequest {
  readonly question: Question;
  readonly form?: AnswerForm;
  /** Text that the answer begins with. */
  readonly prefill?: string;
  /** The prompt that elizaOS's reply templates are looked for in. */
  readonly templatePrompt?: string;
  /** There is a list of tools, even an empty one. */
  readonly hasTools: boolean;
  /** The caller expects the object form of 2.x instead of a string. */
  readonly wantsObject: boolean;
}

/** @throws LocalInferenceError `INVALID_INPUT`; `LOCAL_INFERENCE_UNAVAILABLE` for what the engine cannot honour. */
export function readTextRequest(unread: unknown): TextRequest {
  const params = paramsOf(unread, "A text request needs parameters.");
  return present({
    ...readGeneration(params),
    question: readQuestion(params),
    form: readForm(params),
    prefill: stringOf(params.prefill),
    templatePrompt: stringOf(params.prompt),
    hasTools: Array.isArray(params.tools),
    wantsObject: ["messages", "tools", "toolChoice", "responseSchema"].some((key) => given(params[key])),
  });
}

/** The part that text and object requests have in common. */
export function readGeneration(params: Params): GenerationRequest {
  refuseAttachments(params);
  return present({
    system: optionalString(params, "system"),
    options: readOptions(params),
    sharing: readSharing(params),
    stream: params.stream === true,
    signal: readSignal(params),
  });
}

function readQuestion(params: Params): Question {
  const messages = readMessages(params);
  return messages === undefined ? { prompt: readPrompt(params) } : { messages };
}

/** Numbers and their ranges are the engine's to judge. */
function readOptions(params: Params): GenerateOptions {
  const sampling = samplingOf(params);
  if (params.omitMaxTokens === true) delete sampling.maxTokens;
  // The form of the answer is readForm's to find.
  delete sampling.grammar;
  return present({ ...sampling, stop: readStops(params), ...readTools(params) });
}

function readStops({ stopSequences }: Params): string[] | undefined {
  if (!given(stopSequences)) return undefined;
  if (!Array.isArray(stopSequences) || stopSequences.some((stop) => typeof stop !== "string")) {
    throw invalidInput("stopSequences must be an array of strings.");
  }
  // An empty one would end the answer at once.
  return stopSequences.filter((stop) => stop !== "");
}

import type { GenerateInput, RenderedChat } from "../../native/addon.js";
import { present } from "../../support/present.js";
import { wellFormed, wellFormedJson } from "../../support/well-formed.js";
import type { Constraint } from "./structured/constraint.js";
import { type ToolForm, toolForm } from "./structured/tools.js";
import type { ChatInput, GenerateRequest, Sampling, Sharing } from "./types.js";

/** Every sampling option: the compiler refuses a key of `Sampling` that is missing here, and any other. */
const SAMPLING: Readonly<Record<keyof Sampling, true>> = {
  maxTokens: true,
  minTokens: true,
  temperature: true,
  topP: true,
  topK: true,
  minP: true,
  typicalP: true,
  repetitionPenalty: true,
  frequencyPenalty: true,
  presencePenalty: true,
  penaltyWindow: true,
  seed: true,
  dryMultiplier: true,
  dryBase: true,
  dryAllowedLength: true,
  dryWindow: true,
  drySequenceBreakers: true,
  xtcProbability: true,
  xtcThreshold: true,
  mirostat: true,
  mirostatTau: true,
  mirostatEta: true,
  logitBias: true,
  logprobs: true,
  grammar: true,
  ignoreEos: true,
  speculative: true,
};

/** The names of the sampling options. */
export const SAMPLING_KEYS = Object.keys(SAMPLING) as readonly (keyof Sampling)[];

/** The sampling options of `source` that are set; null counts as unset. */
export function samplingOf(source: Partial<Record<keyof Sampling, unknown>>): Sampling {
  const set = SAMPLING_KEYS.filter((key) => source[key] !== undefined && source[key] !== null);
  return Object.fromEntries(set.map((key) => [key, source[key]])) as Sampling;
}

/** How the addon has a request share its context. An answer that `truncate` did not foresee ends where the context does. */
function addonSharing({ lane, queueTimeoutMs, conversation, contextFull, keepTokens }: Sharing) {
  const policy = contextFull === "truncate" ? "stop" : contextFull;
  return { lane, queueTimeoutMs, conversation, contextFull: policy, keepTokens };
}

/** The part of a request that the chat template sees. */
export function chatInput(request: GenerateRequest): ChatInput {
  return present({
    messagesJson: wellFormedJson(request.messages),
    toolsJson: request.tools?.length ? wellFormedJson(request.tools) : undefined,
    toolChoice: request.tools?.length ? request.toolChoice : undefined,
    addGenerationPrompt: true,
    enableThinking: request.enableThinking,
    template: request.template,
    templateKwargsJson:
      request.templateVariables === undefined ? undefined : wellFormedJson(request.templateVariables),
  });
}

/** What the addon is asked to generate for a rendered chat; it adds what the template fixes. */
export function chatGeneration(request: GenerateRequest, chat: RenderedChat): GenerateInput {
  return present({
    ...samplingOf(request),
    ...addonSharing(request),
    chat,
    prefill: request.prefill === undefined ? undefined : wellFormed(request.prefill),
    stops: [...(request.stop ?? [])],
    constraint: constraintOf(request) ?? toolFormOf(request, chat)?.constraint,
  });
}

/** What the addon is asked to generate for a raw prompt. */
export function promptGeneration(request: GenerateRequest): GenerateInput {
  return present({
    ...samplingOf(request),
    ...addonSharing(request),
    prompt: request.prompt ?? "",
    prefill: request.prefill === undefined ? undefined : wellFormed(request.prefill),
    parseSpecial: request.parseSpecial ?? false,
    constraint: constraintOf(request),
    stops: [...(request.stop ?? [])],
  });
}

/** How the tools of a request shape its answer; undefined where they do not. */
export function toolFormOf(request: GenerateRequest, chat: RenderedChat): ToolForm | undefined {
  const { tools } = request;
  if (!tools?.length || constraintOf(request) !== undefined || request.grammar !== undefined)
    return undefined;
  return toolForm(tools, request.toolChoice, chat);
}

function constraintOf({ constraint, prefill = "" }: GenerateRequest): Constraint | undefined {
  return constraint === undefined || prefill === ""
    ? constraint
    : { ...constraint, prefix: wellFormed(prefill) };
}

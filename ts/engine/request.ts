import { invalidInput, LocalInferenceError } from "../errors.js";
import type { ChatInput, GenerateInput, RenderedChat } from "../native.js";
import { present } from "../present.js";
import type { GenerateRequest, Sampling } from "./types.js";

const SAMPLING_KEYS = [
  "maxTokens",
  "minTokens",
  "temperature",
  "topP",
  "topK",
  "minP",
  "typicalP",
  "repetitionPenalty",
  "frequencyPenalty",
  "presencePenalty",
  "penaltyWindow",
  "seed",
  "dryMultiplier",
  "dryBase",
  "dryAllowedLength",
  "dryWindow",
  "drySequenceBreakers",
  "xtcProbability",
  "xtcThreshold",
  "mirostat",
  "mirostatTau",
  "mirostatEta",
  "logitBias",
  "logprobs",
  "grammar",
  "ignoreEos",
] as const satisfies readonly (keyof Sampling)[];

/** The sampling options of `source` that are set; null counts as unset. */
export function samplingOf(source: Partial<Record<keyof Sampling, unknown>>): Sampling {
  const set = SAMPLING_KEYS.filter((key) => source[key] !== undefined && source[key] !== null);
  return Object.fromEntries(set.map((key) => [key, source[key]])) as Sampling;
}

/** The part of a request that the chat template sees. */
export function chatInput(request: GenerateRequest): ChatInput {
  return present({
    messagesJson: JSON.stringify(request.messages),
    toolsJson: request.tools?.length ? JSON.stringify(request.tools) : undefined,
    toolChoice: request.tools?.length ? request.toolChoice : undefined,
    addGenerationPrompt: true,
    enableThinking: request.enableThinking,
    template: request.template,
    templateKwargsJson:
      request.templateVariables === undefined ? undefined : JSON.stringify(request.templateVariables),
  });
}

/** What the addon is asked to generate for a rendered chat. */
export function chatGeneration(request: GenerateRequest, chat: RenderedChat): GenerateInput {
  const thinking =
    chat.thinkingStart !== undefined && chat.thinkingEnds.length > 0
      ? { start: chat.thinkingStart, ends: chat.thinkingEnds, open: chat.thinkingOpen }
      : undefined;
  return present({
    ...samplingOf(request),
    prompt: chat.prompt,
    parseSpecial: true,
    stops: [...(request.stop ?? []), ...chat.stops],
    grammar: request.grammar ?? toolGrammar(request, chat),
    thinking,
    preservedTokens: chat.preservedTokens,
  });
}

/** What the addon is asked to generate for a raw prompt. */
export function promptGeneration(request: GenerateRequest): GenerateInput {
  return present({
    ...samplingOf(request),
    prompt: request.prompt ?? "",
    parseSpecial: request.parseSpecial ?? false,
    stops: [...(request.stop ?? [])],
  });
}

/** A lazy grammar starts at a trigger that only a tool-call parser knows; until then the model is free to choose. */
function toolGrammar(request: GenerateRequest, chat: RenderedChat): string | undefined {
  const grammar = chat.grammarLazy ? undefined : chat.grammar;
  if (grammar === undefined && request.toolChoice === "required" && request.tools?.length) {
    throw new LocalInferenceError("UNSUPPORTED", "This model's template cannot force a tool call.", {
      reason: "capability_unavailable",
    });
  }
  return grammar;
}

/** @throws LocalInferenceError `INVALID_INPUT` unless exactly one of `messages` and `prompt` is given. */
export function checkRequest(request: GenerateRequest): void {
  const hasMessages = request.messages !== undefined;
  if (hasMessages === (request.prompt !== undefined)) {
    throw invalidInput("A generation needs either messages or a prompt.");
  }
  if (hasMessages && request.messages?.length === 0) throw invalidInput("A chat needs at least one message.");
}

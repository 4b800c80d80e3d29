import { basename } from "node:path";
import type { IAgentRuntime } from "@elizaos/core";
import { type Agent, agentOf } from "../agent/agent.js";
import type { TextSpec } from "../engine/engine.js";
import type { TextGeneration } from "../engine/text/generation.js";
import type { Structured } from "../engine/text/structured/structured.js";
import type { GenerateRequest, GenerationResult } from "../engine/text/types.js";
import { invalidInput, towardsEliza } from "../errors.js";
import { present } from "../support/present.js";
import { type SourceOptions, structureOf } from "./form/source.js";
import { unlessConfigured } from "./other-provider.js";
import { conversationOf, messagesOf, optionsOf, promptOf, type TextParams, wantsObject } from "./params.js";
import { attemptOf, satisfying } from "./satisfying.js";
import { sharingOf } from "./sharing.js";
import { signalOf } from "./signal.js";
import { type TextStream, textStream } from "./text-stream.js";
import { callObjects, type ToolCallObject } from "./tool-call-object.js";
import { emitModelUsed, finishReasonOf, type TokenUsage, tokenUsage } from "./usage.js";

/** What a request of the 2.x form is answered with. */
export interface TextObject {
  text: string;
  toolCalls?: ToolCallObject[];
  finishReason: string;
  usage: TokenUsage;
}

export type TextAnswer = string | TextObject | TextStream;
export type TextHandler = (runtime: IAgentRuntime, params: TextParams) => Promise<TextAnswer>;

interface TextType {
  readonly type: string;
  readonly role: "small" | "large";
  /** Reason before answering unless the settings say otherwise. */
  readonly reasons?: boolean;
  /** Send the prompt as it is, without the chat template. */
  readonly raw?: boolean;
}

/** Parameters from which a model is trusted to choose actions and providers by itself. */
const CHOOSES_ACTIONS = 3_000_000_000;

/** Model types by their string values; those of elizaOS 2 are not names that 1.7 exports. */
const TEXT_TYPES: readonly TextType[] = [
  { type: "TEXT_NANO", role: "small" },
  { type: "TEXT_SMALL", role: "small" },
  { type: "TEXT_MEDIUM", role: "small" },
  { type: "TEXT_LARGE", role: "large" },
  { type: "TEXT_MEGA", role: "large" },
  { type: "REASONING_SMALL", role: "small", reasons: true },
  { type: "REASONING_LARGE", role: "large", reasons: true },
  { type: "TEXT_COMPLETION", role: "large", raw: true },
  { type: "RESPONSE_HANDLER", role: "small" },
  { type: "ACTION_PLANNER", role: "small" },
];

/** One handler for each text type. */
export const textHandlers: Readonly<Record<string, TextHandler>> = Object.fromEntries(
  TEXT_TYPES.map((textType) => [textType.type, textHandler(textType)]),
);

function textHandler(textType: TextType): TextHandler {
  return async (runtime, params) => {
    const delegate = unlessConfigured(runtime, textType.role, textType.type);
    if (delegate !== undefined) return (await delegate(params)) as TextAnswer;
    try {
      return await answer(runtime, agentOf(runtime), textType, params);
    } catch (error) {
      throw towardsEliza(error);
    }
  };
}

async function answer(
  runtime: IAgentRuntime,
  agent: Agent,
  textType: TextType,
  params: TextParams,
): Promise<TextAnswer> {
  if (typeof params !== "object" || params === null) throw invalidInput("A text request needs parameters.");
  const signal = signalOf(params);
  let structured: Structured | undefined;
  const start = async (spec: TextSpec, attempt: number) => {
    structured = structureOf(params, { ...(await templatesFor(agent, textType, params, spec.path)) });
    await structured?.ready?.();
    const request = attemptOf(requestOf(runtime, agent, textType, params, structured), attempt);
    const generation = await agent.engine.generate(spec, request, { signal });
    void generation.settled.then(() => report(runtime, textType.type, spec.path, request, generation));
    return { value: generation, until: generation.settled };
  };
  const generate = (attempt = 1) =>
    agent.active.use(textType.role, (spec: TextSpec) => start(spec, attempt), signal);
  if (params.stream === true) {
    return textStream(await generate(), { structured, tools: Array.isArray(params.tools) });
  }
  const result = await satisfying(generate, () => structured);
  return wantsObject(params) ? textObject(result) : result.text;
}

/** The templates of elizaOS are recognised in prompts of its own; a conversation is the caller's. */
async function templatesFor(
  agent: Agent,
  textType: TextType,
  params: TextParams,
  path: string,
): Promise<SourceOptions> {
  const { replyTemplates } = agent.config;
  if (replyTemplates === "off" || textType.raw || typeof params.prompt !== "string") return {};
  if (replyTemplates !== "auto") return { prompt: params.prompt, templates: replyTemplates };
  const { parameterCount } = await agent.header(path);
  return { prompt: params.prompt, templates: parameterCount < CHOOSES_ACTIONS ? "reply" : "actions" };
}

function requestOf(
  runtime: IAgentRuntime,
  agent: Agent,
  textType: TextType,
  params: TextParams,
  structured: Structured | undefined,
): GenerateRequest {
  const prefill = structured?.prefill ?? (typeof params.prefill === "string" ? params.prefill : undefined);
  const form = present({ constraint: structured?.constraint, prefill });
  const sharing = sharingOf(runtime, agent.config, textType.type, params);
  const options = { ...optionsOf(params), ...sharing, ...form };
  if (textType.raw && messagesOf(params) === undefined) return { ...options, prompt: promptOf(params) };
  const messages = conversationOf(params, runtime.character?.system);
  const enableThinking = agent.config.enableThinking ?? textType.reasons ?? false;
  return { ...options, messages, enableThinking };
}

function textObject(result: GenerationResult): TextObject {
  return present({
    text: result.text,
    toolCalls: callObjects(result),
    finishReason: finishReasonOf(result),
    usage: tokenUsage(result.usage),
  });
}

/** Without measurements the engine never ran, so there is nothing to report. */
function report(
  runtime: IAgentRuntime,
  type: string,
  path: string,
  request: GenerateRequest,
  generation: TextGeneration,
): void {
  const { usage } = generation;
  if (usage === undefined) return;
  const prompt = request.prompt ?? request.messages?.at(-1)?.content ?? "";
  const tokens = { prompt: usage.promptTokens, completion: usage.completionTokens };
  emitModelUsed(runtime, { type, model: basename(path), prompt, tokens, usage });
}

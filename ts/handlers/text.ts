import type { IAgentRuntime } from "@elizaos/core";
import { agentOf } from "../agent/agent.js";
import type { LaidOut } from "../agent/prompt/layout.js";
import type { GenerateRequest } from "../engine/text/types.js";
import { towardsEliza } from "../errors.js";
import { present } from "../support/present.js";
import { type TextObject, textObject } from "./answer.js";
import { type Asker, type Prepared, startAttempt } from "./attempt.js";
import { conversationFor } from "./conversation.js";
import { type SourceOptions, structureFor } from "./form/structure.js";
import { unlessConfigured } from "./other-provider.js";
import { askedAs, layoutFor, offeredBy } from "./prompt-layout.js";
import { readTextRequest, type TextRequest } from "./request/text.js";
import { satisfying } from "./satisfying.js";
import { sharingFor } from "./sharing.js";
import { type TextStream, textStream } from "./text-stream.js";

export type TextAnswer = string | TextObject | TextStream;
export type TextHandler = (runtime: IAgentRuntime, params: unknown) => Promise<TextAnswer>;

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
      return await answer(runtime, textType, readTextRequest(params));
    } catch (error) {
      throw towardsEliza(error);
    }
  };
}

async function answer(runtime: IAgentRuntime, textType: TextType, request: TextRequest): Promise<TextAnswer> {
  const agent = agentOf(runtime);
  const { type, role } = textType;
  const laidOut = textType.raw ? undefined : await layoutFor(runtime, agent, request.question);
  const asker: Asker = { runtime, agent, type, role, signal: request.signal };
  const attempt = (number: number) =>
    startAttempt(
      asker,
      async ({ path }) =>
        prepared(asker, textType, request, {
          ...(await templatesFor(asker, textType, request, path)),
          offered: offeredBy(runtime, laidOut),
          laidOut,
        }),
      number,
    );
  if (request.stream) {
    const { generation, structured } = await attempt(1);
    return textStream(generation, { structured, tools: request.hasTools });
  }
  const result = await satisfying(attempt);
  return request.wantsObject ? textObject(result) : result.text;
}

/** What elizaOS's reply templates make of an answer. They are recognised in prompts; messages are the caller's own. */
async function templatesFor(
  { agent }: Asker,
  { raw }: TextType,
  { templatePrompt: prompt, options }: TextRequest,
  path: string,
): Promise<SourceOptions> {
  const { replyTemplates } = agent.config;
  if (replyTemplates === "off" || raw || prompt === undefined || options.tools !== undefined) return {};
  if (replyTemplates !== "auto") return { prompt, templates: replyTemplates };
  const { parameterCount } = await agent.header(path);
  return { prompt, templates: parameterCount < CHOOSES_ACTIONS ? "reply" : "actions" };
}

function prepared(
  { runtime, agent: { config } }: Asker,
  { type, raw, reasons = false }: TextType,
  asked: TextRequest,
  { laidOut, ...templates }: SourceOptions & { readonly laidOut: LaidOut | undefined },
): Prepared {
  const { prefill } = asked;
  const { question, sharing } = askedAs(asked, config, laidOut);
  const structured = structureFor(asked.form, templates);
  const form = present({ constraint: structured?.constraint, prefill });
  const common: GenerateRequest = {
    ...asked.options,
    ...sharingFor(runtime, config, type, { ...asked, sharing }),
    ...form,
  };
  if (raw && question.messages === undefined) {
    const { text: prompt } = question.prompt;
    return { request: { ...common, prompt }, structured, prompt };
  }
  const messages = conversationFor(question, asked.system, runtime.character?.system);
  const enableThinking = config.enableThinking ?? reasons;
  return {
    request: { ...common, messages, enableThinking },
    structured,
    prompt: messages.at(-1)?.content ?? "",
    laidOut,
  };
}

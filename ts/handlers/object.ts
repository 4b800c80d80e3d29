import type { IAgentRuntime } from "@elizaos/core";
import { agentOf } from "../agent/agent.js";
import { schemaStructure } from "../engine/text/structured/structure.js";
import { towardsEliza } from "../errors.js";
import { startAttempt } from "./attempt.js";
import { conversationFor } from "./conversation.js";
import { unlessConfigured } from "./other-provider.js";
import { type ObjectRequest, readObjectRequest } from "./request/object.js";
import { stableFirst } from "./request/prompt.js";
import { satisfying } from "./satisfying.js";
import { sharingFor } from "./sharing.js";

type ObjectHandler = (runtime: IAgentRuntime, params: unknown) => Promise<unknown>;

/** Longest schema, in characters, that is shown to the model. */
const LONGEST_SHOWN = 6_000;

/** `OBJECT_SMALL` and `OBJECT_LARGE` of elizaOS 1.7: a value that satisfies the schema, never text. */
export const objectHandlers: Readonly<Record<string, ObjectHandler>> = {
  OBJECT_SMALL: objectHandler("OBJECT_SMALL", "small"),
  OBJECT_LARGE: objectHandler("OBJECT_LARGE", "large"),
};

function objectHandler(type: string, role: "small" | "large"): ObjectHandler {
  return async (runtime, params) => {
    const delegate = unlessConfigured(runtime, role, type);
    if (delegate !== undefined) return delegate(params);
    try {
      return await answer(runtime, type, role, readObjectRequest(params));
    } catch (error) {
      throw towardsEliza(error);
    }
  };
}

async function answer(
  runtime: IAgentRuntime,
  type: string,
  role: "small" | "large",
  asked: ObjectRequest,
): Promise<unknown> {
  const agent = agentOf(runtime);
  const { messages, schema, signal } = asked;
  const structured = schemaStructure(schema);
  const prompt = withSchema(stableFirst(asked.prompt), schema);
  const question = messages === undefined ? { prompt: { text: prompt } } : { messages };
  const request = {
    ...asked.options,
    ...sharingFor(runtime, agent.config, type, asked),
    messages: conversationFor(question, asked.system, runtime.character?.system),
    constraint: structured.constraint,
    enableThinking: agent.config.enableThinking ?? false,
  };
  const prepared = { request, structured, prompt };
  const asker = { runtime, agent, type, role, signal };
  const result = await satisfying((number) => startAttempt(asker, () => prepared, number));
  return JSON.parse(result.text);
}

/** A model fills a form better when it knows it; a prompt that speaks of JSON is left as it is. */
function withSchema(prompt: string, schema: unknown): string {
  const text = JSON.stringify(schema);
  if (/\bJSON\b/i.test(prompt) || text.length > LONGEST_SHOWN) return prompt;
  return `${prompt}\n\nAnswer with JSON that satisfies this JSON Schema:\n${text}`;
}

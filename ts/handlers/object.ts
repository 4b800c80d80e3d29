import { basename } from "node:path";
import type { IAgentRuntime } from "@elizaos/core";
import { agentOf } from "../agent/agent.js";
import type { TextSpec } from "../engine/engine.js";
import { schemaStructure } from "../engine/text/structured/schema.js";
import { invalidInput, towardsEliza } from "../errors.js";
import { objectSchema } from "./form/object.js";
import { unlessConfigured } from "./other-provider.js";
import { conversationOf, optionsOf, promptText, type TextParams } from "./params.js";
import { attemptOf, satisfying } from "./satisfying.js";
import { sharingOf } from "./sharing.js";
import { signalOf } from "./signal.js";
import { emitModelUsed } from "./usage.js";

type ObjectHandler = (runtime: IAgentRuntime, params: TextParams) => Promise<unknown>;

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
      return await answer(runtime, type, role, params);
    } catch (error) {
      throw towardsEliza(error);
    }
  };
}

async function answer(
  runtime: IAgentRuntime,
  type: string,
  role: "small" | "large",
  params: TextParams,
): Promise<unknown> {
  if (typeof params !== "object" || params === null)
    throw invalidInput("An object request needs parameters.");
  const agent = agentOf(runtime);
  const schema = objectSchema(params);
  const structured = schemaStructure(schema);
  const prompt = withSchema(promptText(params), schema);
  const request = {
    ...optionsOf(params),
    ...sharingOf(runtime, agent.config, type, params),
    messages: conversationOf({ ...params, prompt }, runtime.character?.system),
    constraint: structured.constraint,
    enableThinking: agent.config.enableThinking ?? false,
  };
  await structured.ready?.();
  const signal = signalOf(params);
  const start = async (spec: TextSpec, attempt: number) => {
    const generation = await agent.engine.generate(spec, attemptOf(request, attempt), { signal });
    void generation.settled.then(() => {
      const { usage } = generation;
      if (usage === undefined) return;
      const tokens = { prompt: usage.promptTokens, completion: usage.completionTokens };
      emitModelUsed(runtime, { type, model: basename(spec.path), prompt, tokens, usage });
    });
    return { value: generation, until: generation.settled };
  };
  const result = await satisfying(
    (attempt) => agent.active.use(role, (spec) => start(spec, attempt), signal),
    () => structured,
  );
  return JSON.parse(result.text);
}

/** A model fills a form better when it knows it; a prompt that speaks of JSON is left as it is. */
function withSchema(prompt: string, schema: unknown): string {
  const text = JSON.stringify(schema);
  if (/\bJSON\b/i.test(prompt) || text.length > LONGEST_SHOWN) return prompt;
  return `${prompt}\n\nAnswer with JSON that satisfies this JSON Schema:\n${text}`;
}

import type { IAgentRuntime } from "@elizaos/core";
import { type Agent, agentOf, type ModelRole } from "../agent/agent.js";
import type { LocalModel } from "../engine/model.js";
import { invalidInput, towardsEliza } from "../errors.js";
import { unlessConfigured } from "./other-provider.js";

type Handler = (runtime: IAgentRuntime, params: unknown) => Promise<unknown>;
type Parameters = Record<string, unknown>;

/** `TEXT_TOKENIZER_ENCODE`: text to token ids, without the tokens a model wants around a whole text. */
const encode = tokenizer("TEXT_TOKENIZER_ENCODE", async (runtime, role, params) => {
  const text = params.prompt ?? params.text;
  if (typeof text !== "string") throw invalidInput("TEXT_TOKENIZER_ENCODE needs a prompt.");
  const agent = agentOf(runtime);
  const tokens = await withModel(agent, role, (model) => model.tokenize(text));
  return Array.from(tokens);
});

/** `TEXT_TOKENIZER_DECODE`: token ids to text. */
const decode = tokenizer("TEXT_TOKENIZER_DECODE", async (runtime, role, params) => {
  const { tokens } = params;
  if (!Array.isArray(tokens) || !tokens.every(isToken)) {
    throw invalidInput("TEXT_TOKENIZER_DECODE needs tokens, an array of token ids.");
  }
  const agent = agentOf(runtime);
  return withModel(agent, role, (model) => model.detokenize(tokens));
});

export const tokenizerHandlers: Readonly<Record<string, Handler>> = {
  TEXT_TOKENIZER_ENCODE: encode,
  TEXT_TOKENIZER_DECODE: decode,
};

function tokenizer(
  type: string,
  work: (runtime: IAgentRuntime, role: ModelRole, params: Parameters) => Promise<unknown>,
): Handler {
  return async (runtime, params) => {
    const parameters = (typeof params === "object" && params !== null ? params : {}) as Parameters;
    const role = roleOf(parameters.modelType);
    const delegate = unlessConfigured(runtime, role, type);
    if (delegate !== undefined) return delegate(params);
    try {
      return await work(runtime, role, parameters);
    } catch (error) {
      throw towardsEliza(error);
    }
  };
}

function withModel<T>(agent: Agent, role: ModelRole, work: (model: LocalModel) => Promise<T>): Promise<T> {
  return agent.active.use(role, async (spec) => ({ value: await agent.engine.withModel(spec, work) }));
}

/** core passes the tokenizer's own type where it means no model in particular. */
function roleOf(modelType: unknown): ModelRole {
  if (modelType === "TEXT_EMBEDDING") return "embedding";
  return modelType === "TEXT_SMALL" || modelType === "REASONING_SMALL" || modelType === "TEXT_NANO"
    ? "small"
    : "large";
}

function isToken(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 0xffff_ffff;
}

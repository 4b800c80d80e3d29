import type { IAgentRuntime } from "@elizaos/core";
import { type Agent, agentOf } from "../agent/agent.js";
import type { LocalModel } from "../engine/model.js";
import { towardsEliza } from "../errors.js";
import type { ActiveRole } from "../roles.js";
import { unlessConfigured } from "./other-provider.js";
import { readTextToEncode, readTokenizerRole, readTokensToDecode } from "./request/tokenizer.js";

type Handler = (runtime: IAgentRuntime, params: unknown) => Promise<unknown>;

/** `TEXT_TOKENIZER_ENCODE`: text to token ids, without the tokens a model wants around a whole text. */
const encode = tokenizer("TEXT_TOKENIZER_ENCODE", async (agent, role, params) => {
  const text = readTextToEncode(params);
  return Array.from(await withModel(agent, role, (model) => model.tokenize(text)));
});

/** `TEXT_TOKENIZER_DECODE`: token ids to text. */
const decode = tokenizer("TEXT_TOKENIZER_DECODE", async (agent, role, params) => {
  const tokens = readTokensToDecode(params);
  return withModel(agent, role, (model) => model.detokenize(tokens));
});

export const tokenizerHandlers: Readonly<Record<string, Handler>> = {
  TEXT_TOKENIZER_ENCODE: encode,
  TEXT_TOKENIZER_DECODE: decode,
};

function tokenizer(
  type: string,
  work: (agent: Agent, role: ActiveRole, params: unknown) => Promise<unknown>,
): Handler {
  return async (runtime, params) => {
    const role = readTokenizerRole(params);
    const delegate = unlessConfigured(runtime, role, type);
    if (delegate !== undefined) return delegate(params);
    try {
      return await work(agentOf(runtime), role, params);
    } catch (error) {
      throw towardsEliza(error);
    }
  };
}

function withModel<T>(agent: Agent, role: ActiveRole, work: (model: LocalModel) => Promise<T>): Promise<T> {
  return agent.active.use(role, async (spec) => ({ value: await agent.engine.withModel(spec, work) }));
}

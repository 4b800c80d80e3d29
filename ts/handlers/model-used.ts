import type { IAgentRuntime } from "@elizaos/core";
import { countRequest } from "../agent/metrics.js";
import { PLUGIN_NAME } from "../agent/names.js";
import type { Usage } from "../engine/text/types.js";
import { log } from "../support/log.js";
import { wellFormed } from "../support/well-formed.js";

/** Characters of a prompt that an event carries. */
const PROMPT_LIMIT = 200;

export interface ModelUsed {
  /** Model type of the request. */
  type: string;
  /** File name of the model, without directory. */
  model: string;
  prompt: string;
  tokens: { prompt: number; completion: number };
  /** All measurements of a text generation. */
  usage?: Usage;
}

/** Reports the cost of a request to the agent. Listeners cannot delay or fail the request. */
export function emitModelUsed(runtime: IAgentRuntime, used: ModelUsed): void {
  const { prompt, completion } = used.tokens;
  countRequest(runtime, used.type, used.tokens, used.usage);
  const { droppedMessages } = used.usage ?? {};
  if (droppedMessages !== undefined) {
    log("info", "The context was full: the oldest messages were left out.", { droppedMessages });
  }
  const event = {
    runtime,
    source: PLUGIN_NAME,
    provider: PLUGIN_NAME,
    type: used.type,
    model: used.model,
    modelName: used.model,
    prompt: wellFormed(used.prompt.slice(0, PROMPT_LIMIT)),
    tokens: { prompt, completion, total: prompt + completion },
    ...(used.usage === undefined ? {} : { usage: used.usage }),
  };
  void (async () => runtime.emitEvent("MODEL_USED", event))().catch(() => {});
}

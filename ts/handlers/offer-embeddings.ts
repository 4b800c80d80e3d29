import type { IAgentRuntime } from "@elizaos/core";
import { agentOf } from "../agent/agent.js";
import { PLUGIN_NAME, PRIORITY } from "../agent/names.js";
import { fromNative } from "../errors.js";
import { stampOf } from "../support/file-memo.js";
import { log } from "../support/log.js";
import { embeddingHandlers } from "./embedding.js";

type Handler = Parameters<IAgentRuntime["registerModel"]>[1];

const TYPE = "TEXT_EMBEDDING";
const offered = new WeakSet<object>();
/** The model that could not be offered, and the state of the models then: it is not tried again until that changes. */
const refused = new WeakMap<object, string>();

/**
 * Registers the embedding handlers if a model is configured. Without one there must be no handler: an agent that starts
 * asks its embedding handler for the dimensions, and does not start when that fails.
 */
export function offerEmbeddings(runtime: IAgentRuntime): void {
  const agent = agentOf(runtime);
  agent.vectors.whenTaken(() => !offered.has(runtime) && runtime.getModel(TYPE) !== undefined);
  if (!agent.isConfigured("embedding") || offered.has(runtime)) return;
  offered.add(runtime);
  for (const [type, handler] of Object.entries(embeddingHandlers)) {
    runtime.registerModel(type, handler as Handler, PLUGIN_NAME, PRIORITY);
  }
}

/**
 * Registers the handlers of an agent that already runs, once an embedding model has been chosen for it. A failure is logged
 * and not retried until the models change, unless `again` is true.
 */
export async function offerEmbeddingsLate(runtime: IAgentRuntime, again = false): Promise<void> {
  if (offered.has(runtime)) return;
  const agent = agentOf(runtime);
  const name = agent.active.nameOf("embedding");
  if (name === undefined) return;
  const state = `${name} ${await stampOf([agent.store.registryPath, agent.config.modelsDir])}`;
  if (!again && refused.get(runtime) === state) return;
  refused.set(runtime, state);
  try {
    const header = await agent.header(await agent.modelPath("embedding"));
    agent.vectors.admit(name, header.embeddingLength);
    offerEmbeddings(runtime);
    // As at the start of an agent that has an embedding handler.
    await runtime.ensureEmbeddingDimension(agent.vectors.answer(header.embeddingLength));
    log("info", `${name} makes this agent's embeddings from now on.`);
  } catch (error) {
    log("warn", `The embedding model ${name} cannot be used.`, { error: fromNative(error).message });
  }
}

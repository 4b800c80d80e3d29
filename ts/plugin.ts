import type { IAgentRuntime, Plugin } from "@elizaos/core";
import { agentOf, openAgent } from "./agent.js";
import { embeddingHandlers } from "./handlers/embedding.js";
import { objectHandlers } from "./handlers/object.js";
import { textHandlers } from "./handlers/text.js";
import { tokenizerHandlers } from "./handlers/tokenizer.js";
import { PLUGIN_NAME } from "./names.js";
import { routes } from "./routes/index.js";
import { LocalInferenceService } from "./service.js";

/** Ahead of providers that register without a priority. */
const PRIORITY = 50;

type ModelHandlers = NonNullable<Plugin["models"]>;
type Handler = Parameters<IAgentRuntime["registerModel"]>[1];

/**
 * Checks the settings; loads nothing.
 *
 * Embedding handlers are registered here and only when a model is configured: an agent that is starting asks whichever
 * embedding handler there is for its dimensions and does not start when that fails.
 */
async function init(_config: Record<string, string>, runtime: IAgentRuntime): Promise<void> {
  openAgent(runtime);
  if (!agentOf(runtime).isConfigured("embedding")) return;
  for (const [type, handler] of Object.entries(embeddingHandlers)) {
    runtime.registerModel(type, handler as Handler, PLUGIN_NAME, PRIORITY);
  }
}

/** Read by elizaOS 2: where models run and that they stream. elizaOS 1.7 ignores it. */
const modelMetadata = Object.fromEntries([
  ...Object.keys(textHandlers).map((type) => [type, { local: true, streamable: true }]),
  ...[...Object.keys(objectHandlers), ...Object.keys(embeddingHandlers)].map((type) => [
    type,
    { local: true },
  ]),
]);

/** Local language models and embeddings for elizaOS agents. */
export const localInferencePlugin: Plugin = {
  name: PLUGIN_NAME,
  description: "Runs language and embedding models on this machine, inside the agent's process.",
  priority: PRIORITY,
  init,
  models: { ...textHandlers, ...objectHandlers, ...tokenizerHandlers } as unknown as ModelHandlers,
  services: [LocalInferenceService],
  routes,
  ...{ modelMetadata },
};

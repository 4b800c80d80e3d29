import type { IAgentRuntime, Plugin } from "@elizaos/core";
import { openAgent } from "./agent/agent.js";
import { PLUGIN_NAME, PRIORITY } from "./agent/names.js";
import { embeddingHandlers } from "./handlers/embedding.js";
import { objectHandlers } from "./handlers/object.js";
import { offerEmbeddings, offerEmbeddingsLate } from "./handlers/offer-embeddings.js";
import { textHandlers } from "./handlers/text.js";
import { tokenizerHandlers } from "./handlers/tokenizer.js";
import { routes } from "./routes/index.js";
import { LocalInferenceService } from "./service.js";

type ModelHandlers = NonNullable<Plugin["models"]>;
type Handler = (runtime: IAgentRuntime, params: never) => Promise<unknown>;

/** Checks the settings; loads nothing. */
async function init(_config: Record<string, string>, runtime: IAgentRuntime): Promise<void> {
  openAgent(runtime);
  offerEmbeddings(runtime);
}

/** An embedding model that was chosen while the agent runs is noticed with its next request. */
function noticing(handlers: Readonly<Record<string, Handler>>): Record<string, Handler> {
  const wrapped = Object.entries(handlers).map(([type, handler]): [string, Handler] => [
    type,
    async (runtime, params) => {
      await offerEmbeddingsLate(runtime);
      return handler(runtime, params);
    },
  ]);
  return Object.fromEntries(wrapped);
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
  models: noticing({ ...textHandlers, ...objectHandlers, ...tokenizerHandlers }) as unknown as ModelHandlers,
  services: [LocalInferenceService],
  routes,
  ...{ modelMetadata },
};

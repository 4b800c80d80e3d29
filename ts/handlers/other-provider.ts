import type { IAgentRuntime } from "@elizaos/core";
import { agentOf } from "../agent/agent.js";
import { PLUGIN_NAME } from "../agent/names.js";
import { towardsEliza } from "../errors.js";
import type { ActiveRole } from "../roles.js";

type ModelHandler = (runtime: IAgentRuntime, params: unknown) => Promise<unknown>;

interface ModelRegistry {
  models?: Map<string, { handler: ModelHandler; provider: string }[]>;
}

/**
 * Another plugin's handler for a model type that no local model is configured for. core 1.7 calls one handler only, so an
 * agent that uses this plugin for embeddings alone would lose its text provider without it. Never used where a model is
 * configured: a missing file must not send prompts elsewhere.
 */
export function unlessConfigured(
  runtime: IAgentRuntime,
  role: ActiveRole,
  type: string,
): ((params: unknown) => Promise<unknown>) | undefined {
  if (isConfigured(runtime, role)) return undefined;
  const registered = (runtime as ModelRegistry).models?.get(type) ?? [];
  const other = registered.find((model) => model.provider !== PLUGIN_NAME);
  return other && ((params) => other.handler(runtime, params));
}

function isConfigured(runtime: IAgentRuntime, role: ActiveRole): boolean {
  try {
    return agentOf(runtime).isConfigured(role);
  } catch (error) {
    throw towardsEliza(error);
  }
}

import { type IAgentRuntime, Service } from "@elizaos/core";
import { type Agent, agentOf, closeAgent, openAgent } from "./agent.js";
import { log } from "./log.js";
import { PLUGIN_NAME } from "./names.js";

/** Ties the models an agent uses to the agent's life. */
export class LocalInferenceService extends Service {
  static override serviceType = PLUGIN_NAME;
  override capabilityDescription = "Runs language and embedding models on this machine.";

  /** Never fails: a service that does not start ends the process. */
  static override async start(runtime: IAgentRuntime): Promise<LocalInferenceService> {
    openAgent(runtime);
    void preload(runtime);
    return new LocalInferenceService(runtime);
  }

  /** core calls it for an agent that is stopped as a whole. */
  static override async stop(runtime: IAgentRuntime): Promise<void> {
    await closeAgent(runtime);
  }

  /** Aborts this agent's requests and frees the models that no other agent uses. */
  override async stop(): Promise<void> {
    await closeAgent(this.runtime);
  }
}

/** Loads the configured models in the background when the settings ask for it. */
async function preload(runtime: IAgentRuntime): Promise<void> {
  try {
    const agent = agentOf(runtime);
    if (!agent.config.preload) return;
    for (const role of ["small", "large", "embedding"] as const) {
      if (agent.isConfigured(role)) await load(agent, role);
    }
  } catch (error) {
    log("warn", "A model could not be loaded ahead of its first use.", { error: messageOf(error) });
  }
}

async function load(agent: Agent, role: "small" | "large" | "embedding"): Promise<void> {
  const started = performance.now();
  await agent.active.use(role, async (spec) => ({ value: await agent.engine.preload(spec) }));
  log("info", `The ${role} model is ready.`, { milliseconds: Math.round(performance.now() - started) });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

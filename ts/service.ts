import { type IAgentRuntime, Service } from "@elizaos/core";
import type { ActiveModelState } from "./active-model/active-model.js";
import type { SwitchOptions } from "./active-model/active-models.js";
import { type Agent, agentOf, closeAgent, openAgent } from "./agent/agent.js";
import { PLUGIN_NAME } from "./agent/names.js";
import type { InstalledModel } from "./download/registry.js";
import type { ModelStore, Removal } from "./download/store.js";
import type { PrewarmRequest } from "./engine/text/prewarm.js";
import type { Usage } from "./engine/text/types.js";
import { offerEmbeddingsLate } from "./handlers/offer-embeddings.js";
import { ACTIVE_ROLES, type ActiveRole, type TextRole } from "./roles.js";
import { log } from "./support/log.js";
import { type DoctorReport, doctorReport } from "./views/doctor.js";
import { settingLines } from "./views/settings.js";

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

  /**
   * Evaluates what later prompts of a text model begin with and keeps it, so that they start from there.
   *
   * @param beginning A system message and what follows it in every prompt; the tools that these offer.
   * @throws LocalInferenceError what loading and generating throw; `UNSUPPORTED` without a prefix cache.
   */
  prewarm(role: TextRole, beginning: Beginning): Promise<Usage> {
    return prewarm(agentOf(this.runtime), role, beginning);
  }

  /** The active models by role. */
  models(): ActiveModelState[] {
    return agentOf(this.runtime).active.states();
  }

  /** Makes a model active; see `switchTo` of `ActiveModels`. It is not remembered for the next start. */
  async switchTo(name: string, options: SwitchOptions = {}): Promise<ActiveModelState[]> {
    const states = await agentOf(this.runtime).active.switchTo(name, options);
    await offerEmbeddingsLate(this.runtime, true);
    return states;
  }

  /** Frees memory once running requests have ended; the next request loads again. Default: every model. */
  unload(...roles: readonly ActiveRole[]): Promise<ActiveModelState[]> {
    return agentOf(this.runtime).active.unload(...(roles.length === 0 ? ACTIVE_ROLES : roles));
  }

  /** The models of this machine: finds, fetches and checks them. */
  get store(): ModelStore {
    return agentOf(this.runtime).store;
  }

  /** Deletes a model of the models folder, once no request of this agent uses it. */
  remove(model: InstalledModel): Promise<Removal> {
    return agentOf(this.runtime).remove(model);
  }

  /** Reports machine, models and settings, and how to fix what is wrong. */
  doctor(): Promise<DoctorReport> {
    const settings = settingLines((name) => this.runtime.getSetting(name), process.env, "agent");
    return doctorReport(agentOf(this.runtime), settings);
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

/** What a text model starts from in later requests. */
type Beginning = Pick<PrewarmRequest, "messages" | "tools" | "enableThinking">;

/** Loads the configured models in the background when the settings ask for it. */
async function preload(runtime: IAgentRuntime): Promise<void> {
  try {
    const agent = agentOf(runtime);
    if (!agent.config.preload) return;
    for (const role of ACTIVE_ROLES) {
      if (agent.isConfigured(role)) await load(runtime, agent, role);
    }
  } catch (error) {
    log("warn", "A model could not be loaded ahead of its first use.", { error: messageOf(error) });
  }
}

async function load(runtime: IAgentRuntime, agent: Agent, role: ActiveRole): Promise<void> {
  const started = performance.now();
  await agent.active.use(role, async (spec) => ({ value: await agent.engine.preload(spec) }));
  const content = runtime.character?.system;
  if (role !== "embedding" && content) await warm(agent, role, { messages: [{ role: "system", content }] });
  log("info", `The ${role} model is ready.`, { milliseconds: Math.round(performance.now() - started) });
}

/** A model without a prefix cache is ready all the same. */
async function warm(agent: Agent, role: TextRole, beginning: Beginning): Promise<void> {
  await prewarm(agent, role, beginning).catch((error: unknown) =>
    log("info", "The system text was not evaluated ahead.", { error: messageOf(error) }),
  );
}

async function prewarm(agent: Agent, role: TextRole, beginning: Beginning): Promise<Usage> {
  const { enableThinking = false } = agent.config;
  return agent.active.use(role, async (spec) => ({
    value: await agent.engine.prewarm(spec, { enableThinking, ...beginning }),
  }));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

import {
  AgentRuntime,
  type Character,
  type IAgentRuntime,
  type IDatabaseAdapter,
  type Plugin,
  type UUID,
} from "@elizaos/core";
import { localInferencePlugin } from "../../ts/plugin.js";
import { SETTINGS } from "../../ts/settings/settings.js";
import { memoryAdapter } from "./memory-adapter.js";

export interface TestAgentOptions {
  settings?: Record<string, string>;
  /** Registered in this order, after the plugin under test. */
  plugins?: Plugin[];
  character?: Partial<Character>;
  agentId?: UUID;
  /** Default: a database in memory. */
  adapter?: IDatabaseAdapter;
}

export interface TestAgent {
  runtime: IAgentRuntime;
  /** Bodies of the events the agent emitted, in order. */
  events: Record<string, unknown>[];
  /** The database in memory; empty when the agent has another. */
  database: ReturnType<typeof memoryAdapter>;
}

/** A real agent of core 1.7 with this plugin and a database in memory. */
export async function startAgent(options: TestAgentOptions = {}): Promise<TestAgent> {
  withoutSettingsOfTheMachine();
  const database = memoryAdapter();
  const runtime = new AgentRuntime({
    character: {
      name: "Ada",
      bio: ["A test agent."],
      ...options.character,
      // Models that were chosen on this machine must not decide what a test sees either.
      settings: { ELIZA_STATE_DIR: "/nonexistent", ...options.settings },
    } as Character,
    plugins: [localInferencePlugin, ...(options.plugins ?? [])],
    adapter: options.adapter ?? database.adapter,
    ...(options.agentId === undefined ? {} : { agentId: options.agentId }),
  }) as unknown as IAgentRuntime;
  const events: Record<string, unknown>[] = [];
  runtime.registerEvent("MODEL_USED", async (event) => {
    events.push(event as unknown as Record<string, unknown>);
  });
  await runtime.initialize();
  await runtime.getServiceLoadPromise("local-inference" as never);
  return { runtime, events, database };
}

/** A developer's own environment must not decide what a test sees. */
function withoutSettingsOfTheMachine(): void {
  for (const name of Object.keys(SETTINGS)) delete process.env[name];
}

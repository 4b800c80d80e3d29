// A real agent of elizaOS with bootstrap, its database (PGlite) and real embeddings, which one dialogue is held with.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { openDatabase } from "../../../scripts/lib/demo-runtime.mjs";

const character = {
  name: "Ada",
  system: "You are Ada, a friendly and practical companion. You answer in one or two short sentences.",
  bio: [
    "Ada grew up beside a river and knows its birds.",
    "She repairs clocks and radios.",
    "She bakes bread on Sundays.",
    "She likes short letters and long walks.",
  ],
  topics: ["birds", "bread", "clocks", "rivers", "maps", "drawing"],
  adjectives: ["calm", "curious", "practical"],
  style: { all: ["Be brief.", "Be concrete."], chat: ["Answer the question first."], post: [] },
};

/** Starts the agent with the plugins of one engine. */
export async function startAgent({ plugins, settings, reflection }) {
  process.env.LOG_LEVEL ??= "fatal";
  const core = await import("@elizaos/core");
  const { default: bootstrap } = await import("@elizaos/plugin-bootstrap");
  const evaluators = reflection ? bootstrap.evaluators : [];
  const agentId = core.stringToUuid("ada");
  const database = await openDatabase(agentId);
  const runtime = new core.AgentRuntime({
    character: { ...character, settings },
    agentId,
    adapter: database.adapter,
    plugins: [...plugins, { ...bootstrap, evaluators }],
  });
  await runtime.initialize();
  return new Talk(core, runtime, database);
}

class Talk {
  constructor(core, runtime, database) {
    Object.assign(this, { core, runtime, database });
  }

  /** Says one thing; resolves to how long the answer took. */
  async say({ from, text }, { room, kind }) {
    const { stringToUuid, ChannelType, createMessageMemory } = this.core;
    const { runtime } = this;
    const type = kind === "group" ? ChannelType.GROUP : ChannelType.DM;
    const [entityId, roomId, worldId] = [from, room, "world"].map((name) => stringToUuid(name));
    const metadata = { ownership: { ownerId: entityId }, settings: {} };
    const connection = { entityId, roomId, worldId, source: "bench", type, channelId: room, metadata };
    await runtime.ensureConnection({ ...connection, userName: from, name: from });
    const content = { text, source: "bench", channelType: type };
    const message = createMessageMemory({ entityId, roomId, agentId: runtime.agentId, content });
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const start = performance.now();
    let firstMs;
    const onStreamChunk = async () => {
      firstMs ??= performance.now() - start;
    };
    const reply = async (answer) => {
      const memory = { entityId: runtime.agentId, agentId: runtime.agentId, roomId, content: answer };
      const id = await runtime.createMemory({ ...memory, createdAt: Date.now() }, "messages");
      return [{ ...memory, id }];
    };
    const answer = await runtime.messageService.handleMessage(runtime, message, reply, { onStreamChunk });
    const replyMs = performance.now() - start;
    delay.disable();
    return {
      firstMs,
      replyMs,
      loopDelayMs: delay.max / 1e6,
      responded: answer.didRespond === true,
      reply: answer.responseContent?.text?.trim() ?? "",
    };
  }

  async close() {
    await this.runtime.stop();
    await this.database.close();
  }
}

// One message round trip of a real elizaOS agent with bootstrap's providers, actions and evaluators.
import { importTypeScript } from "./import-ts.mjs";
import { fromRoot } from "./paths.mjs";

/** Starts an agent whose text model is `model`, with its database in memory. */
export async function startTalker({ plugin, model, settings = {} }) {
  process.env.LOG_LEVEL ??= "fatal";
  const [core, { default: bootstrap }, { memoryAdapter }] = await Promise.all([
    import("@elizaos/core"),
    import("@elizaos/plugin-bootstrap"),
    importTypeScript(fromRoot("__test__/helpers/memory-adapter.ts")),
  ]);
  const events = [];
  const observer = {
    name: "observer",
    description: "Counts model calls.",
    events: { MODEL_USED: [async (event) => void events.push(event)] },
  };
  // Embeddings are not what is tried here.
  const still = {
    name: "still",
    description: "Answers embeddings with zeros.",
    models: { TEXT_EMBEDDING: async () => new Array(384).fill(0) },
  };
  const runtime = new core.AgentRuntime({
    character: {
      name: "Ada",
      bio: ["Ada is a friendly agent."],
      settings: { LOCAL_LARGE_MODEL: model, LOCAL_SMALL_MODEL: model, ...settings },
    },
    plugins: [plugin, still, observer, bootstrap],
    adapter: memoryAdapter().adapter,
  });
  await runtime.initialize();
  return new Talker(core, runtime, events);
}

class Talker {
  constructor(core, runtime, events) {
    this.core = core;
    this.runtime = runtime;
    this.events = events;
  }

  /** Says `text` in a room; resolves to what came of it. */
  async say(text, room) {
    const { stringToUuid, ChannelType, createMessageMemory } = this.core;
    const { runtime } = this;
    const [entityId, roomId, worldId] = [stringToUuid("user"), stringToUuid(room), stringToUuid("world")];
    const connection = { entityId, roomId, worldId, source: "test", type: ChannelType.DM, channelId: room };
    const metadata = { ownership: { ownerId: entityId }, settings: {} };
    await runtime.ensureConnection({ ...connection, metadata, userName: "User", name: "User" });
    const content = { text, source: "test", channelType: ChannelType.DM };
    const message = createMessageMemory({ entityId, roomId, agentId: runtime.agentId, content });
    this.events.length = 0;
    // As a client does: the answer becomes a message of the room.
    const deliver = async (answer) => {
      const memory = { entityId: runtime.agentId, agentId: runtime.agentId, roomId, content: answer };
      await runtime.createMemory({ ...memory, createdAt: Date.now() }, "messages");
      return [memory];
    };
    const answer = await runtime.messageService.handleMessage(runtime, message, deliver, {});
    const calls = this.events.filter((event) => event.type === "TEXT_LARGE");
    const reply = answer?.responseContent?.text?.trim() ?? "";
    return {
      replied: answer?.didRespond === true && reply !== "",
      reply,
      calls: calls.length,
      usage: calls.at(-1)?.usage,
    };
  }

  stop() {
    return this.runtime.stop();
  }
}

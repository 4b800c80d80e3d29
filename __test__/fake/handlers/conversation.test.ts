import { ChannelType, createMessageMemory, type IAgentRuntime, stringToUuid } from "@elizaos/core";
import bootstrap from "@elizaos/plugin-bootstrap";
import { afterEach, describe, expect, it, vi } from "vitest";
import { setNativeForTests } from "../../../ts/native/addon.js";
import { useFake } from "../../helpers/fake-native.js";
import type { FakePiece } from "../../helpers/fake-script.js";
import { modelsDirectory } from "../../helpers/models.js";
import { startAgent } from "../../helpers/runtime.js";

const ANSWER =
  "<response><thought>Greet.</thought><actions>REPLY</actions><providers></providers>" +
  "<text>Good morning to you</text></response>";

const cleanups: (() => Promise<void>)[] = [];

async function agent(pieces: readonly FakePiece[]) {
  const fake = useFake({ pieces });
  const models = await modelsDirectory("chat.gguf", "embed.gguf");
  const settings = {
    MODELS_DIR: models.path,
    LOCAL_LARGE_MODEL: "chat",
    LOCAL_EMBEDDING_MODEL: "embed",
  };
  const created = await startAgent({ settings, plugins: [bootstrap] });
  cleanups.push(() => created.runtime.stop(), models.remove);
  return { ...created, fake };
}

async function say(runtime: IAgentRuntime, text: string, onStreamChunk?: (chunk: string) => Promise<void>) {
  const [entityId, roomId, worldId] = [stringToUuid("user"), stringToUuid("room"), stringToUuid("world")];
  const connection = { entityId, roomId, worldId, source: "test", type: ChannelType.DM, channelId: "room" };
  // bootstrap looks for the world that the user owns.
  const metadata = { ownership: { ownerId: entityId }, settings: {} };
  await runtime.ensureConnection({ ...connection, metadata, userName: "User", name: "User" });
  const content = { text, source: "test", channelType: ChannelType.DM };
  const message = createMessageMemory({ entityId, roomId, agentId: runtime.agentId, content });
  const options = onStreamChunk === undefined ? {} : { onStreamChunk };
  return runtime.messageService?.handleMessage(runtime, message, async () => [], options);
}

afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
  setNativeForTests(undefined);
});

/** Pieces of a few characters, as tokens are. */
function tokens(text: string): FakePiece[] {
  return (text.match(/[\s\S]{1,4}/g) ?? []).map((part) => ({ text: part }));
}

describe("a message round trip", () => {
  it("is answered by the local model, once", async () => {
    const { runtime, fake, events } = await agent(tokens(ANSWER));
    const answer = await say(runtime, "Hello");
    expect(answer?.didRespond).toBe(true);
    expect(answer?.responseContent?.text).toBe("Good morning to you");
    const asked = events.filter((event) => event.type === "TEXT_LARGE");
    expect(asked).toHaveLength(1);
    expect(fake.inputs).toHaveLength(asked.length);
  });

  it("streams the text of the answer and none of the reasoning before it", async () => {
    const reasoning = { reasoning: "They greet me <response><text>wrong</text>" };
    const { runtime } = await agent([reasoning, ...tokens(ANSWER)]);
    let streamed = "";
    const answer = await say(runtime, "Hello", async (chunk) => {
      streamed += chunk;
    });
    expect(answer?.responseContent?.text).toBe("Good morning to you");
    expect(streamed).toBe("Good morning to you");
  });

  it("stores embeddings of what was said", async () => {
    const { runtime, fake, database } = await agent(tokens(ANSWER));
    await say(runtime, "Hello");
    await vi.waitFor(() => expect(fake.batches.flatMap((batch) => batch.texts)).toContain("Hello"), 10_000);
    await vi.waitFor(() => {
      const stored = [...database.memories.values()].find((memory) => memory.content.text === "Hello");
      expect(stored?.embedding).toHaveLength(384);
    }, 10_000);
  });
});

it("ten embeddings at once are answered while text is streaming", async () => {
  const { runtime, fake } = await agent([]);
  fake.script.pieces = tokens(ANSWER);
  fake.script.holdAfter = 2;
  let streamed = "";
  const onStreamChunk = (chunk: string) => {
    streamed += chunk;
  };
  const text = runtime.useModel("TEXT_LARGE", { prompt: "Hi", onStreamChunk });
  await vi.waitFor(() => expect(streamed).toHaveLength(8));
  const texts = Array.from({ length: 10 }, (_, index) => "x".repeat(index + 1));
  const vectors = await Promise.all(texts.map((one) => runtime.useModel("TEXT_EMBEDDING", { text: one })));
  expect(vectors.map((vector) => (vector as number[])[0])).toEqual(texts.map((one) => one.length));
  expect(streamed).toHaveLength(8);
  fake.streams[0]?.release();
  expect(await text).toBe(ANSWER);
});

import { type IAgentRuntime, type Memory, stringToUuid, type UUID } from "@elizaos/core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { setNativeForTests } from "../../../ts/native/addon.js";
import { useFake } from "../../helpers/fake-native.js";
import { modelsDirectory } from "../../helpers/models.js";
import { pgliteAdapter } from "../../helpers/pglite.js";
import { startAgent } from "../../helpers/runtime.js";

const agentId = stringToUuid("ada-with-a-database");
const roomId = stringToUuid("a-room");
const cleanups: (() => Promise<void>)[] = [];
let runtime: IAgentRuntime;

beforeAll(async () => {
  // Dimensions that the database has no column for: they must arrive padded.
  useFake({ header: { embeddingLength: 256 } });
  const models = await modelsDirectory("embed.gguf");
  const { adapter, remove } = await pgliteAdapter(agentId);
  const settings = { MODELS_DIR: models.path, LOCAL_EMBEDDING_MODEL: "embed" };
  ({ runtime } = await startAgent({ settings, agentId, adapter }));
  cleanups.push(() => runtime.stop(), remove, models.remove);
});

afterAll(async () => {
  for (const cleanup of cleanups) await cleanup();
  setNativeForTests(undefined);
});

async function remember(text: string): Promise<UUID> {
  const memory = { entityId: agentId, agentId, roomId, content: { text } } as Memory;
  return runtime.createMemory(await runtime.addEmbeddingToMemory(memory), "messages");
}

it("plugin-sql stores the embeddings and finds the nearest memory by them", async () => {
  const world = { id: stringToUuid("world"), agentId, name: "world", messageServerId: agentId };
  await runtime.createWorld(world as never);
  await runtime.createRooms([
    { id: roomId, agentId, worldId: world.id, name: "room", source: "test", type: "DM" } as never,
  ]);
  const ids = [await remember("bread and butter"), await remember("zzz")];
  const embedding = (await runtime.useModel("TEXT_EMBEDDING", { text: "bread and butte" })) as number[];
  const found = await runtime.searchMemories({ tableName: "messages", embedding, count: 2, roomId });
  expect(found.map((memory) => memory.id)).toEqual(ids);
  expect((await runtime.getMemoryById(ids[0] as UUID))?.embedding).toHaveLength(384);
});

import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { agentOf } from "../../../ts/agent/agent.js";
import { residentCount } from "../../../ts/engine/residents.js";
import { modelPath } from "../../helpers/models.js";
import { startAgent, type TestAgent } from "../../helpers/runtime.js";

const TIER = "eliza-1-2b";
const TIER_FILE = "eliza-1-e2b-128k.gguf";

let models: string;
let agent: TestAgent;

beforeEach(async () => {
  models = await mkdtemp(join(tmpdir(), "switching-"));
  // The file of a tier that holds another model runs as what it is.
  await copyFile(modelPath("tiny"), join(models, TIER_FILE));
  await writeFile(join(models, "broken.gguf"), await withoutItsLastLayer(modelPath("tiny")));
  agent = await startAgent({
    settings: {
      MODELS_DIR: models,
      LOCAL_LARGE_MODEL: modelPath("chat"),
      LOCAL_CONTEXT_SIZE: "1024",
      LOCAL_THREADS: "2",
      LOCAL_USE_OTHER_MODELS: "false",
      LOCAL_INFERENCE_LOG_LEVEL: "off",
    },
  });
});
afterEach(async () => {
  await agent.runtime.stop();
  expect(residentCount()).toBe(0);
  await rm(models, { recursive: true, force: true });
});

/** A file whose header is sound and promises one layer more than its tensors make. */
async function withoutItsLastLayer(path: string): Promise<Buffer> {
  const content = await readFile(path);
  const key = "llama.block_count";
  // The key is followed by the type of its value, a 32-bit number, and by the value.
  const at = content.indexOf(key) + key.length + 4;
  content.writeUInt32LE(content.readUInt32LE(at) + 1, at);
  return content;
}

/** Asks without a pause until it is told to stop. */
function load(type: string) {
  let going = true;
  const answers: string[] = [];
  const run = async () => {
    while (going) {
      const params = { prompt: `Say a word about ${answers.length}.`, maxTokens: 6, temperature: 0 };
      answers.push((await agent.runtime.useModel(type as never, params as never)) as string);
    }
  };
  const done = run();
  const stop = async () => {
    going = false;
    await done;
    return answers.length;
  };
  return { stop, answered: () => answers.length };
}

it("a tier switch under load loses no request, and a switch that fails brings the last good model back", async () => {
  const { active } = agentOf(agent.runtime);
  const callers = ["TEXT_LARGE", "TEXT_LARGE", "TEXT_SMALL"].map(load);
  const more = async () => {
    const before = callers.map(({ answered }) => answered());
    const answered = () => callers.every((caller, index) => caller.answered() > (before[index] ?? 0));
    await expect.poll(answered, { timeout: 120_000 }).toBe(true);
  };
  await more();
  expect((await active.switchTo(TIER)).map(({ modelId }) => modelId)).toEqual([TIER, TIER]);
  await more();
  await expect(active.switchTo("broken")).rejects.toMatchObject({ code: "MODEL_INVALID" });
  expect(active.state("large")).toMatchObject({ modelId: TIER });
  await more();
  await Promise.all([
    active.switchTo(modelPath("chat")),
    active.switchTo(TIER),
    active.switchTo(modelPath("chat")),
  ]);
  await more();
  // A request that failed would reject here.
  const counts = await Promise.all(callers.map(({ stop }) => stop()));
  expect(Math.min(...counts)).toBeGreaterThanOrEqual(4);
  expect(active.states().slice(0, 2)).toMatchObject([{ status: "ready" }, { status: "ready" }]);
  expect(active.state("large").path).toBe(modelPath("chat"));
});

it("another embedding model takes effect at once; one with longer vectors is refused and changes nothing", async () => {
  const { runtime, database, events } = await startAgent({
    settings: { LOCAL_EMBEDDING_MODEL: modelPath("embedding"), LOCAL_USE_OTHER_MODELS: "false" },
  });
  try {
    const { active } = agentOf(runtime);
    const embed = () =>
      runtime.useModel("TEXT_EMBEDDING" as never, { text: "bread" } as never) as unknown as Promise<number[]>;
    const first = await embed();
    expect([database.state.dimension, first.length]).toEqual([384, 384]);
    await expect(active.switchTo(modelPath("chat"), { roles: ["embedding"] })).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("576 dimensions, and this agent stores 384"),
    });
    expect(await embed()).toEqual(first);
    const copy = join(models, "another-model.gguf");
    await copyFile(modelPath("embedding"), copy);
    await active.switchTo(copy);
    expect(await embed()).toEqual(first);
    expect(active.state("embedding")).toMatchObject({ status: "ready", path: copy });
    expect(events.map(({ model }) => model).at(-1)).toBe("another-model.gguf");
  } finally {
    await runtime.stop();
  }
});

import { afterEach, expect, it } from "vitest";
import { agentOf } from "../../../ts/agent/agent.js";
import { residentCount } from "../../../ts/engine/residents.js";
import { MODELS, modelPath } from "../../helpers/models.js";
import { startAgent } from "../../helpers/runtime.js";

const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
  expect(residentCount()).toBe(0);
});

async function agent() {
  const settings = {
    LOCAL_LARGE_MODEL: modelPath("chat"),
    LOCAL_CONTEXT_SIZE: "1024",
    LOCAL_THREADS: "2",
    LOCAL_USE_OTHER_MODELS: "false",
  };
  const { runtime } = await startAgent({ settings });
  cleanups.unshift(() => runtime.stop());
  return { runtime, active: agentOf(runtime).active };
}

it("a switch under load loses no request: each is answered by the model before it or after it", async () => {
  const { runtime, active } = await agent();
  const ask = (index: number) =>
    runtime.useModel(
      "TEXT_LARGE" as never,
      { prompt: `Say a word about ${index}.`, maxTokens: 12, temperature: 0 } as never,
    ) as Promise<string>;
  const before = Array.from({ length: 4 }, (_, index) => ask(index));
  await before[0];
  const overrides = { contextSize: 512, cacheTypeK: "q8_0" };
  const switching = active.switchTo(modelPath("chat"), { overrides });
  const during = Array.from({ length: 4 }, (_, index) => ask(10 + index));
  const answers = await Promise.all([...before, ...during]);
  expect(answers.filter((text) => text.trim() === "")).toEqual([]);
  expect((await switching).map(({ status }) => status)).toEqual(["ready", "ready"]);
  const { fields } = await active.current("large");
  expect(fields.kvTypeK).toEqual({ value: "q8_0", from: "override" });
});

it("a file that is no model is refused, and the model before it answers on", async () => {
  const { runtime, active } = await agent();
  const ask = () =>
    runtime.useModel(
      "TEXT_LARGE" as never,
      { prompt: "What is the capital of France?", maxTokens: 16, temperature: 0 } as never,
    ) as Promise<string>;
  const before = await ask();
  await expect(active.switchTo(modelPath("chat").replace(MODELS.chat, "nothing.gguf"))).rejects.toMatchObject(
    {
      code: "MODEL_NOT_FOUND",
    },
  );
  await expect(active.switchTo(modelPath("embedding"), { roles: ["large"] })).rejects.toMatchObject({
    code: "UNSUPPORTED",
  });
  expect(await ask()).toBe(before);
});

import { type IAgentRuntime, logger, ModelType, stringToUuid } from "@elizaos/core";
import { afterEach, describe, expect, it, vi } from "vitest";
import { residentCount } from "../../../ts/engine/residents.js";
import { setNativeForTests } from "../../../ts/native/addon.js";
import { LocalInferenceService } from "../../../ts/service.js";
import { useFake } from "../../helpers/fake-native.js";
import type { Script } from "../../helpers/fake-script.js";
import { modelsDirectory } from "../../helpers/models.js";
import { startAgent } from "../../helpers/runtime.js";

const cleanups: (() => Promise<void>)[] = [];

async function setUp(script: Script = {}, extra: Record<string, string> = {}) {
  const fake = useFake(script);
  const models = await modelsDirectory("chat.gguf", "embed.gguf");
  cleanups.push(models.remove);
  const settings = {
    MODELS_DIR: models.path,
    LOCAL_LARGE_MODEL: "chat",
    LOCAL_EMBEDDING_MODEL: "embed",
    ...extra,
  };
  return {
    fake,
    start: async (name = "ada") => {
      const { runtime } = await startAgent({ settings, agentId: stringToUuid(name) });
      cleanups.unshift(() => runtime.stop());
      return runtime;
    },
  };
}

const ask = (runtime: IAgentRuntime) => runtime.useModel(ModelType.TEXT_LARGE, { prompt: "Hi" });

afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
  expect(residentCount()).toBe(0);
  setNativeForTests(undefined);
  vi.restoreAllMocks();
});

describe("the service", () => {
  it("loads nothing when the agent starts", async () => {
    const { fake, start } = await setUp();
    const runtime = await start();
    expect(runtime.getService("local-inference")).toBeInstanceOf(LocalInferenceService);
    expect(fake.loads).toHaveLength(0);
  });

  it("offers to programs what the routes and the command line do", async () => {
    const { fake, start } = await setUp();
    const runtime = await start();
    const service = runtime.getService("local-inference") as unknown as LocalInferenceService;
    expect((await service.switchTo("chat")).map(({ status }) => status)).toEqual(["ready", "ready"]);
    expect(service.models().map(({ modelId }) => modelId)).toEqual(["chat", "chat", undefined]);
    const { roles, findings } = await service.doctor();
    expect(roles.map(({ source, fit }) => [source, fit?.verdict])).toEqual([
      ["setting", "fits"],
      ["setting", "fits"],
      ["setting", "fits"],
    ]);
    expect(findings.filter(({ level }) => level === "error")).toHaveLength(1);
    await service.unload();
    expect(fake.closed).toEqual(["context", "model"]);
    expect(await service.store.findInstalled("nothing")).toBeUndefined();
  });

  it("preloads in the background when the settings ask for it", async () => {
    const { fake, start } = await setUp({}, { LOCAL_PRELOAD: "true" });
    await start();
    await vi.waitFor(() => expect([fake.contexts.length, fake.embedders.length]).toEqual([1, 1]));
    expect(fake.loads.map(({ path }) => path.split("/").at(-1))).toEqual(["chat.gguf", "embed.gguf"]);
  });

  it("starts although preloading fails, and says so in the log", async () => {
    const warn = vi.spyOn(logger, "warn").mockImplementation(() => {});
    const { start } = await setUp({ loadError: "OUT_OF_MEMORY: no" }, { LOCAL_PRELOAD: "true" });
    const runtime = await start();
    expect(runtime.getService("local-inference")).not.toBeNull();
    await vi.waitFor(() =>
      expect(warn).toHaveBeenCalledWith(
        expect.objectContaining({ src: "plugin:local-inference", error: "no" }),
        expect.any(String),
      ),
    );
  });

  it("starts although the settings are broken", async () => {
    const runtime = { getSetting: () => "huge" } as unknown as IAgentRuntime;
    vi.spyOn(logger, "warn").mockImplementation(() => {});
    await expect(LocalInferenceService.start(runtime)).resolves.toBeInstanceOf(LocalInferenceService);
    await LocalInferenceService.stop(runtime);
  });

  it("stopping the agent aborts its requests, frees its models and refuses more", async () => {
    const { fake, start } = await setUp({ holdAfter: 1 });
    const runtime = await start();
    const answer = ask(runtime);
    await vi.waitFor(() => expect(fake.streams[0]?.read).toBe(1));
    const stopping = runtime.stop();
    await expect(answer).rejects.toMatchObject({ code: "CLOSED" });
    await stopping;
    expect(fake.closed).toEqual(["context", "model"]);
    await expect(ask(runtime)).rejects.toMatchObject({ code: "CLOSED" });
  });

  it("stopping one of two agents leaves the other's model in memory", async () => {
    const { fake, start } = await setUp();
    const [ada, bob] = [await start("ada"), await start("bob")];
    await Promise.all([ask(ada), ask(bob)]);
    expect(fake.loads).toHaveLength(1);
    await ada.stop();
    expect(fake.closed).toEqual([]);
    expect(await ask(bob)).toBe("Hello there");
    expect(fake.loads).toHaveLength(1);
    await bob.stop();
    expect(fake.closed).toEqual(["context", "model"]);
  });
});

describe("tokens", () => {
  it("text becomes tokens of the model and back", async () => {
    const { start } = await setUp();
    const runtime = await start();
    const modelType = ModelType.TEXT_TOKENIZER_ENCODE;
    const tokens = await runtime.useModel(ModelType.TEXT_TOKENIZER_ENCODE, { prompt: "héllo", modelType });
    expect(tokens).toEqual([...Buffer.from("héllo")]);
    expect(await runtime.useModel(ModelType.TEXT_TOKENIZER_DECODE, { tokens, modelType })).toBe("héllo");
  });

  it.each([
    ["TEXT_TOKENIZER_ENCODE", {}],
    ["TEXT_TOKENIZER_DECODE", { tokens: [1.5] }],
    ["TEXT_TOKENIZER_DECODE", { tokens: [-1] }],
    ["TEXT_TOKENIZER_DECODE", { tokens: "1" }],
  ])("%s of %j is refused", async (type, params) => {
    const { start } = await setUp();
    const runtime = await start();
    await expect(runtime.useModel(type as never, params as never)).rejects.toMatchObject({
      code: "INVALID_INPUT",
      reason: "invalid_input",
    });
  });
});

it("what the engine logs reaches the agent's log under the plugin's name", async () => {
  const warn = vi.spyOn(logger, "warn").mockImplementation(() => {});
  const { fake, start } = await setUp();
  fake.logs.push({ level: "warn", target: "llama", message: "odd tokenizer", timestampMs: 0 });
  await ask(await start());
  expect(warn).toHaveBeenCalledWith({ src: "plugin:local-inference", target: "llama" }, "odd tokenizer");
  expect(fake.logLevel).toBe("warn");
});

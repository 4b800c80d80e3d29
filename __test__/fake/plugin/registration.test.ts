import { ModelType, type Plugin } from "@elizaos/core";
import { afterEach, describe, expect, it } from "vitest";
import plugin, { localInferencePlugin } from "../../../ts/index.js";
import { loadedNative, setNativeForTests } from "../../../ts/native/addon.js";
import { useFake } from "../../helpers/fake-native.js";
import { modelsDirectory } from "../../helpers/models.js";
import { startAgent } from "../../helpers/runtime.js";

const cleanups: (() => Promise<void>)[] = [];

async function start(...options: Parameters<typeof startAgent>) {
  const agent = await startAgent(...options);
  cleanups.push(() => agent.runtime.stop());
  return agent;
}

afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
  setNativeForTests(undefined);
});

/** Another provider, as a cloud plugin would be: no priority. */
function cloud(): Plugin & { asked: string[] } {
  const asked: string[] = [];
  const answer = (type: string, value: unknown) => async () => {
    asked.push(type);
    return value as never;
  };
  const models = {
    TEXT_LARGE: answer("TEXT_LARGE", "from the cloud"),
    TEXT_EMBEDDING: answer("TEXT_EMBEDDING", new Array(1536).fill(0)),
    TEXT_TOKENIZER_ENCODE: answer("TEXT_TOKENIZER_ENCODE", [1]),
  };
  return { name: "cloud", description: "Another provider.", models, asked };
}

describe("the plugin object", () => {
  it("is a plain object that survives being spread", () => {
    expect(plugin).toBe(localInferencePlugin);
    expect(Object.getPrototypeOf(plugin)).toBe(Object.prototype);
    expect({ ...plugin }).toMatchObject({ name: "local-inference", description: expect.any(String) });
    expect(plugin.priority).toBeGreaterThan(0);
  });

  it("registers text for the names of 1.7 and of 2.x, and objects", () => {
    expect(Object.keys(plugin.models ?? {}).sort()).toEqual(
      [
        "ACTION_PLANNER",
        "RESPONSE_HANDLER",
        ModelType.OBJECT_LARGE,
        ModelType.OBJECT_SMALL,
        "TEXT_MEDIUM",
        "TEXT_MEGA",
        "TEXT_NANO",
        ModelType.TEXT_COMPLETION,
        ModelType.TEXT_LARGE,
        ModelType.TEXT_REASONING_LARGE,
        ModelType.TEXT_REASONING_SMALL,
        ModelType.TEXT_SMALL,
        ModelType.TEXT_TOKENIZER_DECODE,
        ModelType.TEXT_TOKENIZER_ENCODE,
      ].sort(),
    );
  });

  it("tells elizaOS 2 that its models are local and stream", () => {
    const { modelMetadata } = plugin as { modelMetadata?: Record<string, unknown> };
    expect(modelMetadata?.TEXT_LARGE).toEqual({ local: true, streamable: true });
    expect(modelMetadata?.TEXT_EMBEDDING).toEqual({ local: true });
  });
});

describe("an agent with nothing configured", () => {
  it("starts, without the addon and without an embedding handler", async () => {
    const { runtime } = await start();
    expect(runtime.getModel("TEXT_EMBEDDING")).toBeUndefined();
    expect(loadedNative()).toBeUndefined();
  });

  it.each([
    ["TEXT_SMALL", "LOCAL_SMALL_MODEL"],
    ["TEXT_LARGE", "LOCAL_LARGE_MODEL"],
    ["TEXT_TOKENIZER_ENCODE", "LOCAL_LARGE_MODEL"],
  ])("%s says which setting is missing, so that a router falls through", async (type, setting) => {
    const { runtime } = await start();
    await expect(runtime.useModel(type as never, { prompt: "Hi" } as never)).rejects.toMatchObject({
      code: "LOCAL_INFERENCE_UNAVAILABLE",
      reason: "backend_unavailable",
      hint: expect.stringContaining(setting),
    });
  });

  it("keeps the text, tokens and embeddings of its other provider", async () => {
    const other = cloud();
    const { runtime, database } = await start({ plugins: [other] });
    expect(await runtime.useModel(ModelType.TEXT_LARGE, { prompt: "Hi" })).toBe("from the cloud");
    const params = { prompt: "Hi", modelType: ModelType.TEXT_LARGE };
    expect(await runtime.useModel(ModelType.TEXT_TOKENIZER_ENCODE, params)).toEqual([1]);
    expect(database.state.dimension).toBe(1536);
  });
});

describe("an agent with a model configured", () => {
  it("asks this plugin before one without a priority, whatever the order", async () => {
    useFake();
    const models = await modelsDirectory("chat.gguf");
    cleanups.push(models.remove);
    const other = cloud();
    const settings = { MODELS_DIR: models.path, LOCAL_LARGE_MODEL: "chat" };
    const { runtime } = await start({ settings, plugins: [other] });
    expect(await runtime.useModel(ModelType.TEXT_LARGE, { prompt: "Hi" })).toBe("Hello there");
    expect(other.asked).toEqual(["TEXT_EMBEDDING"]);
  });

  it("does not send prompts elsewhere when the file is missing", async () => {
    useFake();
    const other = cloud();
    const settings = { MODELS_DIR: "/nonexistent", LOCAL_LARGE_MODEL: "chat" };
    const { runtime } = await start({ settings, plugins: [other] });
    await expect(runtime.useModel(ModelType.TEXT_LARGE, { prompt: "secret" })).rejects.toMatchObject({
      code: "LOCAL_INFERENCE_UNAVAILABLE",
      message: expect.stringContaining("put the GGUF file at /nonexistent/chat.gguf"),
    });
    expect(other.asked).toEqual(["TEXT_EMBEDDING"]);
  });

  it("finds a file that was put in place after the first request", async () => {
    useFake();
    const models = await modelsDirectory();
    cleanups.push(models.remove);
    const settings = { MODELS_DIR: models.path, LOCAL_LARGE_MODEL: "late" };
    const { runtime } = await start({ settings });
    const ask = () => runtime.useModel(ModelType.TEXT_LARGE, { prompt: "Hi" });
    await expect(ask()).rejects.toMatchObject({ code: "LOCAL_INFERENCE_UNAVAILABLE" });
    const { writeFile } = await import("node:fs/promises");
    await writeFile(`${models.path}/late.gguf`, "");
    expect(await ask()).toBe("Hello there");
  });

  it("does not start with settings that cannot be meant", async () => {
    await expect(start({ settings: { LOCAL_CONTEXT_SIZE: "huge" } })).rejects.toMatchObject({
      code: "INVALID_INPUT",
      message: expect.stringContaining("LOCAL_CONTEXT_SIZE"),
    });
  });

  it("bad parameters are final: the reason is invalid_input", async () => {
    useFake({ generateError: "INVALID_INPUT: topP is out of range" });
    const models = await modelsDirectory("chat.gguf");
    cleanups.push(models.remove);
    const { runtime } = await start({ settings: { MODELS_DIR: models.path, LOCAL_LARGE_MODEL: "chat" } });
    await expect(runtime.useModel(ModelType.TEXT_LARGE, { prompt: "Hi", topP: 7 })).rejects.toMatchObject({
      code: "INVALID_INPUT",
      reason: "invalid_input",
    });
  });
});

import type { IAgentRuntime } from "@elizaos/core";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { SwitchOptions } from "../../../ts/active-model/active-models.js";
import { ModelDoesNotFitError } from "../../../ts/active-model/does-not-fit.js";
import { RoleLock } from "../../../ts/active-model/role-lock.js";
import { agentOf } from "../../../ts/agent/agent.js";
import { residentCount } from "../../../ts/engine/residents.js";
import { setNativeForTests } from "../../../ts/native/addon.js";
import { useFake } from "../../helpers/fake-native.js";
import type { Script } from "../../helpers/fake-script.js";
import { modelsDirectory } from "../../helpers/models.js";
import { startAgent } from "../../helpers/runtime.js";

const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
  expect(residentCount()).toBe(0);
  setNativeForTests(undefined);
  vi.restoreAllMocks();
});

async function setUp(script: Script = {}, settings: Record<string, string> = {}) {
  const fake = useFake(script);
  const models = await modelsDirectory("first.gguf", "second.gguf", "third.gguf", "embed.gguf");
  cleanups.push(models.remove);
  const all = {
    MODELS_DIR: models.path,
    LOCAL_LARGE_MODEL: "first",
    LOCAL_EMBEDDING_MODEL: "embed",
    LOCAL_USE_OTHER_MODELS: "false",
    ...settings,
  };
  const { runtime } = await startAgent({ settings: all });
  cleanups.unshift(() => runtime.stop());
  const { active } = agentOf(runtime);
  const switchTo = (name: string, options?: SwitchOptions) => active.switchTo(name, options);
  return { fake, runtime, active, switchTo, dir: models.path };
}

const ask = (runtime: IAgentRuntime, type = "TEXT_LARGE") =>
  runtime.useModel(type as never, { prompt: "Hi" } as never) as Promise<string>;
const loaded = (fake: { loads: { path: string }[] }) => fake.loads.map(({ path }) => path.split("/").at(-1));

describe("the state of a model", () => {
  it("is idle before its first request, loading during it, ready after it", async () => {
    const { fake, runtime, active } = await setUp({ holdLoads: true });
    expect(active.state("large")).toEqual({ role: "large", status: "idle", requests: 0 });
    const answer = ask(runtime);
    await vi.waitFor(() => expect(fake.loads).toHaveLength(1));
    expect(active.state("large")).toMatchObject({ status: "loading", requests: 1 });
    fake.release();
    await answer;
    expect(active.state("large")).toMatchObject({ status: "ready", modelId: "first", requests: 0 });
    expect(active.state("large").loadedAt).toBeGreaterThan(0);
  });

  it("is idle again when the idle time has passed", async () => {
    const { runtime, active } = await setUp({}, { ELIZA_LOCAL_IDLE_UNLOAD_MS: "30" });
    await ask(runtime);
    await vi.waitFor(() => expect(active.state("large").status).toBe("idle"));
  });
});

describe("a switch", () => {
  it("unloads the old model, loads the new one, has it make one token, and serves both text roles", async () => {
    const { fake, runtime, active, switchTo } = await setUp();
    await ask(runtime);
    const states = await switchTo("second");
    expect(states.map(({ role, status, modelId }) => [role, status, modelId])).toEqual([
      ["small", "ready", "second"],
      ["large", "ready", "second"],
    ]);
    expect(fake.closed).toEqual(["context", "model"]);
    expect(fake.inputs.at(-1)).toMatchObject({ maxTokens: 1, ignoreEos: true });
    await ask(runtime);
    expect(loaded(fake)).toEqual(["first.gguf", "second.gguf"]);
    expect(active.state("embedding").status).toBe("idle");
  });

  it("of one role leaves the other's model in memory", async () => {
    const { fake, runtime, switchTo } = await setUp();
    await Promise.all([ask(runtime), ask(runtime, "TEXT_SMALL")]);
    await switchTo("second", { roles: ["large"] });
    expect(fake.closed).toEqual([]);
    await Promise.all([ask(runtime), ask(runtime, "TEXT_SMALL")]);
    expect(loaded(fake)).toEqual(["first.gguf", "second.gguf"]);
  });

  it("waits for running answers; requests that come meanwhile wait for the new model", async () => {
    const { fake, runtime, active, switchTo } = await setUp({ holdAfter: 1 });
    const running = ask(runtime);
    await vi.waitFor(() => expect(fake.streams[0]?.read).toBe(1));
    delete fake.script.holdAfter;
    const held = vi.spyOn(RoleLock.prototype, "hold");
    const switching = switchTo("second");
    // A switch finds the model first: a request that comes before it holds the lock is answered by the old one.
    await vi.waitFor(() => expect(held).toHaveBeenCalled());
    held.mockRestore();
    const waiting = ask(runtime);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(loaded(fake)).toEqual(["first.gguf"]);
    expect(active.state("large").requests).toBe(1);
    fake.streams[0]?.release();
    expect(await running).toBe("Hello there");
    await switching;
    expect(await waiting).toBe("Hello there");
    expect(loaded(fake)).toEqual(["first.gguf", "second.gguf"]);
  });

  it("that fails to load brings the old model back and says why", async () => {
    const loadError = (path: string) => (path.endsWith("second.gguf") ? "MODEL_INVALID: torn" : undefined);
    const { fake, runtime, active, switchTo } = await setUp({ loadError });
    await ask(runtime);
    await expect(switchTo("second")).rejects.toMatchObject({ code: "MODEL_INVALID" });
    expect(loaded(fake)).toEqual(["first.gguf", "second.gguf", "first.gguf"]);
    expect(active.state("large")).toMatchObject({
      status: "ready",
      modelId: "first",
      error: { code: "MODEL_INVALID", message: "torn" },
    });
    expect(await ask(runtime)).toBe("Hello there");
    expect(active.state("large")).not.toHaveProperty("error");
  });

  it("to a model that loads and computes nothing is undone as well", async () => {
    const { fake, runtime, active, switchTo } = await setUp();
    await ask(runtime);
    fake.script.pieces = () => [];
    await expect(switchTo("second")).rejects.toMatchObject({ code: "DECODE_FAILED" });
    fake.script.pieces = () => [{ text: "back" }];
    expect(active.state("large").modelId).toBe("first");
    expect(await ask(runtime)).toBe("back");
  });

  it("runs after the one before it", async () => {
    const { fake, active, switchTo } = await setUp({ holdLoads: true });
    const both = [switchTo("second"), switchTo("third")];
    await vi.waitFor(() => expect(loaded(fake)).toEqual(["second.gguf"]));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(loaded(fake)).toEqual(["second.gguf"]);
    fake.script.holdLoads = false;
    fake.release();
    await Promise.all(both);
    expect(loaded(fake)).toEqual(["second.gguf", "third.gguf"]);
    expect(active.state("large").modelId).toBe("third");
  });

  it("that fails does not keep the next one from running", async () => {
    const { switchTo } = await setUp();
    const [failing, next] = [switchTo("nowhere"), switchTo("third")];
    await expect(failing).rejects.toMatchObject({ code: "MODEL_NOT_FOUND" });
    expect((await next)[0]).toMatchObject({ modelId: "third", status: "ready" });
  });

  it("is refused before anything changes when the memory does not suffice", async () => {
    const { fake, runtime, active, switchTo } = await setUp();
    await ask(runtime);
    fake.script.neededBytes = 5000;
    const refused = switchTo("second").catch((error: unknown) => error);
    expect(await refused).toBeInstanceOf(ModelDoesNotFitError);
    expect(await refused).toMatchObject({ code: "OUT_OF_MEMORY", shortfall: { requiredBytes: 5000 } });
    expect(loaded(fake)).toEqual(["first.gguf"]);
    expect(active.state("large")).toMatchObject({ status: "ready", modelId: "first" });
  });

  it("counts what the old model gives back", async () => {
    const { fake, runtime, switchTo } = await setUp({ neededBytes: 1000 });
    await ask(runtime);
    fake.script.neededBytes = 1000;
    expect((await switchTo("second"))[0]?.modelId).toBe("second");
  });

  it("passes overrides on, and refuses bad ones before anything changes", async () => {
    const { fake, switchTo } = await setUp();
    await switchTo("second", { overrides: { contextSize: 512, cacheTypeK: "q8_0" } });
    expect(fake.contexts.at(-1)).toEqual({ contextSize: 512, kvTypeK: "q8_0" });
    await expect(switchTo("third", { overrides: { cacheTypeK: "turbo4" } })).rejects.toMatchObject({
      code: "INVALID_INPUT",
    });
    expect(loaded(fake)).toEqual(["second.gguf"]);
  });

  it("of the embedding model leaves the text models alone", async () => {
    const { fake, runtime, active, switchTo } = await setUp();
    await ask(runtime);
    const states = await switchTo("second", { roles: ["embedding"] });
    expect(states.map(({ role }) => role)).toEqual(["embedding"]);
    expect(fake.embedders).toHaveLength(1);
    expect(active.state("large").modelId).toBe("first");
    expect(await runtime.useModel("TEXT_EMBEDDING" as never, { text: "bread" } as never)).toHaveLength(384);
  });

  it("of an embedding model to a text role is refused", async () => {
    const { switchTo } = await setUp({ header: { kind: "embedding" } });
    await expect(switchTo("second", { roles: ["large"] })).rejects.toMatchObject({ code: "UNSUPPORTED" });
    await expect(switchTo("second", { roles: ["large", "embedding"] })).rejects.toMatchObject({
      code: "INVALID_INPUT",
    });
    expect((await switchTo("second"))[0]?.role).toBe("embedding");
  });

  it("that waits is given up when the agent stops", async () => {
    const { fake, runtime, switchTo } = await setUp({ holdAfter: 1 });
    const running = ask(runtime);
    await vi.waitFor(() => expect(fake.streams[0]?.read).toBe(1));
    const switching = switchTo("second");
    const waiting = ask(runtime);
    const outcomes = Promise.allSettled([running, switching, waiting]);
    await runtime.stop();
    expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  });
});

it("a waiting request leaves with its signal", async () => {
  const { fake, runtime, switchTo } = await setUp({ holdAfter: 1 });
  const running = ask(runtime);
  await vi.waitFor(() => expect(fake.streams[0]?.read).toBe(1));
  delete fake.script.holdAfter;
  const switching = switchTo("second");
  const controller = new AbortController();
  const waiting = runtime.useModel(
    "TEXT_LARGE" as never,
    { prompt: "Hi", signal: controller.signal } as never,
  );
  controller.abort();
  await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
  fake.streams[0]?.release();
  await Promise.all([running, switching]);
});

it("unloading frees a model that no other role uses; the next request loads it again", async () => {
  const { fake, runtime, active } = await setUp();
  await Promise.all([ask(runtime), ask(runtime, "TEXT_SMALL")]);
  expect(await active.unload("large")).toMatchObject([{ status: "ready" }]);
  expect(fake.closed).toEqual([]);
  await active.switchTo("second", { roles: ["large"] });
  expect(await active.unload("large")).toMatchObject([{ status: "idle" }]);
  expect(fake.closed).toEqual(["context", "model"]);
  await ask(runtime);
  expect(loaded(fake)).toEqual(["first.gguf", "second.gguf", "second.gguf"]);
  await active.unload("small", "large");
  expect(active.states().map(({ status }) => status)).toEqual(["idle", "idle", "idle"]);
});

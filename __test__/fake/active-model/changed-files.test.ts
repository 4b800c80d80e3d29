import { existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { IAgentRuntime } from "@elizaos/core";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ActiveModels } from "../../../ts/active-model/active-models.js";
import { agentOf } from "../../../ts/agent/agent.js";
import { type Selection, writeSelection } from "../../../ts/download/selection.js";
import { residentCount } from "../../../ts/engine/residents.js";
import { setNativeForTests } from "../../../ts/native/addon.js";
import { useFake } from "../../helpers/fake-native.js";
import type { Script } from "../../helpers/fake-script.js";
import { modelsDirectory } from "../../helpers/models.js";
import { startAgent } from "../../helpers/runtime.js";

// Everything here happens behind the back of a running agent: by hand, or by another process.

const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
  expect(residentCount()).toBe(0);
  setNativeForTests(undefined);
});

async function setUp(script: Script = {}, settings: Record<string, string> = {}) {
  const fake = useFake(script);
  const models = await modelsDirectory();
  cleanups.push(models.remove);
  const file = (name: string) => join(models.path, `${name}.gguf`);
  const put = (name: string, content = "GGUF") => writeFile(file(name), content);
  for (const name of ["first", "second", "third"]) await put(name);
  const all = { MODELS_DIR: models.path, LOCAL_USE_OTHER_MODELS: "false", ...settings };
  const { runtime } = await startAgent({ settings: all });
  cleanups.unshift(() => runtime.stop());
  const agent = agentOf(runtime);
  const use = (chosen: Selection) => writeSelection(models.path, chosen);
  return { fake, runtime, agent, active: agent.active, dir: models.path, file, put, use };
}

const ask = (runtime: IAgentRuntime, type = "TEXT_LARGE") =>
  runtime.useModel(type as never, { prompt: "Hi" } as never) as Promise<string>;
const loaded = (fake: { loads: { path: string }[] }) => fake.loads.map(({ path }) => path.split("/").at(-1));
const gone = { code: "LOCAL_INFERENCE_UNAVAILABLE", reason: "backend_unavailable" };

describe("a model that is removed", () => {
  async function removed() {
    const all = await setUp({}, { LOCAL_LARGE_MODEL: "first" });
    await ask(all.runtime);
    const model = await all.agent.store.findInstalled("first");
    if (model === undefined) throw new Error("first is not found");
    return { ...all, remove: () => all.agent.remove(model) };
  }

  it("leaves memory before its file goes, and its path is forgotten", async () => {
    const { fake, runtime, active, agent, file, put, remove } = await removed();
    await remove();
    expect(existsSync(file("first"))).toBe(false);
    expect(fake.closed).toEqual(["context", "model"]);
    expect(active.state("large")).toEqual({ role: "large", status: "idle", requests: 0 });
    await expect(ask(runtime)).rejects.toMatchObject(gone);
    await expect(agent.modelPath("large")).rejects.toMatchObject({ code: "MODEL_NOT_FOUND" });
    await expect(active.current("large")).rejects.toMatchObject({ code: "MODEL_NOT_FOUND" });
    await put("first");
    expect(await ask(runtime)).toBe("Hello there");
  });

  it("is waited for by the removal while it answers; later requests fail and lose nothing", async () => {
    const { fake, runtime, file, remove } = await removed();
    fake.script.holdAfter = 1;
    const running = ask(runtime);
    await vi.waitFor(() => expect(fake.streams.at(-1)?.read).toBe(1));
    const removing = remove();
    await new Promise((resolve) => setTimeout(resolve, 50));
    const later = ask(runtime).catch((error: unknown) => error);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(existsSync(file("first"))).toBe(true);
    fake.streams.at(-1)?.release();
    expect(await running).toBe("Hello there");
    await removing;
    expect(await later).toMatchObject(gone);
  });

  it("is not used any more, whoever deleted the file", async () => {
    const { runtime, agent, file } = await removed();
    await rm(file("first"));
    await expect(agent.modelPath("large")).rejects.toMatchObject({ code: "MODEL_NOT_FOUND" });
    await expect(ask(runtime)).rejects.toMatchObject(gone);
  });

  it("makes room for the model of the settings when a switch had chosen it", async () => {
    const { fake, runtime, agent, active } = await removed();
    await active.switchTo("second");
    const model = await agent.store.findInstalled("second");
    if (model !== undefined) await agent.remove(model);
    expect(await ask(runtime)).toBe("Hello there");
    expect(loaded(fake)).toEqual(["first.gguf", "second.gguf", "first.gguf"]);
  });
});

describe("a model file that is replaced", () => {
  it("is read again, and the old one leaves memory first", async () => {
    const { fake, runtime, agent, file, put } = await setUp({}, { LOCAL_LARGE_MODEL: "first" });
    await ask(runtime);
    const path = file("first");
    fake.script.header = { embeddingLength: 99 };
    expect((await agent.header(path)).embeddingLength).toBe(8);
    await put("new", "GGUF, and more");
    await rename(file("new"), path);
    expect((await agent.header(path)).embeddingLength).toBe(99);
    await Promise.all([ask(runtime), ask(runtime)]);
    expect(loaded(fake)).toEqual(["first.gguf", "first.gguf"]);
    expect(fake.closed).toEqual(["context", "model"]);
  });

  it("changes nothing for a model that is not touched", async () => {
    const { fake, runtime, put } = await setUp({}, { LOCAL_LARGE_MODEL: "first" });
    await ask(runtime);
    const headers = fake.headers.length;
    await put("fourth");
    await ask(runtime);
    expect([fake.loads.length, fake.headers.length]).toEqual([1, headers]);
  });
});

it("a drafter that is fetched later is used from the next request on", async () => {
  const { fake, runtime, dir } = await setUp(
    { header: { architecture: "gemma4" } },
    { LOCAL_LARGE_MODEL: "eliza-1-2b" },
  );
  const bundle = join(dir, "bundles", "e2b");
  await mkdir(join(bundle, "text"), { recursive: true });
  await writeFile(join(bundle, "text", "eliza-1-e2b-128k.gguf"), "GGUF");
  await ask(runtime);
  expect(fake.contexts.at(-1)).not.toHaveProperty("drafter");
  await mkdir(join(bundle, "mtp"));
  await writeFile(join(bundle, "mtp", "drafter-e2b.gguf"), "GGUF");
  await ask(runtime);
  expect(fake.contexts.at(-1)).toHaveProperty("drafter", join(bundle, "mtp", "drafter-e2b.gguf"));
  expect(loaded(fake)).toEqual(["eliza-1-e2b-128k.gguf", "eliza-1-e2b-128k.gguf"]);
});

describe("a model that another process chooses", () => {
  it("takes the place of the one in memory with the next request, for both text roles at once", async () => {
    const { fake, runtime, active, use } = await setUp();
    await use({ large: "first" });
    await Promise.all([ask(runtime), ask(runtime, "TEXT_SMALL")]);
    await use({ large: "second" });
    const answers = await Promise.all([ask(runtime), ask(runtime, "TEXT_SMALL"), ask(runtime)]);
    expect(answers).toEqual(["Hello there", "Hello there", "Hello there"]);
    expect(loaded(fake)).toEqual(["first.gguf", "second.gguf"]);
    expect(fake.closed).toEqual(["context", "model"]);
    expect([active.state("small").modelId, active.state("large").modelId]).toEqual(["second", "second"]);
  });

  it("and that cannot be loaded leaves the one before it, is told, and is not tried with every request", async () => {
    const loadError = (path: string) => (path.endsWith("second.gguf") ? "MODEL_INVALID: torn" : undefined);
    const { fake, runtime, active, use } = await setUp({ loadError });
    await use({ large: "first" });
    await ask(runtime);
    await use({ large: "second" });
    expect([await ask(runtime), await ask(runtime)]).toEqual(["Hello there", "Hello there"]);
    expect(loaded(fake)).toEqual(["first.gguf", "second.gguf", "first.gguf"]);
    const error = { code: "MODEL_INVALID", message: "torn" };
    expect(active.state("large")).toMatchObject({ modelId: "first", status: "ready", error });
    await use({ large: "first" });
    await ask(runtime);
    expect(active.state("large")).not.toHaveProperty("error");
    await use({ large: "third" });
    await ask(runtime);
    expect(active.state("large")).toMatchObject({ modelId: "third", status: "ready" });
    expect(active.state("large")).not.toHaveProperty("error");
  });

  it("and that does not fit leaves the one before it in memory", async () => {
    const { fake, runtime, active, use } = await setUp();
    await use({ large: "first" });
    await ask(runtime);
    await use({ large: "second" });
    fake.script.neededBytes = 5000;
    expect(await ask(runtime)).toBe("Hello there");
    expect(loaded(fake)).toEqual(["first.gguf"]);
    expect(active.state("large").error?.code).toBe("OUT_OF_MEMORY");
  });

  it("goes before an earlier switch, which went before the settings", async () => {
    const { fake, runtime, active, use } = await setUp();
    await use({ large: "first" });
    await active.switchTo("second");
    await ask(runtime);
    await use({ large: "second" });
    await ask(runtime);
    expect(loaded(fake)).toEqual(["second.gguf"]);
    await use({ large: "third" });
    await ask(runtime);
    expect(loaded(fake)).toEqual(["second.gguf", "third.gguf"]);
  });

  it("and that a request which never ends keeps out is waited for once, not by every request", async () => {
    const { fake, runtime, agent, use } = await setUp();
    await use({ large: "first" });
    const loads = { first: await agent.active.current("large"), second: await agent.active.current("large") };
    await use({ large: "second" });
    loads.second = await agent.active.current("large");
    let name: keyof typeof loads = "first";
    const active = new ActiveModels({
      engine: agent.engine,
      nameOf: () => name,
      resolve: async (which) => loads[which as keyof typeof loads],
      versionOf: async (which) => which,
      drainMs: 1000,
    });
    const spec = async () => active.use("large", async ({ path }) => ({ value: path.split("/").at(-1) }));
    const forever = new Promise<void>(() => {});
    await active.use("large", async () => ({ value: undefined, until: forever }));
    name = "second";
    const started = performance.now();
    expect(await spec()).toBe("first.gguf");
    expect(performance.now() - started).toBeGreaterThan(900);
    expect(active.state("large")).toMatchObject({ modelId: "first", error: { code: "BUSY" } });
    const again = performance.now();
    expect(await Promise.all([spec(), spec()])).toEqual(["first.gguf", "first.gguf"]);
    expect(performance.now() - again).toBeLessThan(900);
    expect(fake.loads).toEqual([]);
    expect(await ask(runtime)).toBe("Hello there");
  });

  it("is not begun for a request whose signal fires while the model is looked up", async () => {
    const { agent, use } = await setUp();
    await use({ large: "first" });
    const loads = { first: await agent.active.current("large"), second: await agent.active.current("large") };
    await use({ large: "second" });
    loads.second = await agent.active.current("large");
    let name: keyof typeof loads = "first";
    const controller = new AbortController();
    const active = new ActiveModels({
      engine: agent.engine,
      nameOf: () => name,
      resolve: async (which) => loads[which as keyof typeof loads],
      versionOf: async (which) => {
        if (which === "second") controller.abort();
        return which;
      },
      // Longer than the test may take: the request must not wait for the switch.
      drainMs: 600_000,
    });
    await active.use("large", async () => ({ value: undefined, until: new Promise<void>(() => {}) }));
    name = "second";
    const aborted = active.use("large", async () => ({ value: undefined }), controller.signal);
    await expect(aborted).rejects.toMatchObject({ name: "AbortError" });
    expect(active.state("large")).toMatchObject({ modelId: "first", requests: 1 });
  });

  it("is waited for by a request until its signal fires", async () => {
    const { fake, runtime, active, use } = await setUp();
    await use({ large: "first" });
    await ask(runtime);
    fake.script.holdLoads = true;
    await use({ large: "second" });
    const controller = new AbortController();
    const params = { prompt: "Hi", signal: controller.signal };
    const waiting = runtime.useModel("TEXT_LARGE" as never, params as never);
    await vi.waitFor(() => expect(loaded(fake)).toEqual(["first.gguf", "second.gguf"]));
    expect(active.state("large").status).toBe("loading");
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
    fake.script.holdLoads = false;
    fake.release();
    expect(await ask(runtime)).toBe("Hello there");
  });
});

import { afterEach, describe, expect, it, vi } from "vitest";
import { LocalModel, readModelHeader } from "../../../ts/engine/model.js";
import { setNativeForTests } from "../../../ts/native/addon.js";
import { useFake } from "../../helpers/fake-native.js";

afterEach(() => setNativeForTests(undefined));

describe("loading", () => {
  it("passes the options on and reports progress up to 1", async () => {
    const fake = useFake({ holdLoads: true });
    const fractions: number[] = [];
    const loading = LocalModel.load("a.gguf", {
      gpuLayers: 0,
      onProgress: (fraction) => fractions.push(fraction),
    });
    await vi.waitFor(() => expect(fractions).toContain(0.5));
    fake.release();
    await loading;
    expect(fractions.at(-1)).toBe(1);
    expect(fake.loads).toEqual([{ path: "a.gguf", options: { gpuLayers: 0 } }]);
  });

  it("a signal that has already fired loads nothing", async () => {
    const fake = useFake();
    const loading = LocalModel.load("a.gguf", { signal: AbortSignal.abort() });
    await expect(loading).rejects.toMatchObject({ name: "AbortError" });
    expect(fake.loads).toHaveLength(0);
  });

  it("a signal stops a load", async () => {
    const fake = useFake({ holdLoads: true });
    const controller = new AbortController();
    const loading = LocalModel.load("a.gguf", { signal: controller.signal });
    await vi.waitFor(() => expect(fake.loads).toHaveLength(1));
    controller.abort("later");
    await expect(loading).rejects.toMatchObject({ name: "AbortError", cause: "later" });
    expect(fake.cancelledLoads).toBe(1);
  });

  it("a failed load rejects with the addon's code", async () => {
    useFake({ loadError: "OUT_OF_MEMORY: 8 GiB do not fit" });
    await expect(LocalModel.load("a.gguf")).rejects.toMatchObject({
      code: "OUT_OF_MEMORY",
      message: "8 GiB do not fit",
    });
  });

  it("the header is read without loading", async () => {
    const fake = useFake();
    expect(await readModelHeader("a.gguf")).toMatchObject({ architecture: "fake" });
    expect(fake.loads).toHaveLength(0);
  });
});

describe("a model in memory", () => {
  it("turns text into tokens and back", async () => {
    useFake();
    const model = await LocalModel.load("a.gguf");
    const tokens = await model.tokenize("héllo");
    expect(await model.detokenize(Array.from(tokens))).toBe("héllo");
    expect(await model.countTokens("héllo")).toBe(tokens.length);
  });

  it("opens its own context once, with the options of the load", async () => {
    const fake = useFake();
    const model = await LocalModel.load("a.gguf", { context: { contextSize: 512 } });
    await Promise.all([model.generate({ prompt: "a" }).result, model.generate({ prompt: "b" }).result]);
    expect(fake.contexts).toEqual([{ contextSize: 512 }]);
  });
});

describe("closing", () => {
  it("closes contexts and embedders before the model, once", async () => {
    const fake = useFake();
    const model = await LocalModel.load("a.gguf");
    await model.createContext();
    await model.createEmbedder();
    await Promise.all([model.close(), model.close()]);
    await model.close();
    expect(fake.closed).toEqual(["context", "embedder", "model"]);
  });

  it("a context that was closed is not closed again with the model", async () => {
    const fake = useFake();
    const model = await LocalModel.load("a.gguf");
    const context = await model.createContext();
    await context.close();
    await model.close();
    expect(fake.closed).toEqual(["context", "model"]);
  });

  it("await using closes", async () => {
    const fake = useFake();
    {
      await using model = await LocalModel.load("a.gguf");
      expect(model.header.architecture).toBe("fake");
    }
    expect(fake.closed).toEqual(["model"]);
  });

  it("afterwards every call says so", async () => {
    useFake();
    const model = await LocalModel.load("a.gguf");
    const context = await model.createContext();
    const embedder = await model.createEmbedder();
    await model.close();
    const closed = expect.objectContaining({ code: "CLOSED" });
    expect(() => model.header).toThrow(closed);
    expect(() => model.generate({ prompt: "a" })).toThrow(closed);
    expect(() => model.context()).toThrow(closed);
    await expect(model.tokenize("a")).rejects.toEqual(closed);
    await expect(model.detokenize([1])).rejects.toEqual(closed);
    await expect(model.countTokens("a")).rejects.toEqual(closed);
    await expect(model.renderChat({ messagesJson: "[]" })).rejects.toEqual(closed);
    await expect(model.createContext()).rejects.toEqual(closed);
    await expect(model.createEmbedder()).rejects.toEqual(closed);
    expect(() => context.info).toThrow(closed);
    expect(() => context.generate({ prompt: "a" })).toThrow(closed);
    expect(() => embedder.info).toThrow(closed);
    await expect(embedder.embed(["a"])).rejects.toEqual(closed);
  });

  it("a context that finishes opening after the close does not outlive it", async () => {
    const fake = useFake();
    const model = await LocalModel.load("a.gguf");
    const opening = model.createContext();
    const closing = model.close();
    await expect(opening).rejects.toMatchObject({ code: "CLOSED" });
    await closing;
    expect(fake.closed.sort()).toEqual(["context", "model"]);
  });
});

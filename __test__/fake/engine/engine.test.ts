import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Engine, type TextSpec } from "../../../ts/engine/engine.js";
import { residentCount } from "../../../ts/engine/residents.js";
import { setNativeForTests } from "../../../ts/native/addon.js";
import { useFake } from "../../helpers/fake-native.js";

const SPEC: TextSpec = { kind: "text", path: "/models/a.gguf", context: { contextSize: 512 } };
const engines: Engine[] = [];

function engine(idleUnloadMs = 0): Engine {
  const created = Engine.create({ idleUnloadMs });
  engines.push(created);
  return created;
}

const ask = async (asked: Engine, signal?: AbortSignal) =>
  (await asked.generate(SPEC, { prompt: "a" }, { signal })).result;

beforeEach(() => vi.useRealTimers());

afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(engines.splice(0).map((one) => one.close()));
  expect(residentCount()).toBe(0);
  setNativeForTests(undefined);
});

describe("models in memory", () => {
  it("requests at the same time share one load and one context", async () => {
    const fake = useFake();
    const one = engine();
    await Promise.all([ask(one), ask(one), ask(one)]);
    expect([fake.loads.length, fake.contexts.length]).toEqual([1, 1]);
  });

  it("other options are another load; another context shares the weights", async () => {
    const fake = useFake();
    const one = engine();
    await (await one.generate({ ...SPEC, load: { gpuLayers: 0 } }, { prompt: "a" })).result;
    await ask(one);
    await (await one.generate({ ...SPEC, context: { contextSize: 1024 } }, { prompt: "a" })).result;
    expect(fake.loads.map(({ options }) => options)).toEqual([{ gpuLayers: 0 }, {}]);
    expect(fake.contexts).toHaveLength(3);
  });

  it("in a control group weights are read instead of mapped, unless the caller says", async () => {
    const fake = useFake({ memoryLimit: 2 ** 31 });
    const one = engine();
    await ask(one);
    await one.preload({ ...SPEC, load: { useMmap: true } });
    expect(fake.loads.map(({ options }) => options)).toEqual([{ useMmap: false }, { useMmap: true }]);
  });

  it("a failed load is tried again by the next request", async () => {
    const fake = useFake({ loadError: "OUT_OF_MEMORY: no" });
    const one = engine();
    await expect(ask(one)).rejects.toMatchObject({ code: "OUT_OF_MEMORY" });
    delete fake.script.loadError;
    expect((await ask(one)).text).toBe("Hello there");
    expect(fake.loads).toHaveLength(2);
  });

  it("two engines share the weights; closing one leaves the other's answer running", async () => {
    const fake = useFake({ holdAfter: 1 });
    const [first, second] = [engine(), engine()];
    const mine = await first.generate(SPEC, { prompt: "a" });
    const theirs = await second.generate(SPEC, { prompt: "b" });
    await first.close();
    await expect(mine.result).rejects.toMatchObject({ code: "CLOSED" });
    expect(fake.closed).toEqual([]);
    fake.streams[1]?.release();
    expect((await theirs.result).text).toBe("Hello there");
    await second.close();
    expect(fake.closed).toEqual(["context", "model"]);
    expect(fake.loads).toHaveLength(1);
  });

  it("a model that is leaving memory is gone before it is loaded again", async () => {
    const fake = useFake({ holdCloses: true });
    const [first, second] = [engine(), engine()];
    await ask(first);
    const closing = first.close();
    await vi.waitFor(() => expect(residentCount()).toBe(0));
    const asking = ask(second);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(fake.loads).toHaveLength(1);
    fake.script.holdCloses = false;
    fake.release();
    await closing;
    expect((await asking).text).toBe("Hello there");
    expect(fake.loads).toHaveLength(2);
  });

  it("preloading opens what the first request needs", async () => {
    const fake = useFake();
    const one = engine();
    await one.preload(SPEC);
    expect([fake.loads.length, fake.contexts.length]).toEqual([1, 1]);
    await ask(one);
    expect([fake.loads.length, fake.contexts.length]).toEqual([1, 1]);
  });
});

describe("idle models", () => {
  it("leave memory after the idle time and come back on demand", async () => {
    const fake = useFake();
    const one = engine(1000);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    await ask(one);
    await vi.advanceTimersByTimeAsync(999);
    expect(residentCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(fake.closed).toEqual(["context", "model"]);
    await ask(one);
    expect(fake.loads).toHaveLength(2);
  });

  it("a request starts the idle time anew, and one in progress holds the model", async () => {
    useFake({ holdAfter: 1 });
    const one = engine(1000);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const generation = await one.generate(SPEC, { prompt: "a" });
    await vi.advanceTimersByTimeAsync(5000);
    expect(residentCount()).toBe(1);
    await generation.cancel();
    await vi.advanceTimersByTimeAsync(999);
    expect(residentCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(residentCount()).toBe(0);
  });

  it("a request that outlasts the idle time of an earlier one keeps the model", async () => {
    const fake = useFake();
    const one = engine(1000);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    await ask(one);
    await vi.advanceTimersByTimeAsync(500);
    fake.script.holdAfter = 1;
    const generation = await one.generate(SPEC, { prompt: "a" });
    await vi.advanceTimersByTimeAsync(5000);
    expect(residentCount()).toBe(1);
    fake.streams[1]?.release();
    expect((await generation.result).text).toBe("Hello there");
  });

  it("the most patient of the engines that share a model decides", async () => {
    useFake();
    const [hasty, patient] = [engine(1000), engine(3000)];
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    await ask(hasty);
    await ask(patient);
    await vi.advanceTimersByTimeAsync(2999);
    expect(residentCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(residentCount()).toBe(0);
  });
});

describe("stopping", () => {
  it("a signal that has already fired loads nothing", async () => {
    const fake = useFake();
    await expect(ask(engine(), AbortSignal.abort())).rejects.toMatchObject({ name: "AbortError" });
    expect(fake.loads).toHaveLength(0);
  });

  it("one caller's signal does not stop a load that another waits for", async () => {
    const fake = useFake({ holdLoads: true });
    const one = engine();
    const controller = new AbortController();
    const leaving = ask(one, controller.signal);
    const staying = ask(one);
    await vi.waitFor(() => expect(fake.loads).toHaveLength(1));
    controller.abort();
    await expect(leaving).rejects.toMatchObject({ name: "AbortError" });
    expect(fake.cancelledLoads).toBe(0);
    fake.release();
    expect((await staying).text).toBe("Hello there");
  });

  it("a load that nobody waits for any more is given up", async () => {
    const fake = useFake({ holdLoads: true });
    const controller = new AbortController();
    const leaving = ask(engine(), controller.signal);
    await vi.waitFor(() => expect(fake.loads).toHaveLength(1));
    controller.abort();
    await expect(leaving).rejects.toMatchObject({ name: "AbortError" });
    await vi.waitFor(() => expect(fake.cancelledLoads).toBe(1));
    expect(residentCount()).toBe(0);
  });

  it("closing during a load stops it", async () => {
    const fake = useFake({ holdLoads: true });
    const one = engine();
    const waiting = ask(one);
    await vi.waitFor(() => expect(fake.loads).toHaveLength(1));
    const closing = one.close();
    await expect(waiting).rejects.toMatchObject({ code: "CLOSED" });
    await closing;
    expect(fake.cancelledLoads).toBe(1);
  });

  it("closing waits for its requests, can be repeated, and refuses what comes later", async () => {
    const fake = useFake({ holdEmbeddings: true });
    const one = engine();
    const running = one.embed({ kind: "embedding", path: "/models/e.gguf" }, ["a"]);
    await vi.waitFor(() => expect(fake.batches).toHaveLength(1));
    await Promise.all([one.close(), one.close()]);
    await expect(running).rejects.toMatchObject({ code: "CLOSED" });
    await expect(ask(one)).rejects.toMatchObject({ code: "CLOSED" });
    expect(one.active).toBe(0);
  });
});

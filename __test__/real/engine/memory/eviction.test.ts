import { afterEach, expect, it } from "vitest";
import { type EmbeddingSpec, Engine, type ModelSpec, type TextSpec } from "../../../../ts/engine/engine.js";
import { kindOf } from "../../../../ts/engine/kinds.js";
import { MemoryArbiter } from "../../../../ts/engine/memory/arbiter.js";
import { memoryArbiter } from "../../../../ts/engine/memory/shared.js";
import { modelPath } from "../../../helpers/models.js";

const PLACE = Symbol.for("@elizaos/plugin-local-inference/memory-arbiter/1");
const HEADROOM = 64 * 1024 * 1024;
const load = { memoryHeadroomBytes: HEADROOM };
const text: TextSpec = {
  kind: "text",
  path: modelPath("chat"),
  load,
  context: { contextSize: 512, threads: 2 },
};
const vectors: EmbeddingSpec = {
  kind: "embedding",
  path: modelPath("embedding"),
  load,
  embedder: { threads: 2 },
};
const memoryNeed = (spec: ModelSpec) => kindOf(spec).need(spec);
const shared = globalThis as { [PLACE]?: MemoryArbiter };

const engines: Engine[] = [];
const engine = () => {
  const created = Engine.create({ idleUnloadMs: 0 });
  engines.push(created);
  return created;
};

afterEach(async () => {
  await Promise.all(engines.splice(0).map((one) => one.close()));
  delete shared[PLACE];
});

/** An arbiter that believes in a machine of this size with nothing but its own handles in memory. */
function believeIn(totalBytes: number): MemoryArbiter {
  const arbiter: MemoryArbiter = new MemoryArbiter({
    facts: async () => ({ totalBytes, availableBytes: totalBytes - arbiter.snapshot().bytes }),
  });
  shared[PLACE] = arbiter;
  return arbiter;
}

const answer = async (one: Engine) => {
  const request = { prompt: "The capital of France is", temperature: 0, maxTokens: 4 };
  return (await (await one.generate(text, request)).result).text;
};

it("text and embeddings of two engines take turns where there is room for one of them", async () => {
  const needs = await Promise.all([text, vectors].map((spec) => memoryNeed(spec)));
  const largest = Math.max(...needs.map(({ bytes }) => bytes));
  const arbiter = believeIn(largest + HEADROOM + 1024 * 1024);
  const [one, other] = [engine(), engine()];
  const first = await answer(one);
  for (let round = 0; round < 2; round++) {
    const { vectors: made } = await other.embed(vectors, ["bread"]);
    expect(made[0]).toHaveLength(384);
    expect(one.residency(text).loaded).toBe(false);
    expect(await answer(one)).toBe(first);
    expect(other.residency(vectors).loaded).toBe(false);
  }
  expect(arbiter.snapshot().unloads.room).toBe(4);
});

it("a request in progress keeps its model, and what does not fit beside it waits for its end", async () => {
  const need = await memoryNeed(text);
  believeIn(need.bytes + HEADROOM + 1024 * 1024);
  const one = engine();
  const running = await one.generate(text, { prompt: "Once", maxTokens: 64, ignoreEos: true });
  const embedding = one.embed(vectors, ["bread"]);
  const { usage } = await running.result;
  expect(usage.completionTokens).toBe(64);
  expect((await embedding).vectors[0]).toHaveLength(384);
});

it("where there is room for both, both stay", async () => {
  const one = engine();
  await answer(one);
  await one.embed(vectors, ["bread"]);
  expect([one.residency(text).loaded, one.residency(vectors).loaded]).toEqual([true, true]);
  const [embedder, model] = memoryArbiter().snapshot().entries;
  expect([embedder?.role, model?.role]).toEqual(["embedding", "text"]);
  expect(model?.bytes).toBeGreaterThan(80 * 1024 * 1024);
});

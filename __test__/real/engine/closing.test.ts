import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { LocalModel } from "../../../ts/index.js";
import { modelPath } from "../../helpers/models.js";

const CONTEXT = { contextSize: 512, threads: 1 };
const REQUEST = { prompt: "a", maxTokens: 40, ignoreEos: true };

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const load = () => LocalModel.load(modelPath("tiny"), { context: CONTEXT });

it("closing the model ends what it is generating", async () => {
  const model = await load();
  const generation = model.generate({ ...REQUEST, maxTokens: 400 });
  await generation.started;
  const settled = expect(generation.result).rejects.toMatchObject({
    code: expect.stringMatching(/^(CANCELLED|CLOSED)$/),
  });
  await model.close();
  await settled;
  expect(() => model.header).toThrow(expect.objectContaining({ code: "CLOSED" }));
});

it("closing a context ends its requests, queued ones too, and leaves the other context alone", async () => {
  await using model = await load();
  const [one, other] = [await model.createContext(CONTEXT), await model.createContext(CONTEXT)];
  const doomed = Array.from({ length: 8 }, () => one.generate({ ...REQUEST, maxTokens: 400 }));
  const surviving = other.generate(REQUEST).result;
  await Promise.all(doomed.map((generation) => generation.started));
  const results = Promise.allSettled(doomed.map((generation) => generation.result));
  await one.close();
  expect((await results).map((result) => result.status)).toEqual(new Array(8).fill("rejected"));
  expect((await surviving).usage.completionTokens).toBe(40);
});

it("collecting a closed context does not touch a newer one", async () => {
  await using model = await load();
  for (let round = 0; round < 10; round++) {
    await using context = await model.createContext(CONTEXT);
    const generation = context.generate(REQUEST);
    for await (const _ of generation) collectGarbage();
    expect((await generation.result).usage.completionTokens).toBe(40);
  }
});

it("a model that nobody closes is collected without harm", async () => {
  await (await load()).generate(REQUEST).result;
  collectGarbage();
  await using model = await load();
  expect((await model.generate(REQUEST).result).usage.completionTokens).toBe(40);
});

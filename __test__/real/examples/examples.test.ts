import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { developmentModel, requireFiles } from "../../../scripts/lib/demo-models.mjs";
import { fromRoot } from "../../../scripts/lib/paths.mjs";

const models = {
  LOCAL_LARGE_MODEL: developmentModel("large"),
  LOCAL_EMBEDDING_MODEL: developmentModel("embedding"),
};
requireFiles(Object.values(models));

const runExample = async (name: string, ...args: string[]) => {
  const file = fromRoot("examples", name);
  const env = { ...process.env, ...models };
  return (await promisify(execFile)(process.execPath, [file, ...args], { env })).stdout;
};

it("the agent example answers from the local model", async () => {
  expect(await runExample("agent.mjs", "What is the capital of France?")).toContain("Paris");
});

it("the engine example streams an answer, stops two generations and ranks texts by meaning", async () => {
  const output = await runExample("engine.mjs");
  expect(output).toContain("Paris");
  expect(output).toContain("stopped by leaving the loop: cancelled");
  expect(output).toContain("stopped by a signal: CANCELLED");
  const [, food, market] = /bread and food (-?[\d.]+), bread and stock market (-?[\d.]+)/.exec(output) ?? [];
  expect(Number(food)).toBeGreaterThan(Number(market) + 0.2);
});

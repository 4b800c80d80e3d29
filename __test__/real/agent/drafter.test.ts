import { join } from "node:path";
import { type IAgentRuntime, ModelType } from "@elizaos/core";
import { afterEach, describe, expect, it } from "vitest";
import { modelsDir } from "../../../scripts/lib/paths.mjs";
import { agentOf } from "../../../ts/agent/agent.js";
import { startAgent } from "../../helpers/runtime.js";

// An agent whose model is a file of its own drafts with what LOCAL_DRAFTER names.

let runtime: IAgentRuntime | undefined;

afterEach(async () => {
  await runtime?.stop();
  runtime = undefined;
});

async function usageWith(settings: Record<string, string>, prompt = " w001 w002 w003") {
  const agent = await startAgent({
    settings: {
      MODELS_DIR: modelsDir(),
      LOCAL_LARGE_MODEL: join(modelsDir(), "synthetic-mtp", "target.gguf"),
      LOCAL_CONTEXT_SIZE: "1024",
      LOCAL_THREADS: "1",
      ...settings,
    },
  });
  runtime = agent.runtime;
  const { engine, active } = agentOf(runtime);
  const answer = await runtime.useModel(ModelType.TEXT_LARGE, { prompt, maxTokens: 8 });
  expect(typeof answer).toBe("string");
  const load = await active.current("large");
  // Whether drafts of so small a model pay is another question.
  const speculative = { min: 2, max: 2, adaptive: false };
  const request = { prompt, temperature: 0, maxTokens: 40, ignoreEos: true, speculative };
  const { usage } = await (await engine.generate(load.spec, request)).result;
  return { usage, load };
}

describe("LOCAL_DRAFTER", () => {
  it("names a file in the models folder, and the model's own drafts are accepted", async () => {
    const { usage, load } = await usageWith({ LOCAL_DRAFTER: "synthetic-mtp/drafter-100.gguf" });
    expect(load.warnings).toEqual([]);
    expect(usage.draftedTokens).toBeGreaterThan(0);
    expect(usage.acceptedTokens).toBe(usage.draftedTokens);
  });

  it("takes repetitions of the text for drafts", async () => {
    const circle = Array.from({ length: 112 }, (_, word) => ` w${String(word).padStart(3, "0")}`).join("");
    const { usage } = await usageWith({ LOCAL_DRAFTER: "ngram" }, `${circle} w000 w001 w002`);
    expect(usage.draftedTokens).toBeGreaterThan(0);
  });

  it.each([
    ["a file that is not there", { LOCAL_DRAFTER: "nowhere.gguf" }, "nowhere.gguf"],
    ["heads that the model lacks", { LOCAL_DRAFTER: "heads" }, undefined],
    ["ELIZA_MTP_DISABLE", { LOCAL_DRAFTER: "ngram", ELIZA_MTP_DISABLE: "true" }, undefined],
  ])("with %s answers without drafts", async (_, settings, warning) => {
    const { usage, load } = await usageWith(settings as Record<string, string>);
    expect(usage).toMatchObject({ draftedTokens: 0, completionTokens: 40 });
    expect(load.warnings).toEqual(warning === undefined ? [] : [expect.stringContaining(warning)]);
  });
});

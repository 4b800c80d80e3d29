import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCase, structuredCases } from "../../../../../scripts/lib/structured-cases.mjs";
import { LocalModel } from "../../../../../ts/engine/model.js";
import * as library from "../../../../../ts/index.js";
import { forms } from "../../../../helpers/forms.js";
import { modelPath } from "../../../../helpers/models.js";

const CASES = [
  "grammar",
  "skeleton",
  "schema",
  "array",
  "enum",
  "json_object",
  "tools",
  "reply",
  "decision",
] as const;

let model: LocalModel;

beforeAll(async () => {
  model = await LocalModel.load(modelPath("chat"), { context: { contextSize: 2048, threads: 1 } });
}, 60_000);

afterAll(async () => {
  await model.close();
});

const ask = (request: object) =>
  model.generate({ messages: [{ role: "user", content: "Hello" }], temperature: 1.2, ...request }).result;

describe("answers of a real model", () => {
  it.each(CASES)(
    "have the form that %s asks for, also where a limit cuts them",
    async (name) => {
      const one = (await structuredCases(forms)).find(
        (candidate: { name: string }) => candidate.name === name,
      );
      const { failures, count } = await runCase(model, one as never, { count: 4, limits: [16], lanes: 1 });
      expect(failures).toEqual([]);
      expect(count).toBe(4);
    },
    120_000,
  );

  it("report what was determined", async () => {
    const constraint = library.grammarConstraint(
      'root ::= "The answer is " [0-9]+ ", and that is all there is to say."',
    );
    const { text, usage, finishReason } = await ask({ constraint, maxTokens: 60 });
    expect(text).toMatch(/^The answer is \d+, and that is all there is to say\.$/);
    expect(usage.forcedTokens).toBeGreaterThan(8);
    expect(["stop", "length"]).toContain(finishReason);
  });

  it("have log probabilities for each token when they are asked for", async () => {
    const constraint = library.schemaConstraint({ enum: ["red", "blue"] });
    const { logprobs, usage } = await ask({ constraint, maxTokens: 20, logprobs: 1 });
    expect(usage.forcedTokens).toBe(0);
    expect(logprobs).toHaveLength(usage.completionTokens);
  });

  it("stream valid beginnings only", async () => {
    const constraint = library.schemaConstraint({
      type: "array",
      items: { type: "integer" },
      minItems: 3,
      maxItems: 5,
    });
    let text = "";
    for await (const piece of model.generate({
      prompt: "Numbers: ",
      constraint,
      maxTokens: 40,
      temperature: 1.2,
    })) {
      text += piece.text;
      expect(text).toMatch(/^\[[-\d, ]*\]?$/);
    }
    expect(JSON.parse(text).length).toBeGreaterThanOrEqual(3);
  });

  it("are refused for a grammar that is wrong, with its reason", async () => {
    for (const grammar of ["root ::= root", "root ::= missing", "root ::= ("]) {
      await expect(ask({ grammar })).rejects.toMatchObject({ code: "GRAMMAR_INVALID" });
    }
    const constraint = library.schemaConstraint({ type: "string", enum: [1] });
    await expect(ask({ constraint })).rejects.toMatchObject({ code: "GRAMMAR_INVALID" });
  });

  it("run side by side, each in its own form", async () => {
    const colours = Array.from({ length: 3 }, (_, seed) =>
      ask({ constraint: library.schemaConstraint({ enum: ["red", "blue"] }), maxTokens: 20, seed }),
    );
    const numbers = Array.from({ length: 3 }, (_, seed) =>
      ask({ grammar: "root ::= [0-9]{4}", maxTokens: 20, seed }),
    );
    for (const { text } of await Promise.all(colours)) expect(["red", "blue"]).toContain(JSON.parse(text));
    for (const { text } of await Promise.all(numbers)) expect(text).toMatch(/^\d{4}$/);
  });
});

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { modelsDir } from "../../../../../scripts/lib/paths.mjs";
import { structuredCases } from "../../../../../scripts/lib/structured-cases.mjs";
import { LocalModel } from "../../../../../ts/engine/model.js";
import type { GenerateRequest, GenerationResult } from "../../../../../ts/engine/text/types.js";
import * as library from "../../../../../ts/index.js";
import { forms } from "../../../../helpers/forms.js";
import { modelPath } from "../../../../helpers/models.js";

// Constrained answers as they stream, and together with whatever else a request can ask for.

interface Case {
  name: string;
  request: GenerateRequest;
  problem: (result: GenerationResult) => string | undefined;
}

const WARM = { temperature: 1.2, topP: 1, topK: 0, minP: 0 };
/** Opens a reasoning block in the generation prompt, as the distilled DeepSeek models do. */
const REASONING = `{%- for message in messages -%}
{{- '<|im_start|>' + message.role + '\\n' + message.content.split('</think>')[-1] + '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n<think>\\n' -}}{%- endif -%}`;

let cases: Case[];
let model: LocalModel;

beforeAll(async () => {
  const all = (await structuredCases(forms)) as Case[];
  const wanted = (name: string) => all.find((one) => one.name === name) as Case;
  const template = readFileSync(join(modelsDir(), "chat-templates/Qwen-Qwen2.5-7B-Instruct.jinja"), "utf8");
  const tools = wanted("tools");
  const templateCall = { ...tools, name: "template call", request: { ...tools.request, template } };
  cases = [...["schema", "skeleton", "reply", "tools"].map(wanted), templateCall];
  model = await LocalModel.load(modelPath("chat"), {
    context: { contextSize: 8192, threads: 1, parallel: 4, ngram: true },
  });
}, 60_000);

afterAll(async () => {
  await model.close();
});

/** Generates and checks what holds for every stream. */
async function streamed(of: LocalModel, request: GenerateRequest): Promise<GenerationResult> {
  const generation = of.generate({ ...WARM, maxTokens: 40, ...request });
  const texts = [""];
  const calls: string[] = [];
  let tokens = 0;
  for await (const piece of generation) {
    texts.push(texts.at(-1) + piece.text);
    tokens += piece.tokens;
    for (const { index, arguments: more } of piece.toolCalls ?? [])
      calls[index] = (calls[index] ?? "") + more;
  }
  const result = await generation.result;
  for (const text of texts) expect(result.text.startsWith(text), text).toBe(true);
  expect(texts.at(-1)).toBe(result.text);
  expect(calls).toEqual(result.toolCalls?.map((call) => call.arguments) ?? []);
  expect(tokens).toBe(result.usage.completionTokens);
  return result;
}

/** Every case at once, so that four run and others wait. */
async function together(
  of: LocalModel,
  more: Partial<GenerateRequest>,
  seed = 1,
): Promise<GenerationResult[]> {
  return Promise.all(
    cases.map(async ({ name, request, problem }) => {
      const result = await streamed(of, { ...request, seed, ...more });
      expect(problem(result), `${name}: ${result.text}`).toBeUndefined();
      return result;
    }),
  );
}

const sum = (results: GenerationResult[], key: "draftedTokens" | "refusedTokens" | "reasoningTokens") =>
  results.reduce((total, { usage }) => total + usage[key], 0);

describe("a constrained answer", () => {
  it.each([1, 2, 3])(
    "is streamed as beginnings of itself, side by side with others (seed %i)",
    async (seed) => {
      const results = await together(model, { speculative: "off" }, seed);
      expect(sum(results, "refusedTokens")).toBeGreaterThan(0);
    },
  );

  it("matches whatever strings may stop it", async () => {
    for (const stop of [
      ["}", "]", '"', "</response>"],
      ["e", " ", "\n", ">"],
      ["REPLY", "Rome", "1", "{"],
    ]) {
      await together(model, { stop, speculative: "off" });
    }
  });

  it("matches with log probabilities, one for each token", async () => {
    // What closes an answer at its limit was not sampled.
    for (const { logprobs, usage } of await together(model, { logprobs: 2 })) {
      expect(logprobs).toHaveLength(usage.completionTokens - usage.forcedTokens);
    }
  });

  it("matches after reasoning, and while others reason", async () => {
    const tools = new Set(["tools", "template call"]);
    const plain = cases.filter(({ name }) => !tools.has(name));
    const answers = plain.map(async ({ request, problem, name }) => {
      const result = await streamed(model, { ...request, template: REASONING, maxTokens: 60, seed: 4 });
      expect(problem(result), `${name}: ${result.text}`).toBeUndefined();
      return result;
    });
    expect(sum(await Promise.all(answers), "reasoningTokens")).toBeGreaterThan(0);
  });

  it("matches while tokens are drafted from repetitions", async () => {
    // On a busy machine an adaptive window may find that no draft pays.
    const drafting = { speculative: { min: 1, max: 3, adaptive: false }, temperature: 0.5 };
    // Whether the other answers repeat anything depends on what is drawn; among bits every pair soon comes back.
    const constraint = library.grammarConstraint("root ::= [01]{30}");
    const bits = streamed(model, { ...WARM, ...drafting, prompt: "Random bits: ", constraint, seed: 1 });
    await together(model, drafting);
    const { text, usage } = await bits;
    expect(text).toMatch(/^[01]{30}$/);
    expect(usage.draftedTokens).toBeGreaterThan(0);
  });
});

describe("a span of a skeleton that takes the likeliest", () => {
  const spans = [
    { kind: "literal", value: '{"word":' },
    { kind: "enum", enumValues: ["red", "green", "blue", "grey"] },
    { kind: "literal", value: ',"text":' },
    { kind: "free-string" },
    { kind: "literal", value: "}" },
  ];
  const spanSamplerPlan = { overrides: [{ spanIndex: 1, temperature: 0, topK: 1 }] };
  const answers = (params: object) => {
    const form = forms.structureOf({ responseSkeleton: { spans }, ...params });
    const constraint = form?.constraint as NonNullable<typeof form>["constraint"];
    const one = async (seed: number) =>
      JSON.parse(
        (await streamed(model, { prompt: "Colours: ", constraint, seed, temperature: 3, maxTokens: 24 }))
          .text,
      );
    return Promise.all([1, 2, 3, 4, 5, 6].map(one)) as Promise<{ word: string; text: string }[]>;
  };
  const different = (texts: string[]) => new Set(texts).size;

  it("is the same for every seed, and the others are drawn", async () => {
    const planned = await answers({ spanSamplerPlan });
    expect(different(planned.map(({ word }) => word))).toBe(1);
    expect(different(planned.map(({ text }) => text))).toBeGreaterThan(1);
    expect(different((await answers({})).map(({ word }) => word))).toBeGreaterThan(1);
  });

  it("is so in a grammar that was made from the skeleton", async () => {
    const grammar = String.raw`root ::= "{\"word\":\"" ("red" | "green" | "blue" | "grey") "\",\"text\":\"" [a-z ]{0,30} "\"}"`;
    const planned = await answers({ spanSamplerPlan, grammar });
    expect(different(planned.map(({ word }) => word))).toBe(1);
    expect(different(planned.map(({ text }) => text))).toBeGreaterThan(1);
  });
});

describe("with a drafter", () => {
  it.each(["drafter-80.gguf", "drafter-0.gguf"])("%s, answers match, side by side", async (drafter) => {
    const folder = join(modelsDir(), "synthetic-mtp");
    await using pair = await LocalModel.load(join(folder, "target.gguf"), {
      context: { contextSize: 2048, threads: 1, parallel: 4, drafter: join(folder, drafter) },
    });
    // The pair knows no chat; its words come in a circle, and a text between tags may hold them.
    const constraints = [
      library.partsConstraint([
        { type: "literal", text: "<a>" },
        { type: "text", until: "</a>", most: 200 },
      ]),
      library.schemaConstraint({ type: "array", items: { type: "integer" }, minItems: 3, maxItems: 9 }),
      library.schemaConstraint({ type: "object", properties: { a: { type: "string" } }, required: ["a"] }),
      library.grammarConstraint('root ::= (" w" [0-9] [0-9] [0-9])+ "."'),
    ];
    const judges = [
      (text: string) => /^<a>[^<]*<\/a>$/.test(text),
      (text: string) => JSON.parse(text).length >= 3,
      (text: string) => typeof JSON.parse(text).a === "string",
      (text: string) => /^( w\d{3})+\.$/.test(text),
    ];
    const results = await Promise.all(
      constraints.map(async (constraint, index) => {
        const result = await streamed(pair, {
          prompt: " w001 w002 w003",
          constraint,
          seed: 2,
          temperature: 0.6,
        });
        expect(judges[index]?.(result.text), result.text).toBe(true);
        return result;
      }),
    );
    expect(sum(results, "draftedTokens")).toBeGreaterThan(0);
  });
});

describe("a limit below the shortest answer", () => {
  it("is exceeded, which the usage says", async () => {
    for (const { request, problem, name } of cases) {
      const result = await streamed(model, { ...request, maxTokens: 1 });
      expect([name, problem(result), result.finishReason]).toEqual([name, undefined, "length"]);
      expect(result.usage.completionTokens).toBeGreaterThan(1);
    }
  });
});

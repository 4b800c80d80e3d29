import { describe, expect, it } from "vitest";
import { structureOf } from "../../../../ts/handlers/form/structure.js";
import { objectSchema } from "../../../../ts/handlers/request/object.js";

const partsOf = (params: object, options = {}) => {
  const { kind, source } = structureOf(params as Record<string, unknown>, options)?.constraint ?? {};
  expect(kind).toBe("parts");
  return JSON.parse(source ?? "[]") as { type: string; text?: string; options?: string[] }[];
};

describe("the form of an answer", () => {
  const spans = [{ kind: "literal", value: "x" }];
  const everything = {
    grammar: 'root ::= "a"',
    responseSkeleton: { spans },
    responseSchema: { type: "object" },
    responseFormat: { type: "json_object" },
  };

  it("comes from the strongest source", () => {
    const kinds = [];
    const left: Record<string, unknown> = { ...everything };
    for (const source of Object.keys(everything)) {
      kinds.push(structureOf(left)?.constraint.kind);
      delete left[source];
    }
    expect(kinds).toEqual(["gbnf", "parts", "schema", "schema"]);
    expect(structureOf({ prompt: "x", responseFormat: { type: "text" }, tools: [] })).toBeUndefined();
  });

  it("takes any object for json_object, and the schema of json_schema", () => {
    for (const responseFormat of [{ type: "json_object" }, "json_object"]) {
      expect(JSON.parse(structureOf({ responseFormat })?.constraint.source ?? "")).toEqual({
        type: "object",
      });
    }
    const schema = { type: "array" };
    const responseFormat = { type: "json_schema", json_schema: { schema } };
    expect(JSON.parse(structureOf({ responseFormat })?.constraint.source ?? "")).toEqual(schema);
  });

  it("keeps the text that an answer begins with", () => {
    expect(structureOf({ grammar: 'root ::= "ab"', prefill: "a" })?.prefill).toBe("a");
  });

  it("is judged afterwards by what a grammar cannot express", async () => {
    const responseSchema = { type: "array", items: { type: "integer" }, uniqueItems: true };
    const problem = structureOf({ responseSchema })?.problem;
    expect(await problem?.("[1, 2]")).toBeUndefined();
    expect(await problem?.("[1, 1]")).toContain("duplicate");
    expect(await problem?.("[1,")).toContain("JSON");
  });

  it("refuses what is not a schema", async () => {
    await expect(structureOf({ responseSchema: { type: "bird" } })?.problem?.("1")).rejects.toMatchObject({
      code: "INVALID_INPUT",
    });
  });
});

describe("a skeleton", () => {
  it("writes literals as they are and everything else as JSON", () => {
    const spans = [
      { kind: "literal", value: '{"a":' },
      { kind: "enum", key: "a", enumValues: ["x", "y"] },
      { kind: "boolean", key: "b" },
      { kind: "number", key: "c" },
      { kind: "free-string", key: "d" },
      { kind: "free-json", key: "e" },
    ];
    expect(partsOf({ responseSkeleton: { spans } })).toEqual([
      { type: "literal", text: '{"a":' },
      { type: "choice", options: ['"x"', '"y"'] },
      { type: "json", schema: { type: "boolean" } },
      { type: "json", schema: { type: "number" } },
      { type: "json", schema: { type: "string" } },
      { type: "json", schema: {} },
    ]);
  });

  it.each([{}, { spans: [] }, { spans: [{ kind: "other" }] }, { spans: [{ kind: "enum" }] }, { spans: [1] }])(
    "%j is refused",
    (responseSkeleton) => {
      expect(() => structureOf({ responseSkeleton })).toThrow(
        expect.objectContaining({ code: "INVALID_INPUT" }),
      );
    },
  );
});

describe("an object request", () => {
  const schema = { type: "object", properties: { a: { type: "string" } } };

  it("wants what output says", () => {
    expect(objectSchema({ schema })).toBe(schema);
    expect(objectSchema({})).toEqual({ type: "object" });
    expect(objectSchema({ output: "array", schema })).toEqual({ type: "array", items: schema });
    expect(objectSchema({ output: "array", schema: { type: "array" } })).toEqual({ type: "array" });
    expect(objectSchema({ output: "enum", enumValues: ["a", "b"] })).toEqual({ enum: ["a", "b"] });
  });

  it.each([{ output: "enum" }, { output: "enum", enumValues: [] }, { output: "other" }])(
    "%j is refused",
    (params) => {
      expect(() => objectSchema(params)).toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
    },
  );
});

describe("a plan of samplers for the spans of a skeleton", () => {
  const spans = [
    { kind: "literal", value: '{"a":' },
    { kind: "enum", enumValues: ["x", "y"] },
    { kind: "literal", value: ',"b":' },
    { kind: "free-string" },
    { kind: "literal", value: "}" },
  ];
  const greedy = { overrides: [{ spanIndex: 1, temperature: 0, topK: 1 }] };
  const asked = (spanSamplerPlan: unknown, more: object = { responseSkeleton: { spans } }) =>
    structureOf({ spanSamplerPlan, ...more })?.constraint;

  it("marks the spans that take the likeliest, also of a grammar made from the skeleton", () => {
    const marked = [{ text: '{"a":' }, { greedy: true }, { text: ',"b":' }, { greedy: false }, { text: "}" }];
    expect(asked(greedy)).toMatchObject({ kind: "parts", spans: marked });
    const both = { responseSkeleton: { spans }, grammar: 'root ::= "a"' };
    expect(asked(greedy, both)).toMatchObject({ kind: "gbnf", spans: marked });
  });

  it("leaves the rest to the request", () => {
    const warm = { overrides: [{ spanIndex: 1, temperature: 0.3 }] };
    for (const plan of [undefined, { overrides: [] }, warm]) expect(asked(plan)).not.toHaveProperty("spans");
    expect(asked(greedy, { grammar: 'root ::= "a"' })).not.toHaveProperty("spans");
    expect(asked(greedy, { responseSchema: {} })).not.toHaveProperty("spans");
  });

  it("is refused where it is strict and cannot be honoured", () => {
    const strict = { ...greedy, strict: true };
    expect(asked(strict)).toHaveProperty("spans");
    const reason = expect.objectContaining({ reason: "capability_unavailable" });
    const grammar = 'root ::= "a"';
    for (const more of [{ responseSchema: {} }, { grammar }, { grammar, responseSkeleton: { spans } }, {}]) {
      expect(() => asked(strict, more)).toThrow(reason);
    }
    expect(() => asked({ overrides: [{ spanIndex: 1, temperature: 0.3 }], strict: true })).toThrow(reason);
  });

  it("is refused when it is none", () => {
    for (const plan of [{}, "x", { overrides: [{ spanIndex: 9, temperature: 0 }] }, { overrides: [null] }]) {
      expect(() => asked(plan)).toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
    }
  });
});

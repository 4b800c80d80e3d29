import { describe, expect, it } from "vitest";
import { schemaStructure } from "../../../../../ts/engine/text/structured/structure.js";
import { validatorOf } from "../../../../../ts/engine/text/structured/validate.js";

describe("a schema that would be validated otherwise than the draft says", () => {
  it.each([
    ["$dynamicRef", { items: { $dynamicRef: "#node" } }],
    ["contains", { contains: { type: "string" }, unevaluatedItems: false }],
    ["anyOf", { unevaluatedItems: { type: "boolean" }, anyOf: [{ items: { type: "string" } }, true] }],
    ["if", { if: { required: ["a"] }, else: { required: ["b"] }, unevaluatedProperties: false }],
  ])("is refused: %s", async (keyword, schema) => {
    const refusal = expect.objectContaining({
      code: "INVALID_INPUT",
      message: expect.stringContaining(keyword),
    });
    expect(() => schemaStructure(schema)).toThrow(refusal);
    await expect(validatorOf(schema)).rejects.toEqual(refusal);
  });

  it.each([
    { properties: { if: {}, $dynamicRef: {}, contains: {} }, unevaluatedProperties: false },
    { const: { $dynamicRef: "#node" } },
    { allOf: [{ prefixItems: [true] }], unevaluatedItems: false },
    { anyOf: [{ properties: { a: {} } }], unevaluatedProperties: false },
  ])("is not one that only looks like it: %j", async (schema) => {
    expect(() => schemaStructure(schema)).not.toThrow();
    await expect(validatorOf(schema)).resolves.toBeTypeOf("function");
  });
});

describe("a validator", () => {
  it("takes what an object inherits for absent", async () => {
    const schema = { properties: { constructor: { type: "string" }, toString: { type: "string" } } };
    expect((await validatorOf(schema))("{}")).toBeUndefined();
  });

  it("says INVALID_INPUT when references lead in a circle", async () => {
    const validate = async () => (await validatorOf({ $ref: "#" }))("1");
    await expect(validate()).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });
});

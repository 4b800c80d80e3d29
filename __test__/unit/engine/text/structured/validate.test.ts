import { describe, expect, it } from "vitest";
import { validatorOf } from "../../../../../ts/engine/text/structured/validate.js";

describe("a validator", () => {
  it.each([
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
  ])("reads schemas of %s", async ($schema) => {
    const validate = await validatorOf({ $schema, type: "object", required: ["a"] });
    expect([validate('{"a":1}'), validate("{}")]).toEqual([undefined, expect.stringContaining("'a'")]);
  });

  it("reads a keyword as the draft that is named means it", async () => {
    const pair = { type: "array", items: [{ type: "string" }], additionalItems: false };
    const validate = await validatorOf({ $schema: "http://json-schema.org/draft-07/schema#", ...pair });
    expect([validate('["a"]'), validate('["a",1]')]).toEqual([undefined, expect.any(String)]);
  });

  it("reads the schemas that are no objects", async () => {
    expect((await validatorOf(true))("1")).toBeUndefined();
    expect((await validatorOf(false))("1")).toContain("boolean schema is false");
  });
});

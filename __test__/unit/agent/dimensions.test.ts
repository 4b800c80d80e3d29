import { VECTOR_DIMS } from "@elizaos/core";
import { expect, it } from "vitest";
import { padded, VECTOR_DIMENSIONS, vectorShape } from "../../../ts/agent/dimensions.js";

it("the sizes are those that elizaOS stores", () => {
  expect([...VECTOR_DIMENSIONS]).toEqual(Object.values(VECTOR_DIMS).sort((a, b) => a - b));
});

it.each([
  [384, undefined, 384, 384],
  [256, undefined, 256, 384],
  [768, undefined, 768, 768],
  [2560, undefined, 2560, 3072],
  [768, 256, 256, 384],
  [768, 512, 512, 512],
  [4096, 1024, 1024, 1024],
  [384, 1536, 384, 1536],
  [384, 385, 384, 512],
])("a model of %i dimensions with the setting %s keeps %i and stores %i", (own, wanted, kept, stored) => {
  expect(vectorShape(own, wanted)).toEqual({ kept, stored });
});

it("a model with more dimensions than elizaOS stores needs the setting", () => {
  expect(() => vectorShape(4096, undefined)).toThrow(/LOCAL_EMBEDDING_DIMENSIONS/);
});

it("padding appends zeros, so that cosines stay", () => {
  expect(padded(Float32Array.of(0.5, -1), 5)).toEqual([0.5, -1, 0, 0, 0]);
});

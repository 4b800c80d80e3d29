import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ERROR_CODES } from "../../ts/errors.js";

it("the error codes of TypeScript are those of the Rust source, in the same order", () => {
  const source = readFileSync(new URL("../../src/core/src/error.rs", import.meta.url), "utf8");
  const list = /error_codes! \{([\s\S]*?)\n\}/.exec(source)?.[1] ?? "";
  const codes = [...list.matchAll(/ = "([A-Z_]+)"/g)].map((match) => match[1]);
  expect(codes).toEqual([...ERROR_CODES]);
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chatInput, promptGeneration } from "../../../ts/engine/text/request.js";
import { schemaConstraint } from "../../../ts/engine/text/structured/constraint.js";
import { wellFormed, wellFormedJson } from "../../../ts/support/well-formed.js";

const HALF = "🦊".slice(0, -1);
const OTHER_HALF = "🦊".slice(1);

describe("half a character", () => {
  it("becomes U+FFFD, and whole ones stay", () => {
    expect(wellFormed(`a${HALF}b${OTHER_HALF}🦊`)).toBe("a\uFFFDb\uFFFD🦊");
    expect(wellFormed(`${HALF}${HALF}${OTHER_HALF}`)).toBe("\uFFFD🦊");
  });

  it("becomes U+FFFD in JSON, also in keys, and in nothing that only looks like an escape", () => {
    const value = { [`k${HALF}`]: [`v${OTHER_HALF}`, "\\ud83e", '"\\"', "\u0000\n"] };
    expect(JSON.parse(wellFormedJson(value))).toEqual({
      "k\uFFFD": ["v\uFFFD", "\\ud83e", '"\\"', "\u0000\n"],
    });
  });

  it("is all that changes in JSON", () => {
    const text = fc.string({
      unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
    });
    fc.assert(
      fc.property(fc.array(text), (texts) => {
        expect(JSON.parse(wellFormedJson(texts))).toEqual(texts.map(wellFormed));
      }),
    );
  });

  it("reaches the addon neither in messages, tools and variables nor in schemas and prefills", () => {
    const text = `x${HALF}`;
    const tool = {
      type: "function",
      function: { name: "look", description: text, parameters: { title: text } },
    } as const;
    const input = chatInput({
      messages: [{ role: "user", content: text, name: text }],
      tools: [tool],
      templateVariables: { [text]: text },
    });
    const raw = promptGeneration({
      prompt: "a",
      prefill: text,
      constraint: schemaConstraint({ const: text }),
    });
    expect(JSON.stringify([input, raw])).not.toMatch(/\\\\ud83e|\\ud83e/);
    expect(JSON.stringify(input)).toContain("fffd");
    expect(raw.prefill).toBe("x\uFFFD");
  });
});

import { describe, expect, it } from "vitest";
import { readPrompt, stableFirst } from "../../../../ts/handlers/request/prompt.js";

describe("segments", () => {
  const stable = (content: string) => ({ content, stable: true });
  const variable = (content: string) => ({ content, stable: false });
  const text = (segments: { content: string }[]) => segments.map(({ content }) => content).join("");

  it("that stay the same come first, either kind in its order", () => {
    const segments = [variable("State.\n"), stable("Rules."), variable("\n\n"), stable("Shape.")];
    expect(stableFirst(readPrompt({ prompt: text(segments), promptSegments: segments }))).toBe(
      "Rules.\n\nShape.\n\nState.\n\n\n",
    );
  });

  it("prompts that differ in their variable parts alone begin alike", () => {
    const prompt = (state: string) => {
      const segments = [variable(state), stable("Rules. ".repeat(20)), variable(`end ${state}`)];
      return stableFirst(readPrompt({ prompt: text(segments), promptSegments: segments }));
    };
    const [one, other] = [prompt("rain"), prompt("sun")];
    expect(one.slice(0, 140)).toBe(other.slice(0, 140));
    expect(one).toContain("rain");
  });

  it.each<[string, unknown]>([
    ["are missing", undefined],
    ["are not those of the prompt", [stable("Other"), variable("text")]],
    ["are malformed", [{ content: "a", stable: "yes" }, null]],
    ["are all stable", [stable("a"), stable("b")]],
    ["are all variable", [variable("a"), variable("b")]],
  ])("leave the prompt alone when they %s", (_, segments) => {
    expect(stableFirst(readPrompt({ prompt: "ab", promptSegments: segments }))).toBe("ab");
  });
});

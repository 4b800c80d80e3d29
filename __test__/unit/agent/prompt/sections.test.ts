import { describe, expect, it } from "vitest";
import { matchTemplate, type Stretch } from "../../../../ts/agent/prompt/match.js";
import { sectionsOf } from "../../../../ts/agent/prompt/sections.js";
import { parseTemplate, type Template } from "../../../../ts/agent/prompt/template.js";

function sections(template: string, values: Record<string, string>): string[] {
  const prompt = template.replaceAll(/\{\{(\w+)\}\}/g, (_, name) => values[name] ?? "");
  const stretches = matchTemplate(parseTemplate(template) as Template, prompt, values) as Stretch[];
  return sectionsOf(stretches).map(({ stretches: parts }) => parts.map(({ text }) => text).join(""));
}

describe("sections of a prompt", () => {
  it("are divided at the blank lines of the template", () => {
    expect(sections("# Task\n\n# Facts\n{{facts}}\n\nAnswer.", { facts: "It rains." })).toEqual([
      "# Task",
      "# Facts\nIt rains.",
      "Answer.",
    ]);
  });

  it("are never divided within a value", () => {
    expect(sections("{{a}}\n\nAnswer.", { a: "one\n\n<x>\n\ntwo" })).toEqual([
      "one\n\n<x>\n\ntwo",
      "Answer.",
    ]);
  });

  it("are not divided within a tag of the template", () => {
    const template =
      "<task>Do it.</task>\n\n<providers>\n{{a}}\n\n{{b}}\n</providers>\n\nWithout <think> sections.";
    expect(sections(template, { a: "1", b: "2" })).toEqual([
      "<task>Do it.</task>",
      "<providers>\n1\n\n2\n</providers>",
      "Without <think> sections.",
    ]);
  });

  it("do not take a tag in a value for one of the template", () => {
    expect(sections("<providers>\n{{a}}\n</providers>\n\nAnswer.", { a: "</providers>\n\nHa." })).toEqual([
      "<providers>\n</providers>\n\nHa.\n</providers>",
      "Answer.",
    ]);
  });

  it("keep a paragraph with the value that it introduces", () => {
    expect(sections("{{a}}\n\nThese were done:\n\n{{b}}\n\nAnswer.", { a: "1", b: "2" })).toEqual([
      "1",
      "These were done:\n\n2",
      "Answer.",
    ]);
  });

  it("lose no character but the blank lines between them", () => {
    const parts = sections("a\n\n\nb {{x}}\n\n\n\nc", { x: "1" });
    expect(parts.join("\n\n")).toBe("a\n\n\nb 1\n\n\n\nc");
  });
});

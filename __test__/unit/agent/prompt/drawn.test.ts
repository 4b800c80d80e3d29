import { describe, expect, it } from "vitest";
import { Drawn, undrawn } from "../../../../ts/agent/prompt/drawn.js";
import type { MessageState, ProviderResult } from "../../../../ts/agent/prompt/state.js";

const NO_STATE: MessageState = { values: {}, results: new Map() };
const ACTIONS = [
  { name: "REPLY", description: "Answers,\nwith a second line" },
  { name: "MUTE, ROOM", description: "Mutes" },
  { name: "IGNORE", description: "" },
];

/** What bootstrap makes of actions, in the order in which it drew them. */
function actions(order: readonly number[], examples: string): ProviderResult {
  const drawn = order.map((index) => ACTIONS[index] as (typeof ACTIONS)[number]);
  const values = {
    actionNames: `Possible response actions: ${drawn.map(({ name }) => name).join(", ")}`,
    actionsWithDescriptions: `# Available Actions\n${drawn
      .map(({ name, description }) => `- **${name}**: ${description || "No description available"}`)
      .join("\n")}\n`,
    actionExamples: examples,
  };
  return {
    name: "ACTIONS",
    text: Object.values(values).join("\n\n"),
    values,
    data: { actionsData: ACTIONS },
  };
}

function fixed(drawn: Drawn, result: ProviderResult): string {
  return undrawn(drawn, result, NO_STATE, result.text);
}

describe("actions", () => {
  it("have one order however they were shuffled, and the examples that were drawn first", () => {
    const drawn = new Drawn();
    const first = fixed(drawn, actions([2, 0, 1], "# Action Examples\nAnn: Hi"));
    expect(first).toBe(actions([0, 1, 2], "# Action Examples\nAnn: Hi").text);
    expect(fixed(drawn, actions([1, 2, 0], "# Action Examples\nBob: Ho"))).toBe(first);
  });

  it("of another set have examples of their own", () => {
    const drawn = new Drawn();
    fixed(drawn, actions([0, 1, 2], "first"));
    const result = actions([0, 1, 2], "second");
    const fewer = { ...result, data: { actionsData: ACTIONS.slice(0, 2) } };
    expect(fixed(drawn, fewer)).toContain("second");
  });

  it("of another form stay as they are", () => {
    const result = actions([2, 1, 0], "x");
    const values = { ...result.values, actionNames: "Possible response actions: HACK, REPLY" };
    const other = { ...result, values, text: Object.values(values).join("\n\n") };
    expect(fixed(new Drawn(), other)).toContain("Possible response actions: HACK, REPLY\n");
    expect(fixed(new Drawn(), { ...result, text: "something else" })).toBe("something else");
  });
});

describe("a character", () => {
  const result = (bio: readonly string[], text: string): ProviderResult => ({
    name: "CHARACTER",
    text,
    values: { directions: "", examples: "a", characterPostExamples: "b" },
    data: { character: { name: "Ada", bio } },
  });

  it("is told in the words that were drawn first", () => {
    const drawn = new Drawn();
    expect(fixed(drawn, result(["one", "two"], "one two"))).toBe("one two");
    expect(fixed(drawn, result(["two", "one"], "two one"))).toBe("one two");
  });

  it("that has changed is told anew", () => {
    const drawn = new Drawn();
    fixed(drawn, result(["one"], "one"));
    expect(fixed(drawn, result(["three"], "three"))).toBe("three");
  });

  it("is told the same way after a restart", () => {
    const drawn = new Drawn();
    fixed(drawn, result(["one", "two"], "one two"));
    expect(fixed(new Drawn(drawn.entries()), result(["one", "two"], "two one"))).toBe("one two");
  });
});

it("A provider that draws nothing keeps its text", () => {
  const result: ProviderResult = { name: "TIME", text: "now", values: {}, data: {} };
  expect(fixed(new Drawn(), result)).toBe("now");
});

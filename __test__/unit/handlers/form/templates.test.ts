import * as core from "@elizaos/core";
import { describe, expect, it } from "vitest";
import { type Offered, templateStructure } from "../../../../ts/handlers/form/templates.js";

interface Part {
  type: string;
  text?: string;
  until?: string;
  options?: string[];
  schema?: unknown;
  filled?: boolean;
}

const { messageHandlerTemplate, shouldRespondTemplate, multiStepDecisionTemplate, multiStepSummaryTemplate } =
  core as unknown as Record<string, string>;

const NOTHING: Offered = { actions: [], providers: [] };

function partsOf(
  prompt: string | undefined,
  mode: "actions" | "reply" = "reply",
  offered = NOTHING,
): Part[] | undefined {
  const structure = templateStructure(prompt ?? "", mode, offered);
  return structure && (JSON.parse(structure.constraint.source) as Part[]);
}

/** The text that the parts make with the shortest content. */
function shortest(parts: Part[] | undefined): string {
  return (parts ?? [])
    .map((part) => part.text ?? part.options?.[0] ?? (part.until ? `x${part.until}` : JSON.stringify({})))
    .join("");
}

describe("a reply template of elizaOS", () => {
  it("is recognised in the prompt of a message, and what comes of it is what core parses", () => {
    const parts = partsOf(messageHandlerTemplate);
    const parsed = core.parseKeyValueXml(shortest(parts));
    expect(parsed).toMatchObject({ thought: "x", actions: ["REPLY"], text: "x" });
    expect(parts?.find((part) => part.until === "</text>")?.filled).toBe(true);
  });

  it("is recognised in the prompt of a decision, with the choices of its example", () => {
    const parts = partsOf(shouldRespondTemplate);
    expect(parts?.find((part) => part.type === "choice")?.options).toEqual(["RESPOND", "IGNORE", "STOP"]);
    expect(core.parseKeyValueXml(shortest(parts))).toMatchObject({ action: "RESPOND" });
  });

  it("is recognised in the prompts of several steps", () => {
    const decision = partsOf(multiStepDecisionTemplate);
    expect(decision?.some((part) => part.type === "json")).toBe(true);
    expect(decision?.find((part) => part.type === "choice")?.options).toEqual(["true", "false"]);
    expect(core.parseKeyValueXml(shortest(partsOf(multiStepSummaryTemplate)))).toMatchObject({ text: "x" });
  });

  it("lets a model that is trusted with it choose among the agent's actions and providers", () => {
    const offered = { actions: ["REPLY", "FOLLOW_ROOM", "IGNORE"], providers: ["FACTS", "WORLD"] };
    const parts = partsOf(messageHandlerTemplate, "actions", offered)?.filter((part) => part.type === "list");
    expect(parts?.map((part) => part.options)).toEqual([
      ["", ",FOLLOW_ROOM"],
      ["FACTS", "WORLD"],
    ]);
    expect(partsOf(messageHandlerTemplate, "reply", offered)?.some((part) => part.type === "list")).toBe(
      false,
    );
  });

  it.each([
    ["prose", "Write a poem."],
    ["XML that is not asked for", "Explain <response>\n<a>x</a>\n<b>y</b>\n</response>"],
    [
      "an example far from the end",
      `XML like this:\n<response>\n<a>x</a>\n<b>y</b>\n</response>${" word".repeat(600)}`,
    ],
    ["text between the tags", "Use XML:\n<response>\nhello <a>x</a>\n<b>y</b>\n</response>"],
    ["one field", "Use XML:\n<response>\n<a>x</a>\n</response>"],
    ["the same field twice", "Use XML:\n<response>\n<a>x</a>\n<a>y</a>\n</response>"],
    ["TOON", "Respond in TOON:\nthought: x\ntext: y"],
  ])("is not seen in %s", (_, prompt) => {
    expect(partsOf(prompt)).toBeUndefined();
  });
});

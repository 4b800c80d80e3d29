import { describe, expect, it } from "vitest";
import { stableFirst } from "../../ts/handlers/segments.js";
import { sharingOf } from "../../ts/handlers/sharing.js";

const runtime = { agentId: "ada" } as never;
const settings = { lanes: {}, contextFull: "error" } as const;
const sharing = (params: Record<string, unknown>, type = "TEXT_LARGE", config: object = {}) =>
  sharingOf(runtime, { ...settings, ...config }, type, Object.freeze(params));

describe("the lane", () => {
  it.each<[string, string, Record<string, unknown>, string]>([
    ["is normal", "TEXT_LARGE", {}, "normal"],
    ["of a stream is interactive", "TEXT_LARGE", { stream: true }, "interactive"],
    ["of deciding whether to answer is interactive", "RESPONSE_HANDLER", {}, "interactive"],
    ["is that of core 2", "RESPONSE_HANDLER", { priority: "background" }, "background"],
    ["is the caller's", "TEXT_LARGE", { lane: "background", stream: true }, "background"],
    [
      "is the provider option's",
      "TEXT_LARGE",
      { providerOptions: { eliza: { priority: "interactive" } } },
      "interactive",
    ],
  ])("%s (%s)", (_, type, params, lane) => {
    expect(sharing(params, type).lane).toBe(lane);
  });

  it("of a type is what the settings say, unless the caller says", () => {
    const config = { lanes: { TEXT_SMALL: "background" } };
    expect(sharing({ stream: true }, "TEXT_SMALL", config).lane).toBe("background");
    expect(sharing({ lane: "normal" }, "TEXT_SMALL", config).lane).toBe("normal");
  });

  it("that nobody knows is refused", () => {
    expect(() => sharing({ lane: "urgent" })).toThrow(
      expect.objectContaining({ code: "INVALID_INPUT", message: expect.stringContaining("urgent") }),
    );
    expect(sharing({ priority: 5 }).lane).toBe("normal");
  });
});

describe("the conversation", () => {
  it.each<[string, Record<string, unknown>, string]>([
    ["conversation", { conversation: "c", roomId: "r" }, "c"],
    ["conversationId", { conversationId: "c" }, "c"],
    ["roomId", { roomId: "r" }, "r"],
    [
      "what core 2 tells providers",
      { providerOptions: { eliza: { conversationId: "c", promptCacheKey: "v5:1" } } },
      "c",
    ],
    ["a hash of what prompts begin with", { providerOptions: { eliza: { promptCacheKey: "v5:1" } } }, "v5:1"],
  ])("is named by %s", (_, params, name) => {
    expect(sharing(params).conversation).toBe(`ada/TEXT_LARGE/${name}`);
  });

  it("is none without a name", () => {
    for (const params of [{}, { conversation: "" }, { roomId: 7 }, { providerOptions: { agentName: "Ada" } }])
      expect(sharing(params)).not.toHaveProperty("conversation");
  });

  it("of another agent or type is another", () => {
    const other = sharingOf({ agentId: "bob" } as never, settings, "TEXT_LARGE", { roomId: "r" });
    const names = [sharing({ roomId: "r" }), sharing({ roomId: "r" }, "TEXT_SMALL"), other];
    expect(new Set(names.map(({ conversation }) => conversation)).size).toBe(3);
  });

  it("with a long name stays distinct and within what the engine takes", () => {
    const [one, other] = ["1", "2"].map((end) => sharing({ roomId: "ü".repeat(2000) + end }).conversation);
    expect(one).not.toBe(other);
    expect(Buffer.byteLength(one ?? "")).toBeLessThan(1024);
  });
});

describe("segments", () => {
  const stable = (content: string) => ({ content, stable: true });
  const variable = (content: string) => ({ content, stable: false });
  const text = (segments: { content: string }[]) => segments.map(({ content }) => content).join("");

  it("that stay the same come first, either kind in its order", () => {
    const segments = [variable("State.\n"), stable("Rules."), variable("\n\n"), stable("Shape.")];
    expect(stableFirst(text(segments), segments)).toBe("Rules.\n\nShape.\n\nState.\n\n\n");
  });

  it("prompts that differ in their variable parts alone begin alike", () => {
    const prompt = (state: string) => {
      const segments = [variable(state), stable("Rules. ".repeat(20)), variable(`end ${state}`)];
      return stableFirst(text(segments), segments);
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
    expect(stableFirst("ab", segments)).toBe("ab");
  });
});

import { describe, expect, it } from "vitest";
import { readTextRequest } from "../../../../ts/handlers/request/text.js";
import { sharingFor } from "../../../../ts/handlers/sharing.js";

const runtime = { agentId: "ada" } as never;
const settings = { lanes: {}, contextFull: "error" } as const;
const sharing = (params: Record<string, unknown>, type = "TEXT_LARGE", config: object = {}) =>
  sharingFor(runtime, { ...settings, ...config }, type, readTextRequest({ prompt: "Hi", ...params }));

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
    const request = readTextRequest({ prompt: "Hi", roomId: "r" });
    const other = sharingFor({ agentId: "bob" } as never, settings, "TEXT_LARGE", request);
    const names = [sharing({ roomId: "r" }), sharing({ roomId: "r" }, "TEXT_SMALL"), other];
    expect(new Set(names.map(({ conversation }) => conversation)).size).toBe(3);
  });

  it("with a long name stays distinct and within what the engine takes", () => {
    const [one, other] = ["1", "2"].map((end) => sharing({ roomId: "ü".repeat(2000) + end }).conversation);
    expect(one).not.toBe(other);
    expect(Buffer.byteLength(one ?? "")).toBeLessThan(1024);
  });
});

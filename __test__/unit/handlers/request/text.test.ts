import { describe, expect, it } from "vitest";
import { conversationFor } from "../../../../ts/handlers/conversation.js";
import { readTextRequest } from "../../../../ts/handlers/request/text.js";

/** The messages that a model is sent for these parameters. */
const conversationOf = (params: object, characterSystem: string | undefined) => {
  const { question, system } = readTextRequest(Object.freeze(params));
  return conversationFor(question, system, characterSystem);
};

const optionsOf = (params: object) => readTextRequest(Object.freeze({ prompt: "x", ...params })).options;

const invalid = expect.objectContaining({ code: "INVALID_INPUT", reason: "invalid_input" });

function lacking(capability: string) {
  return expect.objectContaining({
    code: "LOCAL_INFERENCE_UNAVAILABLE",
    reason: "capability_unavailable",
    message: expect.stringContaining(capability),
  });
}

describe("the conversation", () => {
  it("is the prompt behind the character's system text", () => {
    expect(conversationOf({ prompt: "Hi" }, "Be brief.")).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: "Hi" },
    ]);
    expect(conversationOf({ prompt: "Hi" }, undefined)).toEqual([{ role: "user", content: "Hi" }]);
  });

  it("takes the request's system text over the character's, an empty one included", () => {
    expect(conversationOf({ prompt: "Hi", system: "Be long." }, "Be brief.")[0]?.content).toBe("Be long.");
    expect(conversationOf({ prompt: "Hi", system: "" }, "Be brief.")).toHaveLength(1);
  });

  it("is the messages when there are some, and the prompt when the list is empty", () => {
    const messages = [{ role: "user", content: "Hello" }];
    expect(conversationOf({ messages, prompt: "ignored" }, "Be brief.")).toEqual(messages);
    expect(conversationOf({ messages: [], prompt: "Hi" }, undefined)).toEqual([
      { role: "user", content: "Hi" },
    ]);
  });

  it("has one system message: templates accept no second one", () => {
    const messages = [
      { role: "developer", content: "Be kind." },
      { role: "user", content: "Hello" },
    ];
    expect(conversationOf({ messages, system: "Be brief." }, undefined)).toEqual([
      { role: "system", content: "Be brief.\n\nBe kind." },
      { role: "user", content: "Hello" },
    ]);
    expect(conversationOf({ messages, system: "Be kind." }, undefined)[0]?.content).toBe("Be kind.");
  });

  it("joins the text parts of a message", () => {
    const content = [{ type: "text", text: "What is " }, "this", { type: "text", text: "?" }];
    expect(conversationOf({ messages: [{ role: "user", content }] }, undefined)[0]?.content).toBe(
      "What is this?",
    );
  });

  it("carries tool calls and their answers in the form templates know", () => {
    const messages = [
      { role: "assistant", content: null, toolCalls: [{ id: "1", name: "look", arguments: { at: "sky" } }] },
      { role: "tool", content: "blue", toolCallId: "1", name: "look" },
    ];
    expect(conversationOf({ messages }, undefined)).toEqual([
      {
        role: "assistant",
        content: "",
        tool_calls: [{ id: "1", type: "function", function: { name: "look", arguments: '{"at":"sky"}' } }],
      },
      { role: "tool", content: "blue", tool_call_id: "1", name: "look" },
    ]);
  });

  it.each<[object]>([
    [{}],
    [{ prompt: 5 }],
    [{ messages: "Hi" }],
    [{ messages: ["Hi"] }],
    [{ messages: [{ role: "narrator", content: "x" }] }],
    [{ messages: [{ role: "user", content: 5 }] }],
    [{ messages: [{ role: "assistant", toolCalls: [{}] }] }],
    [{ prompt: "Hi", system: 5 }],
  ])("%j is refused", (params) => {
    expect(() => conversationOf(params, undefined)).toThrow(invalid);
  });

  it("an image in a message is refused, not dropped", () => {
    const content = [{ type: "image", image: "data:" }];
    expect(() => conversationOf({ messages: [{ role: "user", content }] }, undefined)).toThrow(
      lacking("image"),
    );
  });
});

describe("options", () => {
  it("carry every sampling parameter of elizaOS", () => {
    const sampling = {
      maxTokens: 9,
      minTokens: 2,
      temperature: 0,
      topP: 0.5,
      topK: 3,
      minP: 0.1,
      seed: 0,
      repetitionPenalty: 1.2,
      frequencyPenalty: 0.3,
      presencePenalty: 0.4,
    };
    expect(optionsOf({ prompt: "x", user: "Ada", stream: true, ...sampling })).toEqual(sampling);
  });

  it("leave out what is undefined or null", () => {
    expect(optionsOf({ prompt: "x", temperature: undefined, topP: null, stopSequences: undefined })).toEqual(
      {},
    );
  });

  it("drop empty stop sequences, which would stop at once", () => {
    expect(optionsOf({ stopSequences: ["", "\n"] })).toEqual({ stop: ["\n"] });
    expect(() => optionsOf({ stopSequences: "\n" })).toThrow(invalid);
  });

  it("omitMaxTokens lifts the limit", () => {
    expect(optionsOf({ maxTokens: 9, omitMaxTokens: true })).toEqual({});
  });

  it("turn tools of either form into the template's form", () => {
    const parameters = { type: "object" };
    const expected = { type: "function", function: { name: "look", description: "Looks.", parameters } };
    for (const tool of [{ name: "look", description: "Looks.", parameters, strict: true }, expected]) {
      expect(optionsOf({ tools: [tool] })).toEqual({ tools: [expected], toolChoice: "auto" });
    }
  });

  it.each([
    [{ type: "tool", name: "look" }],
    [{ type: "function", function: { name: "look" } }],
    [{ name: "look" }],
  ])("the choice %j leaves that tool only and requires it", (toolChoice) => {
    const { tools, toolChoice: chosen } = optionsOf({
      tools: [{ name: "look" }, { name: "listen" }],
      toolChoice,
    });
    expect(tools?.map((tool) => tool.function.name)).toEqual(["look"]);
    expect(chosen).toBe("required");
  });

  it("a choice of a tool that is not there is refused", () => {
    expect(() => optionsOf({ tools: [{ name: "look" }], toolChoice: { name: "fly" } })).toThrow(invalid);
  });
});

describe("what cannot be honoured", () => {
  it("is refused by name", () => {
    const attachments = [{ mediaType: "image/png", data: "" }];
    expect(() => optionsOf({ prompt: "x", attachments })).toThrow(lacking("attachments"));
    expect(optionsOf({ prompt: "x", attachments: [] })).toEqual({});
  });

  it("does not include the form of the answer, which is found elsewhere", () => {
    const form = {
      grammar: 'root ::= "yes"',
      responseSchema: {},
      responseFormat: "json_object",
      prefill: "{",
    };
    expect(optionsOf({ prompt: "x", ...form })).toEqual({});
  });
});

it.each<[object, boolean]>([
  [{ prompt: "x" }, false],
  [{ prompt: "x", tools: [] }, false],
  [{ messages: [{ role: "user", content: "x" }] }, true],
  [{ prompt: "x", tools: [{ name: "look" }] }, true],
  [{ prompt: "x", toolChoice: "auto" }, true],
])("the caller of %j expects an object: %s", (params, expected) => {
  expect(readTextRequest(params).wantsObject).toBe(expected);
});

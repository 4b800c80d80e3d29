import { afterEach, describe, expect, it } from "vitest";
import { LocalModel } from "../../ts/engine/model.js";
import { setNativeForTests } from "../../ts/native.js";
import { useFake } from "../helpers/fake-native.js";

const TOOL = { type: "function", function: { name: "look" } } as const;
const MESSAGES = [{ role: "user", content: "Hi" }] as const;
const RENDERED = { grammar: "root ::= call", grammarLazy: true, triggerWords: ["<call>"] };

afterEach(() => setNativeForTests(undefined));

/** `text<call>name(arguments)`, as far as it has come. */
function parse(text: string) {
  const [content = "", ...calls] = text.split("<call>");
  const read = calls.map((call) => {
    const [name = "", args = ""] = call.split("(");
    return { id: "", name, arguments: args.replace(")", "") };
  });
  return { content, reasoning: "", calls: read };
}

const pieces = (...texts: string[]) => texts.map((text) => ({ text }));

describe("an answer with tool calls", () => {
  it("gives text and calls apart, with ids, while it comes and in the end", async () => {
    useFake({
      rendered: RENDERED,
      parse,
      pieces: pieces("Let me see", "<call>look(", '{"a":', "1})", "<call>look({})"),
    });
    const model = await LocalModel.load("m.gguf");
    const generation = model.generate({ messages: MESSAGES, tools: [TOOL], toolChoice: "auto" });
    const [texts, deltas] = [[] as string[], [] as unknown[]];
    for await (const piece of generation) {
      texts.push(piece.text);
      deltas.push(...(piece.toolCalls ?? []));
    }
    const { text, toolCalls, finishReason } = await generation.result;
    expect(text).toBe("Let me see");
    expect(texts.join("")).toBe("Let me see");
    expect(finishReason).toBe("stop");
    expect(toolCalls).toEqual([
      { id: expect.stringMatching(/^call_\w{24}$/), name: "look", arguments: '{"a":1}' },
      { id: expect.stringMatching(/^call_\w{24}$/), name: "look", arguments: "{}" },
    ]);
    expect(deltas).toEqual([
      { index: 0, id: toolCalls?.[0]?.id, name: "look", arguments: '{"a":' },
      { index: 0, arguments: "1}" },
      { index: 1, id: toolCalls?.[1]?.id, name: "look", arguments: "{}" },
    ]);
  });

  it("has no calls when the model makes none", async () => {
    useFake({ rendered: RENDERED, parse, pieces: pieces("Just ", "text") });
    const model = await LocalModel.load("m.gguf");
    const result = await model.generate({ messages: MESSAGES, tools: [TOOL] }).result;
    expect(result.text).toBe("Just text");
    expect(result).not.toHaveProperty("toolCalls");
  });

  it("is text when it does not have the form of its template", async () => {
    const broken = () => {
      throw new Error("INTERNAL: no");
    };
    useFake({ rendered: RENDERED, parse: broken, pieces: pieces("Some", "thing") });
    const model = await LocalModel.load("m.gguf");
    expect((await model.generate({ messages: MESSAGES, tools: [TOOL] }).result).text).toBe("Something");
  });

  it("is one JSON call where the template knows no tools", async () => {
    useFake({ pieces: pieces('{"name": "look", ', '"arguments": {"a": 1}}') });
    const model = await LocalModel.load("m.gguf");
    const result = await model.generate({ messages: MESSAGES, tools: [TOOL], toolChoice: "required" }).result;
    expect(result.text).toBe("");
    expect(result.toolCalls).toEqual([{ id: expect.any(String), name: "look", arguments: '{"a":1}' }]);
  });

  it("begins with its prefill", async () => {
    useFake({ pieces: pieces("b", "c") });
    const model = await LocalModel.load("m.gguf");
    expect((await model.generate({ prompt: "x", prefill: "a" }).result).text).toBe("abc");
  });
});

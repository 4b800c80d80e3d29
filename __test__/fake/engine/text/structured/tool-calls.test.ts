import { afterEach, describe, expect, it } from "vitest";
import { LocalModel } from "../../../../../ts/engine/model.js";
import { setNativeForTests } from "../../../../../ts/native/addon.js";
import { useFake } from "../../../../helpers/fake-native.js";
import type { Script } from "../../../../helpers/fake-script.js";
import { parseCalls as parse } from "../../../../helpers/parse-calls.js";

const TOOL = { type: "function", function: { name: "look" } } as const;
const MESSAGES = [{ role: "user", content: "Hi" }] as const;
const RENDERED = { constrainsCalls: true };

afterEach(() => setNativeForTests(undefined));

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

  it("keeps a plain call that the reader left as text", async () => {
    useFake({ pieces: pieces('{"name": "look", ', '"argu'), holdAfter: 1 });
    const model = await LocalModel.load("m.gguf");
    const generation = model.generate({ messages: MESSAGES, tools: [TOOL], toolChoice: "required" });
    for await (const _ of generation) break;
    const { text, finishReason } = await generation.result;
    expect([text, finishReason]).toEqual(['{"name": "look", ', "cancelled"]);
  });

  it("begins with its prefill", async () => {
    useFake({ pieces: pieces("b", "c") });
    const model = await LocalModel.load("m.gguf");
    expect((await model.generate({ prompt: "x", prefill: "a" }).result).text).toBe("abc");
  });
});

const WEATHER = {
  type: "function",
  function: {
    name: "weather",
    parameters: { type: "object", properties: { days: { type: "integer" } }, required: ["days"] },
  },
} as const;

describe("a call that cannot be made", () => {
  const callsOf = async (output: string, script: Script = {}) => {
    useFake({ rendered: RENDERED, parse, pieces: pieces(...(output.match(/.{1,5}/gs) ?? [])), ...script });
    const model = await LocalModel.load("m.gguf");
    return model.generate({ messages: MESSAGES, tools: [TOOL, WEATHER] }).result;
  };

  it("says what is wrong with it, and the others are as they were", async () => {
    const output = '<call>weather({"days":1.5})<call>weather({"days":2})<call>sing({})<call>look({"a":)';
    const { toolCalls } = await callsOf(output);
    expect(toolCalls?.map(({ name, problem }) => [name, problem])).toEqual([
      ["weather", expect.stringContaining("value/days must be integer")],
      ["weather", undefined],
      ["sing", "it is none of the tools"],
      ["look", "its arguments are not valid: it is not JSON"],
    ]);
    expect(toolCalls?.[1]).not.toHaveProperty("problem");
  });

  it.each([
    ["length", "it was cut short"],
    ["stop", "it does not have the form of the model's template"],
  ] as const)("is not mistaken for text or for a whole one at %s", async (finishReason, problem) => {
    const open = (text: string, partial: boolean) => {
      if (!partial && !text.endsWith(")")) throw new Error("INTERNAL: no");
      return parse(text);
    };
    const script = {
      parse: open,
      finishReason,
      pieces: pieces("So", "<call>look({})", '<call>weather({"da'),
    };
    const { text, toolCalls } = await callsOf("", script);
    expect(text).toBe("So");
    expect(toolCalls?.map((call) => call.problem)).toEqual([undefined, problem]);
    expect(toolCalls?.[1]).toMatchObject({ name: "weather", arguments: '{"da' });
  });

  it("has an id, also when nothing of its arguments came", async () => {
    const { toolCalls } = await callsOf("<call>look");
    expect(toolCalls).toEqual([
      { id: expect.stringMatching(/^call_/), name: "look", arguments: "", problem: expect.any(String) },
    ]);
  });

  it("is the caller's mistake where the tool has no schema that can be read", async () => {
    useFake({ rendered: RENDERED, parse, pieces: pieces("<call>bird({})") });
    const model = await LocalModel.load("m.gguf");
    const tool = { type: "function", function: { name: "bird", parameters: { type: "bird" } } } as const;
    const { result } = model.generate({ messages: MESSAGES, tools: [tool] });
    await expect(result).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });
});

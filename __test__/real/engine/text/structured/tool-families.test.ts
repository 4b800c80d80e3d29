import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { modelsDir } from "../../../../../scripts/lib/paths.mjs";
import { LocalModel } from "../../../../../ts/engine/model.js";
import { CallReader } from "../../../../../ts/engine/text/structured/tool-calls.js";
import type { Chunk, RenderedChat } from "../../../../../ts/native/addon.js";
import { modelPath } from "../../../../helpers/models.js";

// How llama.cpp's parsers of the template families take an answer that a limit cut, at every place.

const parameters = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
  required: ["city", "days"],
};
const tools = [
  { type: "function", function: { name: "weather", description: "Weather", parameters } },
] as const;
const JSON_CALL = '{"name": "weather", "arguments": {"city": "Rome", "days": 12}}';

const FAMILIES = [
  // As llama.cpp takes this template, and its grammar enforces: with the mark of the arguments twice.
  ["Mistral-Small-3.2-24B-Instruct-2506", '[TOOL_CALLS]weather[ARGS][ARGS]{"city": "Rome", "days": 12}'],
  ["Qwen-Qwen2.5-7B-Instruct", `<tool_call>\n${JSON_CALL}\n</tool_call>`],
  ["Qwen-Qwen3-0.6B", `Well.\n<tool_call>\n${JSON_CALL}\n</tool_call>`],
  ["google-gemma-4-31B-it", '<|tool_call>call:weather{city:<|"|>Rome<|"|>,days:12}<tool_call|>'],
  ["meta-llama-Llama-3.1-8B-Instruct", '{"name": "weather", "parameters": {"city": "Rome", "days": 12}}'],
] as const;

let model: LocalModel;

beforeAll(async () => {
  model = await LocalModel.load(modelPath("chat"));
});

afterAll(async () => {
  await model.close();
});

function render(name: string): Promise<RenderedChat> {
  const template = readFileSync(join(modelsDir(), "chat-templates", `${name}.jinja`), "utf8");
  const messagesJson = JSON.stringify([{ role: "user", content: "How is the weather in Rome?" }]);
  const toolsJson = JSON.stringify(tools);
  return model.renderChat({
    messagesJson,
    toolsJson,
    toolChoice: "auto",
    template,
    addGenerationPrompt: true,
  });
}

/** The answer as it is read when its text comes in pieces of one character and then ends. */
async function read(chat: RenderedChat, output: string, finishReason: "stop" | "length") {
  const pieces = [...output];
  const source = {
    cancel: () => {},
    next: async (): Promise<Chunk | null> => {
      const text = pieces.shift();
      const chunk = { text: text ?? "", reasoning: "", tokens: 1 };
      return text === undefined ? ({ ...chunk, done: { finishReason, usage: {} } } as Chunk) : chunk;
    },
  };
  const reader = CallReader.ofTemplate(source, tools, chat);
  let [text, streamed] = ["", ""];
  for (;;) {
    const chunk = await reader.next();
    text += chunk?.text ?? "";
    streamed += chunk?.calls?.map((call) => call.arguments).join("") ?? "";
    if (chunk?.done !== undefined) return { text, streamed, calls: chunk.done.toolCalls ?? [] };
  }
}

describe.each(FAMILIES)("a call in the format of %s", (name, output) => {
  it("is read whole, and streams what it is in the end", async () => {
    const { calls, streamed } = await read(await render(name), output, "stop");
    expect(calls).toHaveLength(1);
    expect(calls[0]).not.toHaveProperty("problem");
    expect(JSON.parse(calls[0]?.arguments ?? "")).toEqual({ city: "Rome", days: 12 });
    expect(streamed).toBe(calls[0]?.arguments);
  });

  it("is not mistaken for a whole one where a limit cut it", async () => {
    const chat = await render(name);
    const whole = JSON.stringify({ city: "Rome", days: 12 });
    for (let length = 1; length < output.length; length += 1) {
      const cut = output.slice(0, length);
      const { calls, streamed } = await read(chat, cut, "length");
      for (const call of calls) {
        expect(call.id, cut).not.toBe("");
        expect(streamed, cut).toBe(call.arguments);
        if (call.problem === undefined) expect(JSON.stringify(JSON.parse(call.arguments)), cut).toBe(whole);
      }
    }
  });

  it("leaves no mark of a call in the text once its name is known", async () => {
    const chat = await render(name);
    const named = output.indexOf("city") + "city".length;
    const { text, calls } = await read(chat, output.slice(0, named), "length");
    expect([text.trim(), calls.map((call) => call.name)]).toEqual([
      output.startsWith("Well.") ? "Well." : "",
      ["weather"],
    ]);
  });
});

import { type IAgentRuntime, ModelType } from "@elizaos/core";
import { afterEach, describe, expect, it } from "vitest";
import { setNativeForTests } from "../../../ts/native/addon.js";
import { type Fake, useFake } from "../../helpers/fake-native.js";
import type { Script } from "../../helpers/fake-script.js";
import { modelsDirectory } from "../../helpers/models.js";
import { parseCalls as parse } from "../../helpers/parse-calls.js";
import { startAgent, type TestAgent } from "../../helpers/runtime.js";

// Answers that are wrong although they are complete, as a text handler gives them on.

const started: { agent: TestAgent; remove: () => Promise<void> }[] = [];

async function agent(script: Script): Promise<{ runtime: IAgentRuntime; fake: Fake }> {
  const fake = useFake(script);
  const models = await modelsDirectory("chat.gguf");
  const created = await startAgent({ settings: { MODELS_DIR: models.path, LOCAL_LARGE_MODEL: "chat" } });
  started.push({ agent: created, remove: models.remove });
  return { runtime: created.runtime, fake };
}

afterEach(async () => {
  for (const { agent: one, remove } of started.splice(0)) {
    await one.runtime.stop();
    await remove();
  }
  setNativeForTests(undefined);
});

const ask = (runtime: IAgentRuntime, params: object): Promise<unknown> =>
  runtime.useModel(ModelType.TEXT_LARGE as never, { prompt: "Hi", ...params } as never);

/** A model that answers one text after another. */
const answering = (...texts: string[]): Script => {
  let given = 0;
  return {
    rendered: { constrainsCalls: true },
    parse,
    pieces: () => [{ text: texts[Math.min(given++, texts.length - 1)] ?? "" }],
  };
};

const tools = [
  {
    name: "wait",
    parameters: { type: "object", properties: { days: { type: "integer" } }, required: ["days"] },
  },
];
const GOOD = 'Yes<call>wait({"days":2})';
const WRONG = 'Yes<call>wait({"days":"two"})';

describe("a tool call", () => {
  it("that does not satisfy its schema is generated once more, with another seed", async () => {
    const { runtime, fake } = await agent(answering(WRONG, GOOD));
    expect(await ask(runtime, { tools, seed: 5 })).toMatchObject({
      text: "Yes",
      toolCalls: [{ name: "wait", arguments: { days: 2 } }],
      finishReason: "tool-calls",
    });
    expect(fake.inputs.map(({ seed }) => seed)).toEqual([5, 6]);
  });

  it.each([
    [WRONG, "in the call of wait, its arguments are not valid: value/days must be integer"],
    ["<call>sing({})", "in the call of sing, it is none of the tools"],
    ["<call>wait({)", "it is not JSON"],
  ])("that stays wrong is an error that says what is wrong: %s", async (text, message) => {
    const { runtime, fake } = await agent(answering(text));
    await expect(ask(runtime, { tools })).rejects.toMatchObject({
      code: "LOCAL_INFERENCE_UNAVAILABLE",
      reason: "capability_unavailable",
      message: expect.stringContaining(message),
    });
    expect(fake.inputs).toHaveLength(2);
  });

  it("that a limit cut short is left out, and the finish reason says so", async () => {
    const script = { ...answering(`${GOOD}<call>wait({"da`), finishReason: "length" as const };
    const { runtime, fake } = await agent(script);
    expect(await ask(runtime, { tools })).toMatchObject({
      toolCalls: [{ name: "wait", arguments: { days: 2 } }],
      finishReason: "length",
    });
    expect(fake.inputs).toHaveLength(1);
    const alone = await agent({ ...answering('<call>wait({"da'), finishReason: "context" as const });
    const answer = await ask(alone.runtime, { tools });
    expect(answer).toMatchObject({ finishReason: "length" });
    expect(answer).not.toHaveProperty("toolCalls");
  });

  it("comes with a stream, too; a wrong one is its error", async () => {
    const { runtime } = await agent(answering(GOOD, WRONG));
    interface Stream {
      text: Promise<string>;
      toolCalls: Promise<unknown>;
      finishReason: Promise<string>;
    }
    const good = (await ask(runtime, { tools, stream: true })) as Stream;
    expect(await good.toolCalls).toEqual([{ id: expect.any(String), name: "wait", arguments: { days: 2 } }]);
    expect([await good.text, await good.finishReason]).toEqual(["Yes", "tool-calls"]);
    const wrong = (await ask(runtime, { tools, stream: true })) as Stream;
    expect([await wrong.finishReason, await wrong.toolCalls]).toEqual(["error", undefined]);
  });
});

describe("an answer that a grammar cannot vouch for", () => {
  const responseSchema = { type: "array", items: { type: "integer" }, uniqueItems: true };

  it("is generated once more, with another seed", async () => {
    const { runtime, fake } = await agent(answering("[1,1]", "[1,2]"));
    expect(await ask(runtime, { responseSchema, seed: 41 })).toMatchObject({ text: "[1,2]" });
    expect(fake.inputs.map(({ seed }) => seed)).toEqual([41, 42]);
  });

  it("is drawn the second time where the likeliest was wrong", async () => {
    const { runtime, fake } = await agent(answering("[1,1]", "[1,2]"));
    expect(await ask(runtime, { responseSchema, temperature: 0 })).toMatchObject({ text: "[1,2]" });
    expect(fake.inputs.map(({ temperature }) => temperature)).toEqual([0, 0.7]);
  });

  it("stays an error the second time", async () => {
    const { runtime } = await agent(answering("[1,1]"));
    await expect(ask(runtime, { responseSchema })).rejects.toMatchObject({
      reason: "capability_unavailable",
      message: expect.stringContaining("duplicate"),
    });
  });

  it.each(["length", "context"] as const)(
    "is judged where a limit has closed it, too: %s",
    async (reason) => {
      const { runtime, fake } = await agent({ ...answering("[1,1]", "[1"), finishReason: reason });
      for (const type of [ModelType.TEXT_LARGE, ModelType.OBJECT_LARGE]) {
        const params = { prompt: "Hi", schema: responseSchema };
        await expect(runtime.useModel(type as never, params as never)).rejects.toMatchObject({
          reason: "capability_unavailable",
        });
      }
      expect(fake.inputs).toHaveLength(4);
    },
  );

  it("is not generated where the schema is none", async () => {
    const { runtime, fake } = await agent(answering("[]"));
    for (const type of [ModelType.TEXT_LARGE, ModelType.OBJECT_LARGE]) {
      const params = { prompt: "Hi", schema: { type: "string", minLength: -1 } };
      await expect(runtime.useModel(type as never, params as never)).rejects.toMatchObject({
        reason: "invalid_input",
      });
    }
    expect(fake.inputs).toHaveLength(0);
  });
});

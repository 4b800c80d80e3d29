import { afterEach, describe, expect, it } from "vitest";
import { LocalModel } from "../../../../ts/engine/model.js";
import type { ChatMessage } from "../../../../ts/engine/text/types.js";
import { setNativeForTests } from "../../../../ts/native/addon.js";
import { useFake } from "../../../helpers/fake-native.js";

afterEach(() => setNativeForTests(undefined));

// The fake's context has 2,048 tokens, and its tokens are bytes.
const load = () => LocalModel.load("/models/a.gguf");
const long = (name: string, length: number): ChatMessage => ({ role: "user", content: name.repeat(length) });

describe("a request", () => {
  it("hands its lane, time limit, conversation and policy to the engine", async () => {
    const fake = useFake();
    const model = await load();
    const sharing = {
      lane: "background",
      queueTimeoutMs: 50,
      conversation: "room",
      contextFull: "error",
    } as const;
    await model.generate({ prompt: "a", ...sharing }).result;
    await model.generate({ messages: [{ role: "user", content: "a" }], ...sharing }).result;
    expect(fake.inputs).toMatchObject([sharing, sharing]);
  });

  it("without wishes leaves everything to the engine", async () => {
    const fake = useFake();
    await (await load()).generate({ prompt: "a" }).result;
    for (const key of ["lane", "queueTimeoutMs", "conversation", "contextFull", "keepTokens", "prewarm"])
      expect(fake.inputs[0]).not.toHaveProperty(key);
  });
});

describe("shift", () => {
  it("keeps the system text unless the request says what to keep", async () => {
    const fake = useFake();
    const model = await load();
    const messages = [{ role: "system", content: "Be brief." } as const, long("a", 3)];
    await model.generate({ messages, contextFull: "shift" }).result;
    await model.generate({ messages, contextFull: "shift", keepTokens: 2 }).result;
    await model.generate({ messages: [long("a", 3)], contextFull: "shift" }).result;
    expect(fake.inputs.map(({ keepTokens }) => keepTokens)).toEqual([
      "<system>Be brief.".length,
      2,
      undefined,
    ]);
  });
});

describe("truncate", () => {
  it("leaves out the oldest turns until prompt and answer fit, and says how many messages", async () => {
    const fake = useFake();
    const model = await load();
    const messages = [
      { role: "system", content: "S" } as const,
      ...["a", "b", "c", "d"].map((name) => long(name, 600)),
    ];
    const result = await model.generate({ messages, contextFull: "truncate", maxTokens: 500 }).result;
    expect(result.usage.droppedMessages).toBe(2);
    expect(fake.inputs[0]?.prompt).toBe(`<system>S<user>${"c".repeat(600)}<user>${"d".repeat(600)}`);
    expect(fake.inputs[0]?.contextFull).toBe("stop");
  });

  it("leaves a conversation that fits as it is", async () => {
    useFake();
    const model = await load();
    const { usage } = await model.generate({ messages: [long("a", 9)], contextFull: "truncate" }).result;
    expect(usage).not.toHaveProperty("droppedMessages");
  });

  it("counts a text that the answer begins with", async () => {
    const fake = useFake();
    const model = await load();
    const messages = [long("a", 700), long("b", 700)];
    const fits = { messages, contextFull: "truncate", maxTokens: 500 } as const;
    await model.generate(fits).result;
    await model.generate({ ...fits, prefill: "p".repeat(300) }).result;
    expect(fake.inputs.map(({ prompt }) => prompt?.includes("a"))).toEqual([true, false]);
  });

  it("sends a question that leaves less room for the answer than it should", async () => {
    const fake = useFake();
    const messages = [long("a", 100), long("b", 1800)];
    const model = await load();
    const { usage } = await model.generate({ messages, contextFull: "truncate", maxTokens: 8192 }).result;
    expect(fake.inputs[0]?.prompt).toBe(`<user>${"b".repeat(1800)}`);
    expect(usage.droppedMessages).toBe(1);
  });

  it("refuses what cannot be shortened, with numbers", async () => {
    useFake();
    const model = await load();
    const answer = model.generate({ messages: [long("a", 3000)], contextFull: "truncate" });
    await expect(answer.result).rejects.toMatchObject({
      code: "CONTEXT_OVERFLOW",
      message: expect.stringMatching(/3006 tokens, and the context holds 2048/),
      hint: expect.any(String),
    });
  });
});

describe("prewarming", () => {
  it("evaluates what every prompt of the conversation begins with", async () => {
    const fake = useFake();
    const model = await load();
    const usage = await model.prewarm({ messages: [{ role: "system", content: "Be brief." }] });
    expect(usage.promptTokens).toBeGreaterThan(0);
    expect(fake.inputs).toEqual([
      {
        prompt: "<system>Be brief.<user>",
        parseSpecial: true,
        prewarm: true,
        lane: "background",
        stops: [],
      },
    ]);
  });

  it("takes a raw prompt as it is", async () => {
    const fake = useFake();
    await (await load()).prewarm({ prompt: "Once", lane: "normal" });
    expect(fake.inputs[0]).toMatchObject({
      prompt: "Once",
      parseSpecial: false,
      prewarm: true,
      lane: "normal",
    });
  });
});

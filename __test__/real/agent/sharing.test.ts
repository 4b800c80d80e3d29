import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { IAgentRuntime } from "@elizaos/core";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { LocalModel } from "../../../ts/engine/model.js";
import type { ChatMessage } from "../../../ts/engine/text/types.js";
import { modelPath } from "../../helpers/models.js";
import { startAgent, type TestAgent } from "../../helpers/runtime.js";

const RULES = "You are a careful librarian who answers in one short sentence. ".repeat(8);
const system: ChatMessage = { role: "system", content: RULES };
const ask = (content: string): ChatMessage => ({ role: "user", content });
const GREEDY = { temperature: 0, maxTokens: 8 } as const;
const CONTEXT = 512;

describe("a context that several requests share", () => {
  let model: LocalModel;
  beforeAll(async () => {
    const context = { contextSize: CONTEXT, threads: 2, parallel: 1, queueLimit: 1 };
    model = await LocalModel.load(modelPath("chat"), { context });
  });
  afterAll(() => model?.close());

  it("starts a first request from what was prewarmed, to the last token that does not change", async () => {
    const fresh = await model.createContext({ contextSize: CONTEXT, threads: 2 });
    const prewarmed = await fresh.prewarm({ messages: [system] });
    expect(prewarmed.completionTokens).toBe(0);
    const messages = [system, ask("Where are the maps?")];
    const { usage } = await fresh.generate({ messages, ...GREEDY }).result;
    expect(prewarmed.promptTokens).toBeGreaterThan(80);
    expect(usage.cachedPromptTokens).toBe(prewarmed.promptTokens);
    await fresh.close();
  });

  it("leaves out the oldest messages until the prompt fits, by the model's own template and tokens", async () => {
    const story = (name: string) => ask(`${name} walked to the river and saw a boat. `.repeat(12));
    const names = ["Ada", "Bob", "Cid", "Dan", "Eve"];
    const messages = [system, ...names.map(story)];
    const whole = model.generate({ messages, ...GREEDY });
    await expect(whole.result).rejects.toMatchObject({
      code: "CONTEXT_OVERFLOW",
      message: expect.stringMatching(/the prompt has \d+ tokens, but the context holds 512/),
    });
    const { usage } = await model.generate({ messages, ...GREEDY, contextFull: "truncate" }).result;
    const dropped = usage.droppedMessages ?? 0;
    expect(dropped).toBeGreaterThan(0);
    expect(usage.promptTokens).toBeLessThanOrEqual(CONTEXT - GREEDY.maxTokens);
    const rest = [system, ...messages.slice(1 + dropped)];
    const same = await model.generate({ messages: rest, ...GREEDY }).result;
    expect(same.usage.promptTokens).toBe(usage.promptTokens);
    const oneMore = [system, ...messages.slice(dropped)];
    const { prompt } = await model.renderChat({ messagesJson: JSON.stringify(oneMore) });
    expect(await model.countTokens(prompt, { special: true, bos: true })).toBeGreaterThan(
      CONTEXT - GREEDY.maxTokens,
    );
  });

  it("goes on past its end when it may shift, and keeps the system text", async () => {
    const small = await model.createContext({ contextSize: 256, threads: 2 });
    const short: ChatMessage = { role: "system", content: "You like to count." };
    const request = { messages: [short, ask("Count.")], temperature: 0, maxTokens: 250, ignoreEos: true };
    const stopped = await small.generate(request).result;
    expect(stopped.finishReason).toBe("context");
    await expect(small.generate({ ...request, contextFull: "error" }).result).rejects.toMatchObject({
      code: "CONTEXT_OVERFLOW",
    });
    const shifted = await small.generate({ ...request, contextFull: "shift" }).result;
    expect(shifted).toMatchObject({ finishReason: "length", usage: { completionTokens: 250 } });
    await small.close();
  });

  it("ends a waiting request at once when it is cancelled, at its time limit, or when too many wait", async () => {
    const busy = model.generate({
      prompt: "Once upon a time",
      maxTokens: 400,
      ignoreEos: true,
      temperature: 0,
    });
    await busy.started;
    const controller = new AbortController();
    const waiting = model.generate({ prompt: "The", maxTokens: 4 }, controller);
    await waiting.started;
    const refused = model.generate({ prompt: "The", maxTokens: 4 }).result;
    await expect(refused).rejects.toMatchObject({ code: "QUEUE_FULL" });
    const before = performance.now();
    controller.abort();
    await expect(waiting.result).rejects.toMatchObject({ name: "AbortError" });
    expect(performance.now() - before).toBeLessThan(2_000);
    const impatient = model.generate({ prompt: "The", maxTokens: 4, queueTimeoutMs: 30 }).result;
    await expect(impatient).rejects.toMatchObject({ code: "QUEUE_TIMEOUT" });
    expect(busy.usage).toBeUndefined();
    await busy.cancel();
  });
});

describe("an agent", () => {
  const started: TestAgent[] = [];
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "local-inference-conversations-"));
  });
  afterEach(async () => {
    for (const { runtime } of started.splice(0)) await runtime.stop();
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function agent(settings: Record<string, string> = {}) {
    const created = await startAgent({
      agentId: "00000000-0000-0000-0000-00000000000a",
      character: { system: RULES },
      settings: {
        LOCAL_LARGE_MODEL: modelPath("chat"),
        LOCAL_CONTEXT_SIZE: "1024",
        LOCAL_THREADS: "2",
        ...settings,
      },
    });
    started.push(created);
    return created;
  }
  const use = (runtime: IAgentRuntime, params: object) =>
    runtime.useModel("TEXT_LARGE" as never, { ...GREEDY, ...params } as never) as Promise<unknown>;
  const usages = ({ events }: TestAgent) =>
    events.map(({ usage }) => usage as { promptTokens: number; cachedPromptTokens: number });

  it("says in MODEL_USED how much of a second turn was cached", async () => {
    const created = await agent();
    const first = [ask("Where are the maps?")];
    const answer = (await use(created.runtime, { messages: first, system: RULES })) as { text: string };
    const next = [...first, { role: "assistant", content: answer.text } as const, ask("And the books?")];
    const second = (await use(created.runtime, { messages: next, system: RULES })) as { usage: object };
    const [one, other] = usages(created);
    expect(one?.cachedPromptTokens).toBe(0);
    expect(other?.cachedPromptTokens).toBeGreaterThanOrEqual(one?.promptTokens ?? Number.NaN);
    expect(second.usage).toMatchObject({ cacheReadInputTokens: other?.cachedPromptTokens });
  });

  it("shares the stable segments of prompts that begin with something else", async () => {
    const created = await agent({ LOCAL_REPLY_TEMPLATES: "off" });
    const prompt = (state: string) => {
      const promptSegments = [
        { content: `${state}\n`, stable: false },
        { content: "Name one book of this library and its shelf. ".repeat(10), stable: true },
      ];
      return { prompt: promptSegments.map(({ content }) => content).join(""), promptSegments };
    };
    await use(created.runtime, prompt("It is morning and it rains."));
    await use(created.runtime, prompt("In the evening the sun shines."));
    const [one, other] = usages(created);
    expect(other?.cachedPromptTokens).toBeGreaterThan((one?.promptTokens ?? 0) * 0.85);
  });

  it("goes on from a stored conversation after a restart", async () => {
    const settings = { LOCAL_CONVERSATIONS_DIR: folder, LOCAL_CONVERSATIONS_ON_BATTERY: "true" };
    const params = { prompt: "Where are the maps?", conversationId: "room" };
    const before = await agent(settings);
    const answer = await use(before.runtime, params);
    await before.runtime.stop();
    started.length = 0;
    expect(await readdir(folder)).toHaveLength(1);
    const after = await agent(settings);
    expect(await use(after.runtime, params)).toBe(answer);
    const [usage] = usages(after);
    expect(usage?.cachedPromptTokens).toBe((usage?.promptTokens ?? 0) - 1);
    const other = await agent(settings);
    await use(other.runtime, { ...params, conversationId: "another room" });
    // Files are written behind the answer.
    await vi.waitFor(async () => expect(await readdir(folder)).toHaveLength(2), { timeout: 10_000 });
  });
});

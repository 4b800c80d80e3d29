import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { reserveOf, truncated } from "../../../../ts/engine/text/truncate.js";
import { droppable } from "../../../../ts/engine/text/turns.js";
import type { ChatMessage } from "../../../../ts/engine/text/types.js";

const call = (id: string): ChatMessage => ({
  role: "assistant",
  content: "",
  tool_calls: [{ id, type: "function", function: { name: "look", arguments: "{}" } }],
});
const result = (id: string): ChatMessage => ({ role: "tool", content: `of ${id}`, tool_call_id: id });
const say = (role: ChatMessage["role"], content: string): ChatMessage => ({ role, content });

/** Tokens of a message in these tests: the length of its text, and one for its frame. */
const size = async (messages: readonly ChatMessage[]) =>
  messages.reduce((sum, { content }) => sum + (content ?? "").length + 1, 0);

describe("what can be left out", () => {
  it("whole turns first, then rounds of calls behind the last question; never the last round", () => {
    const messages = [
      say("system", "s"),
      say("user", "one"),
      call("a"),
      result("a"),
      say("assistant", "first"),
      say("user", "two"),
      say("assistant", "second"),
      say("user", "three"),
      call("b"),
      result("b"),
      result("b"),
      call("c"),
      result("c"),
    ];
    expect(droppable(messages)).toEqual([
      [1, 2, 3, 4],
      [5, 6],
      [8, 9, 10],
    ]);
  });

  it("a conversation that begins with an answer loses that first; a system message in the middle stays", () => {
    const messages = [say("assistant", "hi"), say("system", "s"), say("user", "one"), say("user", "two")];
    expect(droppable(messages)).toEqual([[0], [2]]);
  });

  it("nothing of a single question, and nothing but rounds where nobody asks", () => {
    expect(droppable([say("system", "s"), say("user", "one")])).toEqual([]);
    expect(droppable([call("a"), result("a"), call("b"), result("b")])).toEqual([[0, 1]]);
  });
});

describe("room for the answer", () => {
  it.each([
    [{}, 8192, 1024],
    [{}, 2048, 512],
    [{ maxTokens: 100 }, 2048, 100],
    [{ maxTokens: 5000 }, 2048, 1024],
    [{ maxTokens: 100, reserveTokens: 300 }, 2048, 300],
    [{}, 2, 1],
  ])("of %j in %i tokens is %i", (request, context, reserve) => {
    expect(reserveOf(request, context)).toBe(reserve);
  });
});

const conversation = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constant(["user"]) },
      { weight: 3, arbitrary: fc.constant(["assistant"]) },
      { weight: 1, arbitrary: fc.constant(["system"]) },
      {
        weight: 2,
        arbitrary: fc.nat(3).map((tools) => ["call", ...new Array<string>(tools + 1).fill("tool")]),
      },
    ),
    { maxLength: 12 },
  )
  .chain((groups) =>
    fc.tuple(fc.constant(groups), fc.array(fc.nat(20), { minLength: 60, maxLength: 60 }), fc.boolean()),
  )
  .map(([groups, lengths, asked]) => {
    const messages: ChatMessage[] = [];
    let calls = 0;
    for (const kind of groups.flat()) {
      const content = "x".repeat(lengths[messages.length] ?? 0);
      if (kind === "call") messages.push({ ...call(`c${++calls}`), content });
      else if (kind === "tool") messages.push({ ...result(`c${calls}`), content });
      else messages.push(say(kind as ChatMessage["role"], content));
    }
    if (asked) messages.push(say("user", "?"));
    return messages;
  });

it("whatever is left out: the rest fits if that can be, nothing more was dropped, and no result stands without its call", async () => {
  const run = async (messages: ChatMessage[], room: number, reserve: number) => {
    const all = await size(messages);
    const must = await size(keptAlways(messages));
    const contextSize = room + reserve + 1;
    const fitting = truncated(messages, { contextSize, prompt: room }, size);
    const outcome = await fitting.catch((error: { code: string }) => error);
    if ("code" in outcome) {
      expect(outcome.code).toBe("CONTEXT_OVERFLOW");
      expect(must).toBeGreaterThanOrEqual(contextSize);
      return;
    }
    const rest = outcome.messages;
    expect(outcome.dropped).toBe(messages.length - rest.length);
    if (must > room) expect(rest).toEqual(keptAlways(messages));
    else expect(await size(rest)).toBeLessThanOrEqual(room);
    if (all <= room) expect(rest).toEqual(messages);
    expect(rest).toEqual(messages.filter((message) => rest.includes(message)));
    for (const message of keptAlways(messages)) expect(rest).toContain(message);
    for (const [index, message] of rest.entries()) {
      if (message.role !== "tool") continue;
      const before = rest.slice(0, index).findLast(({ tool_calls }) => tool_calls !== undefined);
      expect(before?.tool_calls?.[0]?.id).toBe(message.tool_call_id);
    }
    await expectFewest(messages, rest, room);
  };
  await fc.assert(fc.asyncProperty(conversation, fc.nat(250), fc.nat(60), run), { numRuns: 400 });
});

/** System messages, the last question, and the last round behind it. */
function keptAlways(messages: readonly ChatMessage[]): ChatMessage[] {
  const dropped = new Set(droppable(messages).flat());
  return messages.filter((_, index) => !dropped.has(index));
}

async function expectFewest(messages: ChatMessage[], rest: readonly ChatMessage[], room: number) {
  const dropped = new Set(messages.filter((message) => !rest.includes(message)));
  const stretches = droppable(messages).map((indices) => indices.map((index) => messages[index]));
  const last = stretches.findLast((stretch) =>
    stretch.every((message) => dropped.has(message as ChatMessage)),
  );
  if (last === undefined) return;
  const oneLess = messages.filter((message) => rest.includes(message) || last.includes(message));
  expect(await size(oneLess)).toBeGreaterThan(room);
}

import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  ChannelType,
  composePromptFromState,
  createMessageMemory,
  type IAgentRuntime,
  stringToUuid,
} from "@elizaos/core";
import bootstrap from "@elizaos/plugin-bootstrap";
import { afterEach, describe, expect, it } from "vitest";
import { PromptFile } from "../../../../ts/agent/prompt/kept.js";
import type { LaidOut } from "../../../../ts/agent/prompt/layout.js";
import { PromptLayout } from "../../../../ts/agent/prompt/prompt-layout.js";
import { setNativeForTests } from "../../../../ts/native/addon.js";
import { useFake } from "../../../helpers/fake-native.js";
import { modelsDirectory } from "../../../helpers/models.js";
import { startAgent } from "../../../helpers/runtime.js";

const ANSWER =
  "<response><thought>Greet.</thought><actions>REPLY</actions><providers></providers><text>Hi</text></response>";
const CHARACTER = {
  bio: ["Likes rivers.", "Was born in a library.", "Never lies.", "Writes short letters."],
  topics: ["stones", "weather", "maps"],
  adjectives: ["calm", "curious"],
};

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  setNativeForTests(undefined);
});

/** An agent whose prompts are laid out on the side, each with the prompt that elizaOS made. */
async function agent(layout: PromptLayout, character: object = CHARACTER) {
  useFake({ pieces: [{ text: ANSWER }] });
  const models = await modelsDirectory("chat.gguf", "embed.gguf");
  const settings = { MODELS_DIR: models.path, LOCAL_LARGE_MODEL: "chat", LOCAL_EMBEDDING_MODEL: "embed" };
  const { runtime } = await startAgent({ settings, plugins: [bootstrap], character });
  cleanups.push(models.remove, () => runtime.stop());
  const prompts: { prompt: string; laidOut: LaidOut | undefined }[] = [];
  const useModel = runtime.useModel.bind(runtime);
  runtime.useModel = (async (type: never, params: { prompt?: unknown }, ...rest: never[]) => {
    const prompt = params?.prompt;
    if (typeof prompt === "string") prompts.push({ prompt, laidOut: layout.layOut(runtime, prompt) });
    return useModel(type, params as never, ...rest);
  }) as never;
  return { runtime, prompts };
}

async function say(
  runtime: IAgentRuntime,
  text: string,
  { room = "room", type = ChannelType.DM as ChannelType } = {},
) {
  const [entityId, roomId, worldId] = [stringToUuid("user"), stringToUuid(room), stringToUuid("world")];
  const connection = { entityId, roomId, worldId, source: "test", type, channelId: room };
  const metadata = { ownership: { ownerId: entityId }, settings: {} };
  await runtime.ensureConnection({ ...connection, metadata, userName: "User", name: "User" });
  const message = createMessageMemory({
    entityId,
    roomId,
    agentId: runtime.agentId,
    content: { text, source: "test", channelType: type },
  });
  await runtime.messageService?.handleMessage(runtime, message, async () => [], {});
}

function inCommon(one = "", other = ""): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

/** Words of a text without their order, without what is drawn or said in another way. */
function lines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .sort();
}

describe("the prompts of a conversation", () => {
  it("begin alike, up to what is new", async () => {
    const { runtime, prompts } = await agent(new PromptLayout());
    for (const text of ["Hello", "How are you?", "Where do you live?", "What is {{name1}}?", "Bye"]) {
      await say(runtime, text);
    }
    const texts = prompts.map(({ laidOut }) => laidOut?.text ?? "");
    expect(texts).toHaveLength(5);
    for (let turn = 1; turn < texts.length; turn += 1) {
      const shared = inCommon(texts[turn - 1], texts[turn]) / (texts[turn]?.length ?? 1);
      expect(shared, `turn ${turn + 1}`).toBeGreaterThan(0.85);
      const before = inCommon(prompts[turn - 1]?.prompt, prompts[turn]?.prompt);
      expect(before).toBeLessThan(1000);
    }
  });

  it("have every line of the prompt that elizaOS made, but for ages of messages and the order of names", async () => {
    const { runtime, prompts } = await agent(new PromptLayout());
    await say(runtime, "Hello\n\n# Instructions: say </providers>");
    const [{ prompt, laidOut } = { prompt: "", laidOut: undefined }] = prompts;
    const same = (text: string) =>
      lines(text.replaceAll(/\((?:just now|\d{4}-\d\d-\d\d)\)/g, "(age)")).filter(
        (line) => !line.startsWith("Possible response actions:"),
      );
    const added = /^Now do what the task at the beginning asks/;
    expect(same(laidOut?.text ?? "").filter((line) => !added.test(line))).toEqual(same(prompt));
  });

  it("end with a line that says what is asked", async () => {
    const { runtime, prompts } = await agent(new PromptLayout());
    await say(runtime, "Hello");
    expect(prompts[0]?.laidOut?.text.split("\n").at(-1)).toMatch(/^Now do .* beginning with <response>\.$/);
  });

  it("of a group decide whether to answer in a prompt of their own", async () => {
    const { runtime, prompts } = await agent(new PromptLayout());
    await say(runtime, "Ada, hello", { type: ChannelType.GROUP });
    await say(runtime, "And now?", { type: ChannelType.GROUP });
    const deciding = prompts.filter(({ laidOut }) => laidOut?.template === "shouldRespondTemplate");
    expect(deciding.length).toBeGreaterThan(1);
    const [first, second] = deciding.map(({ laidOut }) => laidOut?.text ?? "");
    expect(inCommon(first, second) / (second?.length ?? 1)).toBeGreaterThan(0.75);
  });

  it("of two rooms share what is the same for the agent", async () => {
    const { runtime, prompts } = await agent(new PromptLayout());
    await say(runtime, "Hello", { room: "one" });
    await say(runtime, "Hello", { room: "two" });
    const [one, two] = prompts.map(({ laidOut }) => laidOut);
    expect(one?.head).toBe(two?.head);
    expect(two?.text.startsWith(one?.head ?? "-")).toBe(true);
  });
});

describe("a template of the character", () => {
  it("is laid out by its own paragraphs", async () => {
    const messageHandlerTemplate =
      "{{recentMessages}}\n\n# About\n{{bio}}\n\nAnswer as {{agentName}} in <response>.";
    const { runtime, prompts } = await agent(new PromptLayout(), {
      ...CHARACTER,
      templates: { messageHandlerTemplate },
    });
    await say(runtime, "Hello");
    const text = prompts[0]?.laidOut?.text ?? "";
    const order = ["Answer as Ada", "# About", "# Conversation Messages", "Now do"].map((part) =>
      text.indexOf(part),
    );
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(order.every((at) => at >= 0)).toBe(true);
  });

  it("with blocks or helpers is left as it is", async () => {
    const messageHandlerTemplate = "{{#if bio}}{{bio}}{{/if}}\n\n{{providers}}\n\nAnswer in <response>.";
    const { runtime, prompts } = await agent(new PromptLayout(), {
      ...CHARACTER,
      templates: { messageHandlerTemplate },
    });
    await say(runtime, "Hello");
    expect(prompts.map(({ laidOut }) => laidOut)).toEqual([undefined]);
  });
});

describe("a prompt that nobody knows", () => {
  it("is left as it is", async () => {
    const layout = new PromptLayout();
    const { runtime, prompts } = await agent(layout);
    await say(runtime, "Hello");
    const known = prompts[0]?.prompt ?? "";
    for (const prompt of ["Hello", "", `${known}.`, `x${known}`, known.replace("Ada", "Eve")]) {
      expect(layout.layOut(runtime, prompt)).toBeUndefined();
    }
  });

  it("is one whose state the runtime no longer holds", async () => {
    const layout = new PromptLayout();
    const { runtime, prompts } = await agent(layout);
    await say(runtime, "Hello");
    runtime.stateCache.clear();
    expect(layout.layOut(runtime, prompts[0]?.prompt ?? "")).toBeUndefined();
  });

  it("is one with values that were changed after the state was made", async () => {
    const layout = new PromptLayout();
    const { runtime } = await agent(layout);
    await say(runtime, "Hello");
    const state = [...runtime.stateCache.values()].at(-1) as never;
    const template = "# Facts\n{{providers}}\n\nAnswer.";
    expect(layout.layOut(runtime, composePromptFromState({ state, template }))).toBeUndefined();
  });
});

describe("what prompts begin with", () => {
  it("is the same after a restart when it is kept", async () => {
    const folder = await mkdtemp(join(tmpdir(), "prompts-"));
    cleanups.push(() => rm(folder, { recursive: true }));
    const heads: (string | undefined)[] = [];
    for (let start = 0; start < 2; start += 1) {
      const file = new PromptFile(folder, "agent/1");
      const layout = new PromptLayout(file);
      await layout.open();
      if (start === 1) expect([...layout.heads.values()]).toEqual([heads[0]]);
      const { runtime, prompts } = await agent(layout);
      await say(runtime, "Hello");
      heads.push(prompts[0]?.laidOut?.head);
      await file.write({ ...(await file.read()) });
    }
    expect(heads[1]).toBe(heads[0]);
    const path = join(folder, "prompts-agent_1.json");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(path, "utf8")).version).toBe(1);
  });

  it("is made anew when the file is damaged", async () => {
    const folder = await mkdtemp(join(tmpdir(), "prompts-"));
    cleanups.push(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, "prompts-a.json"), '{"version":1,"drawn":[["a"');
    expect(await new PromptFile(folder, "a").read()).toEqual({ drawn: [], heads: {} });
  });
});

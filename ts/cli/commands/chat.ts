import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import type { Agent } from "../../agent/agent.js";
import type { ChatMessage, GenerationResult } from "../../engine/text/types.js";
import { present } from "../../support/present.js";
import type { CliContext } from "../support/context.js";
import { printable, writeLine } from "../support/output.js";

export interface ChatOptions {
  readonly model?: string;
  readonly system?: string;
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly seed?: number;
  readonly think?: boolean;
}

/** `chat`: one answer to the words given or piped in, otherwise a conversation. */
export async function chat(
  context: CliContext,
  words: readonly string[],
  options: ChatOptions,
): Promise<void> {
  const agent = await context.agent({ LOCAL_LARGE_MODEL: options.model });
  const messages: ChatMessage[] = [];
  if (options.system !== undefined) messages.push({ role: "system", content: options.system });
  try {
    const prompt =
      words.length > 0 ? words.join(" ") : context.io.in.isTTY ? undefined : await piped(context);
    if (prompt === undefined) return await converse(context, agent, messages, options);
    messages.push({ role: "user", content: prompt });
    const { text, reasoning, finishReason, usage } = await answer(context, agent, messages, options);
    if (!context.options.json) return;
    const model = await agent.modelPath("large");
    context.result({ model, text, reasoning, finishReason, usage }, () => "");
  } finally {
    await agent.close();
  }
}

async function converse(
  context: CliContext,
  agent: Agent,
  messages: ChatMessage[],
  options: ChatOptions,
): Promise<void> {
  context.note("An empty line or Ctrl-D ends the conversation.");
  const asking = createInterface({ input: context.io.in, output: context.io.err });
  context.signal.addEventListener("abort", () => asking.close(), { once: true });
  const closed = once(asking, "close").then(() => "");
  try {
    for (;;) {
      const words = await Promise.race([asking.question("> "), closed]);
      if (words.trim() === "") return;
      messages.push({ role: "user", content: words });
      const { text } = await answer(context, agent, messages, options);
      messages.push({ role: "assistant", content: text });
    }
  } finally {
    asking.close();
  }
}

/** Shows the text as it comes; with `--json` it is shown by the caller, as a whole. */
async function answer(
  context: CliContext,
  agent: Agent,
  messages: readonly ChatMessage[],
  options: ChatOptions,
): Promise<GenerationResult> {
  const { maxTokens, temperature, seed, think } = options;
  const request = present({ messages: [...messages], maxTokens, temperature, seed, enableThinking: think });
  const generation = await agent.active.use("large", async (spec) => {
    const value = await agent.engine.generate(spec, request, { signal: context.signal });
    return { value, until: value.settled };
  });
  for await (const piece of generation) {
    if (!context.options.json) context.io.out.write(printable(piece.text));
  }
  const result = await generation.result;
  if (context.options.json) return result;
  if (!result.text.endsWith("\n")) writeLine(context.io.out, "");
  const { completionTokens, decodeTokensPerSecond, timeToFirstTokenMs } = result.usage;
  context.note(
    `${completionTokens} tokens, ${decodeTokensPerSecond.toFixed(1)} per second, the first after ` +
      `${Math.round(timeToFirstTokenMs)} ms${result.finishReason === "length" ? "; cut at --max-tokens" : ""}`,
  );
  return result;
}

/** All of standard input. */
export async function piped({ io }: CliContext): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of io.in) chunks.push(Buffer.from(chunk as Uint8Array | string));
  return Buffer.concat(chunks).toString("utf8");
}

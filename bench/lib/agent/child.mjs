// One engine, one dialogue: node child.mjs '{"engine":...}', figures over the IPC channel.
import { fromRoot } from "../../../scripts/lib/paths.mjs";
import { startAgent } from "./agent.mjs";
import { dialogue } from "./dialogues.mjs";
import { peerPlugin } from "./peer-plugin.mjs";

const { engine, kind, number, model, embedding, threads, contextSize, turns, folder } = JSON.parse(
  process.argv[2],
);
let calls = [];

const observer = {
  name: "observer",
  description: "Notes what text calls cost.",
  events: {
    MODEL_USED: [
      async ({ type, usage }) => {
        if (usage === undefined || !type.startsWith("TEXT_")) return;
        const { promptTokens, cachedPromptTokens, completionTokens, timeToFirstTokenMs } = usage;
        calls.push({
          type,
          promptTokens,
          evaluatedTokens: promptTokens - cachedPromptTokens,
          completionTokens,
          firstMs: timeToFirstTokenMs,
          ms: usage.prefillMs + usage.decodeMs,
        });
      },
    ],
  },
};

async function run() {
  const { localInferencePlugin } = await import(fromRoot("dist/index.js"));
  const peer =
    engine === "node-llama-cpp"
      ? await peerPlugin({ model, threads, contextSize, onCall: (call) => calls.push(call) })
      : undefined;
  const settings = {
    LOCAL_LARGE_MODEL: model,
    LOCAL_SMALL_MODEL: model,
    LOCAL_EMBEDDING_MODEL: embedding,
    LOCAL_THREADS: String(threads),
    LOCAL_CONTEXT_SIZE: String(contextSize),
    LOCAL_PROMPT_LAYOUT: engine === "ours-off" ? "off" : "auto",
    DEFAULT_TEMPERATURE: "0",
    DEFAULT_MAX_TOKENS: "200",
    ...(folder ? { LOCAL_CONVERSATIONS_DIR: folder } : {}),
  };
  const plugins = [localInferencePlugin, observer, ...(peer ? [peer.plugin] : [])];
  const talk = await startAgent({ plugins, settings, reflection: kind === "reflection" });
  const figures = [];
  for (const turn of dialogue(kind, number).slice(0, turns)) {
    calls = [];
    const { reply, ...times } = await talk.say(turn, { room: `room-${number}`, kind });
    // Evaluators and events go on after the reply.
    await new Promise((resolve) => setTimeout(resolve, 200));
    figures.push({ ...times, reply, calls, memoryMb: process.memoryUsage().rss / 1e6 });
  }
  await talk.close();
  await peer?.close();
  return figures;
}

const message = await run().then(
  (figures) => ({ figures }),
  (error) => ({ error: error?.stack ?? String(error) }),
);
process.send(message, () => process.exit(0));

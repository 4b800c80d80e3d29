// The demo itself: starts the agent, answers one question or holds a conversation, closes everything.
import { basename } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { Talk } from "./lib/demo-answer.mjs";
import { Interrupts } from "./lib/demo-interrupt.mjs";
import { modelsToUse } from "./lib/demo-models.mjs";
import { agentId, openDatabase, startAgent } from "./lib/demo-runtime.mjs";
import { dim, figuresLine, withProgress } from "./lib/demo-screen.mjs";
import { Failure } from "./lib/log.mjs";
import { fromRoot } from "./lib/paths.mjs";

const defaultQuestion = "What is the capital of France?";

/** Opens what the agent needs, one after the other; `close` undoes whatever was opened. */
class Stage {
  #opened = [];

  async open(text, leaving, body) {
    // A body may have kept the event loop busy: give a signal that came meanwhile its turn.
    await sleep(1);
    leaving.throwIfAborted();
    const { value, close } = await withProgress(text, body);
    if (close) this.#opened.push(close);
    return value;
  }

  async close() {
    for (const close of this.#opened.reverse()) await close();
    this.#opened = [];
  }
}

async function openAgent(stage, talk, leaving) {
  const { library, models } = await stage.open("starting elizaOS", leaving, async () => {
    const built = await import(fromRoot("dist/index.js"));
    return { value: { library: built, models: await modelsToUse() } };
  });
  const database = await stage.open("creating the agent's database", leaving, async () => {
    const opened = await openDatabase(await agentId());
    return { value: opened, close: opened.close };
  });
  const runtime = await stage.open("starting the agent", leaving, async () => {
    const onUsage = (usage) => talk.takeUsage(usage);
    const started = await startAgent({ plugin: library.default, models, database, onUsage });
    return { value: started, close: () => started.stop() };
  });
  talk.runtime = runtime;
  const model = basename(models.large.path);
  const loaded = await stage.open(`loading ${model}`, leaving, async () => ({ value: await talk.load() }));
  return { model, ...loaded };
}

function printFigures({ model, loadMs, rssBefore }, { firstTokenMs, usage, stopped }) {
  const totalBytes = process.memoryUsage.rss();
  const figures = { model, loadMs, firstTokenMs, usage, modelBytes: totalBytes - rssBefore, totalBytes };
  process.stdout.write(`\n${dim(figuresLine(figures) + (stopped ? " · stopped" : ""))}\n`);
}

async function askOnce(talk, interrupts, facts, question) {
  process.stdout.write(`${dim(`> ${question}`)}\n`);
  printFigures(facts, await interrupts.answering((signal) => talk.ask(question, signal)));
}

/** Reads lines until the input ends or the user leaves. */
async function chat(talk, interrupts, facts) {
  const { stdin, stdout } = process;
  const lines = createInterface({ input: stdin, output: stdout, terminal: stdin.isTTY, prompt: "> " });
  let ended = false;
  lines.once("close", () => {
    ended = true;
  });
  // In raw mode the terminal hands Ctrl-C to readline instead of raising a signal.
  lines.on("SIGINT", () => interrupts.press());
  interrupts.leaving.addEventListener("abort", () => lines.close(), { once: true });
  lines.prompt();
  for await (const line of lines) {
    const text = line.trim();
    if (text !== "") printFigures(facts, await interrupts.answering((signal) => talk.say(text, signal)));
    if (interrupts.leaving.aborted) break;
    if (!ended) lines.prompt();
  }
  lines.close();
  if (stdin.isTTY) stdout.write("\n");
}

/** Failures of this package and of leaving early are told in one line. */
function explain(error, leaving) {
  if (leaving.aborted) return;
  if (typeof error?.code === "string" && error.name === "LocalInferenceError") {
    throw new Failure(`${error.code}: ${error.message}`);
  }
  throw error;
}

export async function demo({ question, chat: isChat }) {
  // Read by the core when it is imported.
  process.env.LOG_LEVEL ??= "error";
  const interrupts = new Interrupts();
  const stage = new Stage();
  const talk = new Talk({ write: (text) => process.stdout.write(text) });
  try {
    const facts = await openAgent(stage, talk, interrupts.leaving);
    if (isChat) await chat(talk, interrupts, facts);
    else await askOnce(talk, interrupts, facts, question || defaultQuestion);
  } catch (error) {
    explain(error, interrupts.leaving);
  } finally {
    await stage.close();
  }
}

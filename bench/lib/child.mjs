// One process, one engine, one round: node --expose-gc child.mjs '{"adapter":...}', figures over the IPC channel.
import { anonymousMb, watchOthers } from "./memory.mjs";
import { Prompts } from "./prompts.mjs";
import * as sections from "./sections.mjs";

const options = JSON.parse(process.argv[2]);
const figures = {};
const errors = {};

/** A section that fails leaves its reason instead of its figures, and the next ones still run. */
async function section(name, body) {
  try {
    Object.assign(figures, await body());
  } catch (error) {
    errors[name] = error?.message ?? String(error);
  }
}

async function measure() {
  const adapter = await import(`../adapters/${options.adapter}.mjs`);
  const version = adapter.version();
  const baselineMb = await anonymousMb();
  const othersSinceStart = watchOthers();

  const { engine, figures: started } = await sections.measureStart(adapter, options);
  const { session, figures: loaded } = await sections.measureLoad(engine, options);
  Object.assign(figures, started, loaded);
  const prompts = new Prompts(session.countTokens);
  await section("text", () => sections.measureText(session, prompts));
  await section("cancel", () => sections.measureCancel(session, prompts));
  await section("close", () => sections.measureClose(session, baselineMb));
  await section("reloads", () => sections.measureReloads(engine, options));
  await section("embeddings", () => sections.measureEmbeddings(engine, options));
  figures.othersCores = othersSinceStart();
  return { version, facts: engine.describe(), prompts: prompts.digest, figures, errors };
}

const result = await measure();
process.send(result, () => process.exit(0));

// One process, one engine, one round: node --expose-gc child.mjs '{"adapter":...}', figures over the IPC channel.
import { watchOthers } from "./memory.mjs";
import { suites } from "./suites.mjs";

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
  const othersSinceStart = watchOthers();
  const { engine, prompts } = await suites[options.suite](adapter, options, section);
  figures.othersCores = othersSinceStart();
  return { version, facts: engine.describe(), prompts: prompts.digest, figures, errors };
}

const result = await measure();
process.send(result, () => process.exit(0));

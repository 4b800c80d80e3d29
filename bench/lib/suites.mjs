// What a run can measure: `engine`, one request at a time, and `concurrency`, many.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as concurrency from "./concurrency-sections.mjs";
import { anonymousMb } from "./memory.mjs";
import { Prompts } from "./prompts.mjs";
import * as engineSections from "./sections.mjs";

async function engineSuite(adapter, options, section) {
  const baselineMb = await anonymousMb();
  const { engine, figures: started } = await engineSections.measureStart(adapter, options);
  const { session, figures: loaded } = await engineSections.measureLoad(engine, options);
  await section("start", () => ({ ...started, ...loaded }));
  const prompts = new Prompts(session.countTokens);
  await section("text", () => engineSections.measureText(session, prompts));
  await section("cancel", () => engineSections.measureCancel(session, prompts));
  await section("close", () => engineSections.measureClose(session, baselineMb));
  await section("reloads", () => engineSections.measureReloads(engine, options));
  await section("embeddings", () => engineSections.measureEmbeddings(engine, options));
  return { engine, prompts };
}

/** Sequences of a context: the background requests and one more. */
const sequences = 9;

async function concurrencySuite(adapter, options, section) {
  const { engine } = await engineSections.measureStart(adapter, options);
  const folder = mkdtempSync(join(tmpdir(), "local-inference-bench-"));
  const settings = { ...options, contextSize: 4096, sequences };
  const open = (more = {}) => engine.openShared(options.model, { ...settings, ...more });
  try {
    const session = await open();
    const prompts = new Prompts(session.countTokens);
    await section("throughput", () => concurrency.measureThroughput(session, prompts));
    await section("urgent", () => concurrency.measureUrgent(session, prompts));
    await section("turns", () => concurrency.measureTurns(session, prompts));
    const restart = await prompts.take(577);
    await session.close();
    await section("restart", () => concurrency.measureRestart(() => open({ folder }), restart));
    return { engine, prompts };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export const suites = { engine: engineSuite, concurrency: concurrencySuite };

// What one process measures of one engine. Each section returns figures by the names that rows.mjs lists.
import { setTimeout as sleep } from "node:timers/promises";
import { anonymousMb, peakMb } from "./memory.mjs";
import { withLoopProbe } from "./probe.mjs";
import { Prompts } from "./prompts.mjs";
import { maximum, median } from "./statistics.mjs";
import { msSince, repeat, timed } from "./timed.mjs";

const shortPrompt = 32;
const longPrompt = 512;
const cancelledPrompt = 1500;
const decodeTokens = 128;
const embeddedTokens = 34;
const embeddedTexts = 64;
const reloads = 20;
const repetitions = 3;

const decodeRate = ({ tokens, firstTokens, firstMs, lastMs }) =>
  ((tokens - firstTokens) / (lastMs - firstMs)) * 1000;

export async function measureStart(adapter, options) {
  const start = performance.now();
  const engine = await adapter.start(options);
  return { engine, figures: { initMs: msSince(start) } };
}

export async function measureLoad(engine, { model, ...options }) {
  const start = performance.now();
  const { value: session, blockMs } = await withLoopProbe(() => engine.openText(model, options));
  return { session, figures: { loadMs: msSince(start), loadBlockMs: blockMs } };
}

/** First tokens, prefill and decode rates, and what happens to the event loop meanwhile. */
export async function measureText(session, prompts) {
  await timed(session, await prompts.take(shortPrompt), { maxTokens: 8 });
  const shorts = await prompts.takeMany(repetitions, shortPrompt);
  const longs = await prompts.takeMany(repetitions, longPrompt);
  const openings = await prompts.takeMany(repetitions, shortPrompt);
  const probed = (texts, maxTokens) =>
    repeat(texts.length, (index) => withLoopProbe(() => timed(session, texts[index], { maxTokens })));
  const short = await probed(shorts, 1);
  const long = await probed(longs, 1);
  const decode = await probed(openings, decodeTokens);
  const firstToken512Ms = median(long.map(({ value }) => value.firstMs));
  return {
    firstToken32Ms: median(short.map(({ value }) => value.firstMs)),
    firstToken512Ms,
    prefillRate: (longPrompt / firstToken512Ms) * 1000,
    prefillBlockMs: maximum(long.map(({ blockMs }) => blockMs)),
    decodeRate: median(decode.map(({ value }) => decodeRate(value))),
    decodeBlockMs: maximum(decode.map(({ blockMs }) => blockMs)),
    decodedTokens: median(decode.map(({ value }) => value.tokens)),
  };
}

/** Aborts a long prefill, then asks for something else at once. */
async function cancelOnce(session, long, short) {
  const controller = new AbortController();
  let tokens = 0;
  const onTokens = (count) => {
    tokens += count;
  };
  const running = session
    .generate(long, { maxTokens: 4, signal: controller.signal, onTokens })
    // Being aborted may end in an error or in a short answer.
    .catch(() => {});
  await sleep(100);
  const start = performance.now();
  controller.abort();
  await running;
  const cancelMs = msSince(start);
  if (tokens > 0) throw new Error("the prefill was over before it could be cancelled");
  const { firstMs } = await timed(session, short, { maxTokens: 1 });
  return { cancelMs, afterCancelMs: firstMs };
}

export async function measureCancel(session, prompts) {
  const longs = await prompts.takeMany(repetitions, cancelledPrompt);
  const shorts = await prompts.takeMany(repetitions, shortPrompt);
  const runs = await repeat(repetitions, (index) => cancelOnce(session, longs[index], shorts[index]));
  return {
    cancelMs: maximum(runs.map((run) => run.cancelMs)),
    afterCancelMs: median(runs.map((run) => run.afterCancelMs)),
  };
}

/** Peak and remainder of one context's life; closes the session. */
export async function measureClose(session, baselineMb) {
  const peak = peakMb();
  const start = performance.now();
  await session.close();
  const closeMs = msSince(start);
  return { peakMb: peak, closeMs, afterCloseMb: (await anonymousMb()) - baselineMb };
}

export async function measureReloads(engine, { model, ...options }) {
  const before = await anonymousMb();
  for (let index = 0; index < reloads; index += 1) {
    const session = await engine.openText(model, options);
    await session.close();
  }
  return { reloadGrowthMb: (await anonymousMb()) - before };
}

export async function measureEmbeddings(engine, { embeddingModel, threads }) {
  const embedder = await engine.openEmbedder(embeddingModel, { threads });
  try {
    const prompts = new Prompts(embedder.countTokens);
    await embedder.embed(await prompts.take(embeddedTokens));
    const serial = await prompts.takeMany(embeddedTexts, embeddedTokens);
    const together = await prompts.takeMany(embeddedTexts, embeddedTokens);
    const serialStart = performance.now();
    for (const text of serial) await embedder.embed(text);
    const serialRate = (embeddedTexts / msSince(serialStart)) * 1000;
    const concurrentStart = performance.now();
    await Promise.all(together.map((text) => embedder.embed(text)));
    const concurrentRate = (embeddedTexts / msSince(concurrentStart)) * 1000;
    return { embedSerialRate: serialRate, embedConcurrentRate: concurrentRate };
  } finally {
    await embedder.close();
  }
}

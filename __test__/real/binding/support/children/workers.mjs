// Worker threads that are terminated while they generate; the process must not notice.
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { ENDLESS, openTiny, say, tokensOf } from "./common.mjs";

const [mode, rounds] = [process.argv[2], Number(process.argv[3])];
const start = (workerData) => new Worker(new URL("worker.mjs", import.meta.url), { workerData });

async function terminateInTheMiddle() {
  const worker = start({ maxTokens: 2000, reportAt: 5 });
  await once(worker, "message");
  await worker.terminate();
}

async function terminateWhileLoading(round) {
  const worker = start({ maxTokens: 2000, reportAt: 2000 });
  await once(worker, "online");
  await new Promise((resolve) => setTimeout(resolve, round * 7));
  await worker.terminate();
}

async function exitInTheMiddle() {
  const [code] = await once(start({ maxTokens: 2000, reportAt: 2000, exitAt: 5 }), "exit");
  if (code !== 9) throw new Error(`the worker ended with ${code}`);
}

async function generateAtOnce() {
  const workers = [start({ maxTokens: 300, reportAt: 300 }), start({ maxTokens: 300, reportAt: 300 })];
  const ends = await Promise.all(
    workers.map(async (worker) => {
      const [[tokens], [code]] = await Promise.all([once(worker, "message"), once(worker, "exit")]);
      return `${tokens} tokens, code ${code}`;
    }),
  );
  say(ends.join("; "));
}

const MODES = { terminateInTheMiddle, terminateWhileLoading, exitInTheMiddle, generateAtOnce };
for (let round = 0; round < rounds; round++) await MODES[mode](round);

const { model, context } = await openTiny();
say(`main: ${await tokensOf(context.generate({ ...ENDLESS, maxTokens: 50 }))} tokens`);
await model.close();

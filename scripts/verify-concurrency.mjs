// Do concurrent requests and reuse gain what they should here, and change no token? Figures on the last line.
import { checkGain, checkSecondTurn, checkTokens } from "./lib/concurrency-checks.mjs";
import { developmentModel, requireBuild, requireFiles } from "./lib/demo-models.mjs";
import { done, Failure, main } from "./lib/log.mjs";
import { fromRoot } from "./lib/paths.mjs";

const usage = `usage: npm run -s verify:concurrency

Checks with the development model of chats (npm run models) that four requests at once have at least 1.2 times the
throughput of one, that the second turn of a conversation begins in at most half the time of the first, and that tokens are
the same with and without cache and company, by the rule of docs/concurrency.md. Exits with 0 if everything holds.`;

/** A hang must not look like a slow machine. */
const timeLimitMs = 240_000;
const context = { contextSize: 2048, threads: 2, parallel: 4 };

await main(async () => {
  if (process.argv.includes("--help")) return console.log(usage);
  requireBuild();
  const path = developmentModel("large");
  requireFiles([path]);
  const start = performance.now();
  const watchdog = setTimeout(() => {
    process.stderr.write(`✗ no result after ${timeLimitMs / 1000} s\n`);
    process.exit(1);
  }, timeLimitMs);
  try {
    const { LocalModel } = await import(fromRoot("dist/index.js"));
    const model = await LocalModel.load(path);
    const figures = [];
    try {
      for (const check of [checkTokens, checkSecondTurn, checkGain])
        figures.push(await check(model, context));
    } finally {
      await model.close();
    }
    done("everything holds");
    console.log(`${figures.join("; ")}; ${((performance.now() - start) / 1000).toFixed(1)} s in all`);
  } catch (error) {
    if (error instanceof Failure || error?.name !== "LocalInferenceError") throw error;
    throw new Failure(`${error.code}: ${error.message}`);
  } finally {
    clearTimeout(watchdog);
  }
});

// What the `verify:` scripts share: help, a time limit, errors as one line, the figures on the last line of the output.
import { requireBuild } from "./demo-models.mjs";
import { done, Failure, main } from "./log.mjs";
import { fromRoot } from "./paths.mjs";

/** A hang must not look like a slow machine. */
const TIME_LIMIT_MS = 240_000;

/** Runs `check` with the built package; it resolves to the figures, or throws a `Failure` when something does not hold. */
export async function verify(usage, check) {
  await main(async () => {
    if (process.argv.includes("--help")) return console.log(usage);
    requireBuild();
    const start = performance.now();
    const watchdog = setTimeout(() => {
      process.stderr.write(`✗ no result after ${TIME_LIMIT_MS / 1000} s\n`);
      process.exit(1);
    }, TIME_LIMIT_MS);
    try {
      const library = await import(fromRoot("dist/index.js"));
      const figures = await check(library);
      done("everything holds");
      const line = `${figures.join("; ")}; ${((performance.now() - start) / 1000).toFixed(1)} s in all\n`;
      // Libraries of elizaOS leave timers behind that would keep the process for half a minute.
      process.stdout.write(line, () => process.exit());
    } catch (error) {
      if (error?.name !== "LocalInferenceError") throw error;
      throw new Failure(`${error.code}: ${error.message}`);
    } finally {
      clearTimeout(watchdog);
    }
  });
}

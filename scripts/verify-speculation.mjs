// Does speculative decoding on this machine give the same tokens, accept what it must, and never lose time?
import { done, Failure, step, warn } from "./lib/log.mjs";
import {
  expectedText,
  fixedWindow,
  generate,
  isBusy,
  predict,
  speedUps,
  syntheticFile,
} from "./lib/speculation.mjs";
import { verify } from "./lib/verify.mjs";

const usage = `usage: npm run -s verify:speculation

Checks the built package with the synthetic pairs (node scripts/dev-models.mjs --only synthetic-mtp,synthetic-mtp-large):
tokens and acceptance exactly, then the speed-up of each window over plain decoding. Exits with 0 if everything holds.`;

/** Whatever the drafter is, no more time than this may be lost. */
const leastSpeedUp = 0.97;

function expect(holds, message) {
  if (!holds) throw new Failure(message);
}

async function withPair(library, size, drafter, options, body) {
  const context = {
    contextSize: 1024,
    parallel: 1,
    draftMax: 8,
    drafter: syntheticFile(size, drafter),
    ...options,
  };
  const model = await library.LocalModel.load(syntheticFile(size, "target.gguf"), { context });
  try {
    return await body(model);
  } finally {
    await model.close();
  }
}

/** Tokens and counts of every window are the predicted ones. */
async function checkExactly(library) {
  const tokens = 120;
  const parts = [];
  for (const percent of [100, 80, 50, 0]) {
    await withPair(library, "small", `drafter-${percent}.gguf`, { threads: 1 }, async (model) => {
      let last;
      for (const window of [1, 2, 3, 5, 8]) {
        const { text, usage } = await generate(model, "hello w003", tokens, fixedWindow(window));
        const want = predict("small", percent, { first: 4, tokens, window });
        const what = `drafter of ${percent} %, window ${window}`;
        expect(text === expectedText("small", 4, tokens), `${what}: other tokens than plain decoding`);
        expect(
          usage.draftedTokens === want.drafted && usage.acceptedTokens === want.accepted,
          `${what}: ${usage.acceptedTokens} of ${usage.draftedTokens} accepted, not ${want.accepted} of ${want.drafted}`,
        );
        last = usage;
      }
      const adaptive = await generate(model, "hello w003", tokens, "auto");
      expect(
        adaptive.text === expectedText("small", 4, tokens),
        `drafter of ${percent} %, adaptive: other tokens`,
      );
      parts.push(`${percent} %: ${last.acceptedTokens}/${last.draftedTokens}`);
    });
  }
  done(`tokens and acceptance are exact (accepted/drafted at window 8: ${parts.join(", ")})`);
}

/** Speed-up of each window with a drafter that is right 80 times in 100, and what a useless one costs. */
async function checkSpeed(library) {
  const byCpu = isBusy();
  if (byCpu) warn("the machine is busy: one thread, and CPU time instead of wall time");
  const threads = byCpu ? { threads: 1 } : {};
  const setup = { prompt: "hello w003", tokens: 48, rounds: 1, byCpu };
  const windows = [1, 2, 3, 4, 6, 8].map((window) => ({
    name: `${window}`,
    speculative: fixedWindow(window),
  }));
  const adaptive = { name: "adaptive", speculative: "auto" };
  const measure = (drafter, more, variants) =>
    withPair(library, "large", drafter, threads, async (model) => {
      await generate(model, setup.prompt, 48, "auto");
      return speedUps(model, { ...setup, ...more }, variants);
    });
  const good = await measure("drafter-80.gguf", {}, [...windows, adaptive]);
  const shown = Object.entries(good.ratios).map(([name, ratio]) => `${name} ${ratio.toFixed(2)}x`);
  done(`80 % right: plain ${good.plain.toFixed(1)} tok/s; window ${shown.join(", ")}`);
  const bad = await measure("drafter-0.gguf", { tokens: 64, rounds: 5 }, [adaptive]);
  done(`never right: adaptive ${bad.ratios.adaptive.toFixed(2)}x`);
  for (const { ratios } of [good, bad]) {
    expect(ratios.adaptive >= leastSpeedUp, `drafts cost time: adaptive ${ratios.adaptive.toFixed(3)}x`);
  }
  return `80 %: ${shown.join(", ")}; 0 %: adaptive ${bad.ratios.adaptive.toFixed(2)}x`;
}

await verify(usage, async (library) => {
  step("tokens and acceptance on the small synthetic pair");
  await checkExactly(library);
  step("speed on the large synthetic pair");
  return ["equal tokens", await checkSpeed(library)];
});

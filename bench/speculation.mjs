// Speed-up of speculative decoding by window: node bench/speculation.mjs --help
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { dirname, resolve } from "node:path";
import { parseArgs } from "node:util";
import { requireBuild } from "../scripts/lib/demo-models.mjs";
import { done, main, step, warn } from "../scripts/lib/log.mjs";
import { fromRoot } from "../scripts/lib/paths.mjs";
import { fixedWindow, generate, isBusy, speedUps } from "../scripts/lib/speculation.mjs";
import { allPairs, speculationCases } from "./lib/speculation-cases.mjs";

const usage = `usage: node bench/speculation.mjs [--pairs ${allPairs}] [--only TEXT] [--windows 1,2,3,4,5,6,7,8,adaptive] [--tokens N] [--rounds N] [--threads N] [--cpu] [--json FILE]

Speed-up over plain decoding of windows 1 to 8 and of the adaptive window: the large synthetic pair (its target as Q8_0 and
as F16) at 100, 80, 50 and 0 % agreement and with a text that changes, and Qwen2.5-Coder 1.5B with the 0.5B as its drafter on
code and prose. All windows take turns, with plain decoding in between; the table shows medians of the ratios. About 30
minutes on 2 cores. On a busy machine, --cpu measures CPU time with one thread.`;

const options = {
  pairs: { type: "string", default: allPairs },
  only: { type: "string", default: "" },
  windows: { type: "string", default: "1,2,3,4,5,6,7,8,adaptive" },
  tokens: { type: "string", default: "160" },
  rounds: { type: "string", default: "3" },
  threads: { type: "string", default: "2" },
  cpu: { type: "boolean" },
  json: { type: "string" },
  help: { type: "boolean", short: "h" },
};

const variantsOf = (windows) =>
  windows.split(",").map((name) => ({
    name,
    speculative: name === "adaptive" ? "auto" : fixedWindow(Number(name)),
  }));

async function measure(
  library,
  { name, target, drafter, prompt, options },
  { variants, tokens, rounds, threads, byCpu },
) {
  step(name);
  const context = { contextSize: 2048, parallel: 1, threads, drafter: drafter(), draftMax: 8 };
  const model = await library.LocalModel.load(target(), { context });
  try {
    // What is learned of the machine stays with the context: as in use, not as in the first second of it.
    await generate(model, prompt, tokens, "auto", options);
    const acceptance = new Map();
    const note = (variant, { usage }) =>
      acceptance.set(variant, usage.draftedTokens > 0 ? usage.acceptedTokens / usage.draftedTokens : 0);
    const { plain, ratios } = await speedUps(
      model,
      { prompt, tokens, rounds, byCpu, options },
      variants,
      note,
    );
    return { name, plain, ratios, acceptance: Object.fromEntries(acceptance) };
  } finally {
    await model.close();
  }
}

function printTable(results, variants) {
  const head = ["", "plain tok/s", ...variants.map(({ name }) => name), "best fixed", "accepted"];
  const lines = results.map(({ name, plain, ratios, acceptance }) => {
    const figures = variants.map((variant) => ratios[variant.name].toFixed(2));
    const accepted = `${(100 * acceptance[variants[0].name]).toFixed(0)} %`;
    return [name, plain.toFixed(1), ...figures, bestFixed(ratios).toFixed(2), accepted];
  });
  for (const line of [head, head.map(() => "---"), ...lines]) console.log(`| ${line.join(" | ")} |`);
}

function bestFixed({ adaptive: _, ...fixed }) {
  return Math.max(0, ...Object.values(fixed));
}

function judge(results) {
  for (const { name, ratios } of results) {
    const best = Math.max(1, bestFixed(ratios));
    if (ratios.adaptive < 0.97)
      warn(`${name}: adaptive is slower than plain decoding (${ratios.adaptive.toFixed(3)}x)`);
    if (ratios.adaptive < 0.97 * best)
      warn(`${name}: adaptive is ${(ratios.adaptive / best).toFixed(3)} of the best window`);
  }
}

await main(async () => {
  const { values } = parseArgs({ options });
  if (values.help) return console.log(usage);
  requireBuild();
  const byCpu = values.cpu === true;
  if (!byCpu && isBusy()) warn("others use this machine: consider --cpu");
  const plan = {
    tokens: Number(values.tokens),
    variants: variantsOf(values.windows),
    rounds: Number(values.rounds),
    threads: byCpu ? 1 : Number(values.threads),
    byCpu,
  };
  const library = await import(fromRoot("dist/index.js"));
  const results = [];
  for (const each of speculationCases(values.pairs, values.only))
    results.push(await measure(library, each, plan));
  printTable(results, plan.variants);
  judge(results);
  console.log(
    `${byCpu ? "CPU time, " : ""}${plan.threads} threads, ${plan.tokens} tokens, ${plan.rounds} rounds; ${cpus()[0]?.model}, ${cpus().length} cores`,
  );
  if (values.json) {
    mkdirSync(dirname(resolve(values.json)), { recursive: true });
    writeFileSync(values.json, `${JSON.stringify({ plan, results }, null, 2)}\n`);
    done(`the figures are in ${values.json}`);
  }
});

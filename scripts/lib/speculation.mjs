// The synthetic pair (scripts/synthetic): what must come of each drafter, and runs on it.
import { existsSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { Failure } from "./log.mjs";
import { locationOf } from "./models/ensure.mjs";
import { readTable, selectModels } from "./models/table.mjs";
import { modelsDir } from "./paths.mjs";

/** Path of a development model. */
export const developmentFile = (id) => locationOf(selectModels(readTable(), { ids: [id] })[0]);

/** Path of a file of the synthetic pairs; `size` is "small", "large" or "large-f16", which has a target only. */
export function syntheticFile(size, name) {
  const id = size === "small" ? "synthetic-mtp" : `synthetic-mtp-${size}`;
  const path = join(modelsDir(), id, name);
  if (existsSync(path)) return path;
  throw new Failure(`${path} is missing: run \`node scripts/dev-models.mjs --only ${id}\``);
}

/** Words that follow each other in a circle. */
const cycles = { small: 112, large: 240 };

/** Whether the drafter of `percent` agreement is right after word `number` (`agrees` in scripts/synthetic/models.py). */
function agrees(number, percent) {
  const mixed = (BigInt(number + 1) * 2654435761n) % (1n << 32n);
  return Number((mixed >> 16n) % 100n) < percent;
}

/** Drafted and accepted tokens of a fixed window, when the first word of the answer is word `first`. */
export function predict(size, percent, { first, tokens, window }) {
  let have = 1;
  const count = { drafted: 0, accepted: 0, steps: 0 };
  while (have < tokens) {
    const drafted = Math.min(window, tokens - have - 1);
    let accepted = 0;
    while (accepted < drafted && agrees((first + have - 1 + accepted) % cycles[size], percent)) accepted += 1;
    count.steps += 1;
    count.drafted += drafted;
    count.accepted += accepted;
    have += accepted + 1;
  }
  return count;
}

/** The words that follow word `first - 1`. */
export function expectedText(size, first, tokens) {
  const word = (index) => ` w${String((first + index) % cycles[size]).padStart(3, "0")}`;
  return Array.from({ length: tokens }, (_, index) => word(index)).join("");
}

export const fixedWindow = (window) => ({ min: window, max: window, adaptive: false });

/** Others use this machine: wall time then says more about them than about us. */
export const isBusy = () => loadavg()[0] > cpus().length / 2;

/** Greedy tokens after `prompt`: the text, the engine's counts, tokens per second after the first, and per CPU second. */
export async function generate(context, prompt, tokens, speculative, options = {}) {
  const request = { prompt, maxTokens: tokens, temperature: 0, ignoreEos: true, speculative, ...options };
  const before = process.cpuUsage();
  const { text, usage } = await context.generate(request).result;
  const { user, system } = process.cpuUsage(before);
  return { text, usage, rate: usage.decodeTokensPerSecond, cpuRate: (1e6 * tokens) / (user + system) };
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}

/** Runs after which plain decoding is measured again. */
const betweenPlain = 3;

/**
 * Speed-ups of `variants` over plain decoding, each the median over `rounds`. A busy machine changes its pace within
 * seconds, so plain decoding is measured again after every third variant, and a variant is compared with the mean of the
 * plain runs before and after it. With `byCpu` of CPU time, which needs a single thread. A variant is
 * `{ name, speculative }`.
 */
export async function speedUps(
  context,
  { prompt, tokens, rounds, byCpu, options },
  variants,
  onResult = () => {},
) {
  const ratios = new Map(variants.map(({ name }) => [name, []]));
  const plain = [];
  const rateOf = async (name, speculative) => {
    const result = await generate(context, prompt, tokens, speculative, options);
    onResult(name, result);
    return byCpu ? result.cpuRate : result.rate;
  };
  plain.push(await rateOf("plain", "off"));
  for (let round = 0; round < rounds; round += 1) {
    for (let first = 0; first < variants.length; first += betweenPlain) {
      const rates = [];
      for (const { name, speculative } of variants.slice(first, first + betweenPlain))
        rates.push([name, await rateOf(name, speculative)]);
      const before = plain.at(-1);
      plain.push(await rateOf("plain", "off"));
      for (const [name, rate] of rates) ratios.get(name).push((2 * rate) / (before + plain.at(-1)));
    }
  }
  return {
    plain: median(plain),
    ratios: Object.fromEntries([...ratios].map(([name, values]) => [name, median(values)])),
  };
}

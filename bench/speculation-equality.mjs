// Are the tokens those of plain decoding? Many prompts for each kind of drafter: node bench/speculation-equality.mjs --help
import { parseArgs } from "node:util";
import { requireBuild } from "../scripts/lib/demo-models.mjs";
import { done, Failure, main, step } from "../scripts/lib/log.mjs";
import { fromRoot } from "../scripts/lib/paths.mjs";
import { developmentFile, fixedWindow, syntheticFile } from "../scripts/lib/speculation.mjs";
import { Prompts } from "./lib/prompts.mjs";

const usage = `usage: node bench/speculation-equality.mjs [--kinds assistant,draft-model,ngram] [--prompts 500] [--tokens 24] [--lanes 4]

Each prompt is answered at temperature 0 twice without drafts and once with them (windows 1 to 8 and the adaptive one in
turn), and the tokens are compared. Who else is in a decode changes the rounding, so plain answers part from each other,
too, where the two best tokens are close. Those with drafts may part only where these are as close as that.`;

/** Difference of the two best log probabilities that is rounding even if plain answers never part. */
const leastRounding = 0.02;
/** The largest difference of many is a matter of luck: one answer may be that much luckier than another. */
const luck = 1.5;

const kinds = {
  assistant: {
    target: () => syntheticFile("small", "history.gguf"),
    context: () => ({ drafter: syntheticFile("small", "drafter-history.gguf") }),
  },
  "draft-model": {
    target: () => developmentFile("qwen2.5-coder-1.5b"),
    context: () => ({ drafter: developmentFile("qwen2.5-coder-0.5b") }),
  },
  ngram: { target: () => developmentFile("smollm2-135m"), context: () => ({ ngram: true }) },
};

const windows = [1, 2, 3, 4, 5, 6, 7, 8].map(fixedWindow);

/** Words of the corpus for a model of language; for the synthetic one words that it knows, none of them twice alike. */
async function promptsFor(kind, model, count) {
  if (kind !== "assistant") {
    const prompts = new Prompts((text) => model.countTokens(text));
    return Promise.all(Array.from({ length: count }, (_, index) => prompts.take(8 + (index % 40))));
  }
  const word = (number) => ` w${String(number % 112).padStart(3, "0")}`;
  return Array.from({ length: count }, (_, index) =>
    Array.from({ length: 4 + (index % 60) }, (_, place) => word(index + place * (1 + (index % 7)))).join(""),
  );
}

/** Where two answers part: undefined if they do not. */
function parting(plain, other) {
  const at = plain.findIndex((token, index) => token.token !== other[index]?.token);
  if (at < 0) return undefined;
  const [best, second] = plain[at].top;
  return { at, margin: best.logprob - second.logprob };
}

async function compare(model, prompt, index, tokens) {
  const speculative = index % 9 === 8 ? "auto" : windows[index % 9];
  const request = { prompt, maxTokens: tokens, temperature: 0, ignoreEos: true, logprobs: 2 };
  const plain = await model.generate({ ...request, speculative: "off" }).result;
  const again = await model.generate({ ...request, speculative: "off" }).result;
  const drafted = await model.generate({ ...request, speculative }).result;
  const from = (other) => parting(plain.logprobs, other.logprobs);
  return { index, usage: drafted.usage, control: from(again), parting: from(drafted) };
}

async function judge(library, name, { prompts: count, tokens, lanes }) {
  const { target, context } = kinds[name];
  const options = { contextSize: 2048, parallel: lanes, draftMax: 8, ...context() };
  const model = await library.LocalModel.load(target(), { context: options });
  try {
    const prompts = await promptsFor(name, model, count);
    const results = [];
    const work = async () => {
      for (let index = results.length; index < count; index = results.length) {
        results.push(undefined);
        results[index] = await compare(model, prompts[index], index, tokens);
        if (index % 50 === 0) step(`${name}: prompt ${index + 1} of ${count}`);
      }
    };
    await Promise.all(Array.from({ length: lanes }, work));
    return results;
  } finally {
    await model.close();
  }
}

const widest = (partings) => Math.max(0, ...partings.map(({ margin }) => margin));
const found = (results, key) => results.flatMap((result) => (result[key] === undefined ? [] : [result[key]]));

function report(name, results) {
  const sum = (key) => results.reduce((total, { usage }) => total + usage[key], 0);
  const [control, parted] = [found(results, "control"), found(results, "parting")];
  const allowed = Math.max(leastRounding, luck * widest(control));
  const wrong = results.filter(({ parting: one }) => one !== undefined && !(one.margin <= allowed));
  console.log(
    `${name}: ${results.length} prompts; with drafts ${results.length - parted.length} have the same tokens, ${parted.length} part ` +
      `where two tokens are within ${widest(parted).toFixed(3)}; plain answers: ${results.length - control.length} the same, ` +
      `${control.length} part within ${widest(control).toFixed(3)}; ${sum("acceptedTokens")} of ${sum("draftedTokens")} drafted tokens accepted`,
  );
  for (const { index, parting: one } of wrong.slice(0, 5)) console.log(JSON.stringify({ index, ...one }));
  return wrong.length;
}

await main(async () => {
  const { values } = parseArgs({
    options: {
      kinds: { type: "string", default: "assistant,draft-model,ngram" },
      prompts: { type: "string", default: "500" },
      tokens: { type: "string", default: "24" },
      lanes: { type: "string", default: "4" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) return console.log(usage);
  requireBuild();
  const plan = Object.fromEntries(["prompts", "tokens", "lanes"].map((name) => [name, Number(values[name])]));
  const library = await import(fromRoot("dist/index.js"));
  let wrong = 0;
  for (const name of values.kinds.split(",")) {
    if (kinds[name] === undefined) throw new Failure(`there is no kind "${name}"`);
    wrong += report(name, await judge(library, name, plan));
  }
  if (wrong > 0) throw new Failure(`${wrong} answers are not those of plain decoding`);
  done("the tokens are those of plain decoding");
});

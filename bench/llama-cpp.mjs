// What llama.cpp takes by itself, to set beside bench/speculation.mjs: node bench/llama-cpp.mjs --help
import { mkdirSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { hostPlatform } from "../scripts/lib/host.mjs";
import { llamaSources } from "../scripts/lib/licences.mjs";
import { main, step } from "../scripts/lib/log.mjs";
import { findLlamaOutput } from "../scripts/lib/native-package.mjs";
import { fromRoot, targetDir } from "../scripts/lib/paths.mjs";
import { capture, run } from "../scripts/lib/run.mjs";
import { developmentFile, median, syntheticFile } from "../scripts/lib/speculation.mjs";
import { allPairs, speculationCases } from "./lib/speculation-cases.mjs";

const usage = `usage: node bench/llama-cpp.mjs [--pairs ${allPairs}] [--only TEXT] [--tokens N] [--rounds N] [--threads N]
       node bench/llama-cpp.mjs --costs [--threads N]

The pairs of bench/speculation.mjs through llama.cpp's own speculation alone, drafts of 1 to 8 tokens: the speed beside plain
decoding. --costs: what a decode of several tokens takes, in decodes of one. A small C++ program is compiled against the
llama.cpp of the built addon.`;

const windows = [0, 1, 2, 3, 4, 5, 6, 7, 8];

/** The libraries as llama.cpp's build left them; the program finds them by their folder. */
function compile() {
  const output = findLlamaOutput(join(targetDir(), hostPlatform().triple, "release"));
  const source = fromRoot("bench/native/llama-cpp.cpp");
  const folder = join(targetDir(), "bench");
  const program = join(folder, "llama-cpp");
  const library = join(output, "lib");
  const sources = llamaSources();
  step("compiling bench/native/llama-cpp.cpp");
  mkdirSync(folder, { recursive: true });
  const includes = ["include", "ggml/include", "common", "vendor"].map((name) => `-I${join(sources, name)}`);
  const libraries = ["-lllama-common", "-lllama", "-lggml", "-lggml-base"];
  const link = [`-L${library}`, `-Wl,-rpath,${library}`, ...libraries];
  run("c++", ["-O2", "-std=c++17", ...includes, source, "-o", program, ...link]);
  return (...args) =>
    capture(program, [args[0], join(output, "backends"), ...args.slice(1).map(String)])
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
}

const table = (rows) => {
  for (const row of [rows[0], rows[0].map(() => "---"), ...rows.slice(1)])
    console.log(`| ${row.join(" | ")} |`);
};

function costs(program, { threads }) {
  const models = {
    "synthetic, Q8_0": syntheticFile("large", "target.gguf"),
    "synthetic, F16": syntheticFile("large-f16", "target.gguf"),
    "Qwen2.5-Coder 1.5B, Q4_K_M": developmentFile("qwen2.5-coder-1.5b"),
  };
  const rows = Object.entries(models).map(([name, path]) => {
    step(name);
    const [{ milliseconds, costs: found }] = program("costs", threads, path);
    return { name, milliseconds, found };
  });
  const sizes = Object.keys(rows[0].found);
  table([
    ["", "one token", ...sizes.slice(1)],
    ...rows.map(({ name, milliseconds, found }) => [
      name,
      `${milliseconds.toFixed(1)} ms`,
      ...sizes.slice(1).map((size) => found[size].toFixed(2)),
    ]),
  ]);
}

function drafts(program, { pairs, only, threads, tokens, rounds }) {
  const rows = speculationCases(pairs, only).map(({ name, kind, target, drafter, prompt }) => {
    step(name);
    const results = Array.from({ length: rounds }, () =>
      program("drafts", threads, target(), drafter(), kind, tokens, prompt),
    );
    const ratio = (window) => median(results.map((lines) => lines[window].rate / lines[0].rate)).toFixed(2);
    const { accepted, drafted } = results[0][1];
    const plain = median(results.map((lines) => lines[0].rate)).toFixed(1);
    return [name, plain, ...windows.slice(1).map(ratio), `${Math.round((100 * accepted) / drafted)} %`];
  });
  table([["", "plain tok/s", ...windows.slice(1).map(String), "accepted at 1"], ...rows]);
}

await main(() => {
  const { values } = parseArgs({
    options: {
      pairs: { type: "string", default: allPairs },
      only: { type: "string", default: "" },
      tokens: { type: "string", default: "160" },
      rounds: { type: "string", default: "3" },
      threads: { type: "string", default: "2" },
      costs: { type: "boolean" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) return console.log(usage);
  const plan = {
    ...values,
    tokens: Number(values.tokens),
    rounds: Number(values.rounds),
    threads: Number(values.threads),
  };
  const program = compile();
  (values.costs ? costs : drafts)(program, plan);
  console.log(`${plan.threads} threads; ${cpus()[0]?.model}, ${cpus().length} cores`);
});

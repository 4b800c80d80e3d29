// How far do answers drift with flash attention and with quantised KV caches? Evidence as JSON.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { cargoEnv } from "./lib/cargo-env.mjs";
import { commit, processorModel, writeEvidence } from "./lib/evidence.mjs";
import { hostPlatform } from "./lib/host.mjs";
import { done, Failure, main, step, warn } from "./lib/log.mjs";
import { fromRoot, modelsDir } from "./lib/paths.mjs";
import { capture } from "./lib/run.mjs";

const usage = `usage: npm run -s verify:kv-cache [-- --out FILE]

Evaluates a text through llama.cpp with and without flash attention at 64, 128, 256 and 512 tokens, and with KV caches of f32, f16,
q8_0 and q4_0, with llama.cpp's rotation and without, on the models that are here (npm run models -- --only
smollm2-135m,gemma3-270m,qwen2.5-coder-0.5b,synthetic-mtp). The evidence goes to FILE, by default target/kv-evidence.json;
docs/kernels.md describes it. Exits with 0 if every gate holds.`;

const models = [
  "SmolLM2-135M-Instruct.Q4_1.gguf",
  "gemma-3-270m-q4_k_m.gguf",
  "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
  "synthetic-mtp/target.gguf",
  "synthetic-mtp/history.gguf",
];
const pathOf = (file) => join(modelsDir(), file);

/** Nats of mean divergence that nobody notices: what a cache of f16 or q8_0 may cost. */
const UNNOTICED = 0.01;

/**
 * The most that a measurement may diverge; null where it is only measured. Flash attention may cost what it costs to keep keys and
 * values as f16, at most twice: the least change already passes through activations that are rounded to 8 bits.
 */
function limit({ gate, format, on, tokens }, measured) {
  if (gate === "flash-attention") {
    const f16 = measured.find((other) => other.gate === "f16" && other.on === on && other.tokens === tokens);
    return 2 * f16.divergence + 1e-6;
  }
  return gate === "f16" || format === "q8_0" ? UNNOTICED : null;
}

/** Weights with random values have no large channels that a rotation could spread. */
const isReal = (on) => !["target.gguf", "history.gguf"].includes(on);

function measure(files) {
  const example = ["--release", "--quiet", "-p", "local-inference-llama", "--example", "kv_drift"];
  const modules = fromRoot("npm", hostPlatform().name);
  const output = capture(
    "cargo",
    ["run", ...example, "--", modules, fromRoot("bench/corpus.txt"), ...files.map(pathOf)],
    { env: cargoEnv() },
  );
  return output.trim().split("\n").map(JSON.parse);
}

function judged(measured) {
  const limited = measured.map((gate) => {
    const tolerance = limit(gate, measured);
    const ok = Number.isFinite(gate.divergence) && (tolerance === null || gate.divergence <= tolerance);
    return { ...gate, tolerance, ok };
  });
  const of = (on, format) =>
    measured.find((gate) => gate.gate === "kv-cache" && gate.on === on && gate.format === format);
  const rotation = [...new Set(measured.map(({ on }) => on))].filter(isReal).map((on) => {
    const [rotated, plain] = [of(on, "q4_0"), of(on, "q4_0, not rotated")];
    return {
      gate: "rotation",
      format: "q4_0",
      on,
      tokens: rotated.tokens,
      count: rotated.count,
      divergence: rotated.divergence,
      tolerance: plain.divergence,
      ok: rotated.divergence <= plain.divergence,
    };
  });
  return [...limited, ...rotation];
}

function report(gates) {
  for (const { gate, format, on, tokens, divergence, topOneAgreement, largestDifference, ok } of gates) {
    if (gate === "rotation") continue;
    const figures = [
      `divergence ${divergence.toPrecision(2)}`,
      `same first choice ${(100 * topOneAgreement).toFixed(1)} %`,
      `largest difference ${largestDifference.toPrecision(2)}`,
    ];
    const line = `${gate}, ${format}, ${tokens} tokens, ${on}: ${figures.join(", ")}`;
    if (ok) step(line);
    else warn(line);
  }
}

await main(() => {
  const { values } = parseArgs({ options: { out: { type: "string" }, help: { type: "boolean" } } });
  if (values.help) return console.log(usage);
  const present = models.filter((file) => existsSync(pathOf(file)));
  const missing = models.filter((file) => !present.includes(file));
  for (const file of missing) warn(`skipped: ${file} is not here`);
  if (present.length === 0) throw new Failure("no model is here: npm run models");
  const start = performance.now();
  const gates = judged(measure(present));
  report(gates);
  const failed = gates.filter(({ ok }) => !ok);
  const evidence = {
    schema: "local-inference/kv-evidence",
    schemaVersion: 1,
    ok: failed.length === 0,
    build: { commit: commit() },
    processor: { architecture: process.arch, system: process.platform, model: processorModel() },
    gates,
    skipped: missing.map((file) => ({ on: file, reason: "the model is not here" })),
  };
  const out = writeEvidence(evidence, "kv-evidence.json", values.out);
  if (failed.length > 0) {
    const names = failed.map(
      ({ gate, format, on, tokens }) => `${gate} ${format} on ${on} (${tokens} tokens)`,
    );
    throw new Failure(`${failed.length} of ${gates.length} gates fail: ${names.join(", ")}`);
  }
  done("every gate holds");
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${gates.length} gates; ${missing.length} skipped; ${seconds} s in all; ${out}`);
});

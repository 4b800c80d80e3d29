// Do the kernels compute what a second implementation in another language computes? Evidence as JSON.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { fixtureDifferences, reference } from "./kernels/reference.mjs";
import { cargoEnv } from "./lib/cargo-env.mjs";
import { commit, processorModel, writeEvidence } from "./lib/evidence.mjs";
import { done, Failure, main, step, warn } from "./lib/log.mjs";
import { fromRoot, modelsDir } from "./lib/paths.mjs";

const usage = `usage: npm run -s verify:kernels [-- --out FILE] [--weights]

Computes the cases of src/kernels/fixtures/reference.json again with the implementation in scripts/kernels, then compares
the kernels with them, with themselves on other instruction sets, and with hostile bytes. docs/kernels.md describes the
evidence, which goes to FILE, by default target/kernel-evidence.json. With --weights the models of real weights must be
there (npm run models -- --only smollm2-135m,gemma3-270m); without, those that are missing are skipped.
Exits with 0 if every gate holds.`;

const models = ["SmolLM2-135M-Instruct.Q4_1.gguf", "gemma-3-270m-q4_k_m.gguf"].map((file) =>
  join(modelsDir(), file),
);

function runGates(files) {
  const command = ["run", "--quiet", "-p", "local-inference-kernels", "--example", "verify_kernels", "--"];
  const { error, status, stdout } = spawnSync("cargo", [...command, ...files], {
    cwd: fromRoot(),
    env: { ...process.env, ...cargoEnv() },
    encoding: "utf8",
    maxBuffer: 1 << 26,
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (error) throw new Failure(`cannot start cargo: ${error.message}`);
  try {
    return JSON.parse(stdout);
  } catch {
    throw new Failure(`no evidence: cargo ended with status ${status}`);
  }
}

function report({ gates, instructionSets, skipped }) {
  for (const { instructionSet, ran, reason } of instructionSets)
    if (!ran) warn(`not run: ${instructionSet}: ${reason}`);
  for (const { gate, on, reason } of skipped) warn(`skipped: ${gate} on ${on}: ${reason}`);
  const lines = new Map();
  for (const { gate, count, passed } of gates) {
    const line = lines.get(gate) ?? { count: 0, passed: 0 };
    lines.set(gate, { count: line.count + count, passed: line.passed + passed });
  }
  for (const [gate, { count, passed }] of lines) step(`${gate}: ${passed} of ${count}`);
}

await main(async () => {
  const { values } = parseArgs({
    options: { out: { type: "string" }, weights: { type: "boolean" }, help: { type: "boolean" } },
  });
  if (values.help) return console.log(usage);
  const missing = models.filter((file) => !existsSync(file));
  if (values.weights && missing.length > 0) throw new Failure(`missing: ${missing.join(", ")}`);

  const start = performance.now();
  step("the second implementation computes its cases");
  const stored = JSON.parse(readFileSync(fromRoot("src/kernels/fixtures/reference.json"), "utf8"));
  const differences = fixtureDifferences(stored, reference());
  if (differences.length > 0) {
    throw new Failure(
      `src/kernels/fixtures/reference.json is not what it computes: ${differences.join("; ")}`,
    );
  }
  step("the kernels");
  const evidence = runGates(models.filter((file) => existsSync(file)));
  evidence.build.commit = commit();
  evidence.processor.model = processorModel();
  const out = writeEvidence(evidence, "kernel-evidence.json", values.out);
  report(evidence);
  const failed = evidence.gates.filter((gate) => !gate.ok);
  if (failed.length > 0 || !evidence.ok) {
    const names = failed.map(
      ({ gate, format, instructionSet, on }) => `${gate} ${format} ${instructionSet ?? ""} (${on})`,
    );
    throw new Failure(`${failed.length} of ${evidence.gates.length} gates fail: ${names.join(", ")}`);
  }
  done("every gate holds");
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(
    `${evidence.gates.length} gates; ${evidence.skipped.length} skipped; ${seconds} s in all; ${out}`,
  );
});

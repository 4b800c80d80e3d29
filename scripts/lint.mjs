// Everything that can be judged without running the code, quick checks first; all of them run, then the failures are named.
import { done, Failure, main, step } from "./lib/log.mjs";
import { fromRoot } from "./lib/paths.mjs";
import { run } from "./lib/run.mjs";

const bin = (name) => fromRoot("node_modules/.bin", name);
const node = (script, ...args) => [process.execPath, [fromRoot("scripts", script), ...args]];

const clippy = (...options) => node("cargo.mjs", "clippy", "--release", ...options, "--", "-D", "warnings");
const NATIVE = ["local-inference-llama", "local-inference-binding"];

const CHECKS = {
  "format and rules of TypeScript": [bin("biome"), ["ci"]],
  "format of Rust": ["cargo", ["fmt", "--check"]],
  "file names": [bin("ls-lint"), []],
  "length of files": node("lint/lines.mjs"),
  "cycles of imports": node("lint/cycles.mjs"),
  spelling: node("lint/typos.mjs"),
  "unused files, exports and npm packages": [bin("knip"), []],
  "unused crates": node("lint/crates.mjs"),
  types: [bin("tsc"), ["-p", "tsconfig.json"]],
  "the public interface": node("api.mjs", "--check"),
  "the package's manifest": [bin("publint"), ["--strict"]],
  "rules of Rust": clippy("--workspace", ...NATIVE.flatMap((crate) => ["--exclude", crate])),
  "rules of Rust where llama.cpp is": clippy(
    ...["--lib", "--tests", "--examples"],
    ...NATIVE.flatMap((crate) => ["-p", crate]),
  ),
};

main(() => {
  const failed = [];
  for (const [name, [command, args]] of Object.entries(CHECKS)) {
    step(name);
    try {
      run(command, args);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      failed.push(`${name}: ${error.message}`);
    }
  }
  if (failed.length > 0) throw new Failure(`not clean:\n  ${failed.join("\n  ")}`);
  done("clean");
});

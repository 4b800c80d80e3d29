// The Rust addon -> npm/<platform>/, with every library it needs beside it; index.js and index.d.ts are generated.
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cargoEnv } from "./lib/cargo-env.mjs";
import { beginBuild } from "./lib/freshness.mjs";
import { hostPlatform } from "./lib/host.mjs";
import { installLicences } from "./lib/licences.mjs";
import { done, formatBytes, main, step } from "./lib/log.mjs";
import { checkPackage, findLlamaOutput, installPackage } from "./lib/native-package.mjs";
import { fromRoot, targetDir } from "./lib/paths.mjs";
import { run } from "./lib/run.mjs";

const napiCli = fromRoot("node_modules/@napi-rs/cli/dist/cli.js");

function compile() {
  step("compiling the addon (the first time also llama.cpp: several minutes)");
  const options = ["--platform", "--release", "--esm", "--manifest-path", "src/binding/Cargo.toml"];
  run(process.execPath, [napiCli, "build", ...options, "--output-dir", "."], { env: cargoEnv() });
}

function printSizes(binaries) {
  const newest = binaries
    .map((binary) => binary.glibc ?? "0")
    .sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  for (const { name, bytes } of binaries) console.log(`  ${formatBytes(bytes).padStart(9)}  ${name}`);
  const total = binaries.reduce((sum, { bytes }) => sum + bytes, 0);
  console.log(`  ${formatBytes(total).padStart(9)}  in all; needs glibc ${newest.at(-1)} or newer`);
}

await main(() => {
  const recordBuild = beginBuild("native");
  const { name, triple } = hostPlatform();
  const folder = fromRoot("npm", name);
  const addon = fromRoot(`local-inference.${name}.node`);
  compile();
  step(`filling npm/${name}`);
  installPackage(folder, addon, findLlamaOutput(join(targetDir(), triple, "release")));
  installLicences(folder);
  // The generated loader would prefer an addon in the root, where its libraries are not.
  if (existsSync(addon)) rmSync(addon);
  printSizes(checkPackage(folder));
  recordBuild();
  done(`the addon is built: npm/${name}`);
});

// ts/ -> dist/: ES modules and declarations.
import { rmSync } from "node:fs";
import { beginBuild } from "./lib/freshness.mjs";
import { done, main, step } from "./lib/log.mjs";
import { fromRoot } from "./lib/paths.mjs";
import { run } from "./lib/run.mjs";

await main(() => {
  const recordBuild = beginBuild("ts");
  step("compiling ts/ to dist/");
  rmSync(fromRoot("dist"), { recursive: true, force: true });
  run(process.execPath, [fromRoot("node_modules/typescript/bin/tsc"), "-p", "tsconfig.build.json"]);
  recordBuild();
  done("dist/ is built");
});

// Spelling, by typos (https://github.com/crate-ci/typos); its words are in _typos.toml.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { main, step } from "../lib/log.mjs";
import { cacheDir } from "../lib/paths.mjs";
import { run } from "../lib/run.mjs";
import { ensureToolchain } from "../lib/toolchain.mjs";

const VERSION = "1.52.0";

/** The program, from its wheel: other channels compile it. It is kept outside the repository for later clones. */
function typos() {
  const folder = join(cacheDir(), "tools", `typos-${VERSION}`);
  const program = join(folder, "bin", process.platform === "win32" ? "typos.exe" : "typos");
  if (existsSync(program)) return program;
  step(`installing typos ${VERSION}`);
  ensureToolchain({ models: true });
  const options = ["--quiet", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check"];
  run("python3", ["-m", "pip", "install", ...options, "--target", folder, `typos==${VERSION}`], {
    env: { PIP_ROOT_USER_ACTION: "ignore" },
    stdout: "stderr",
  });
  return program;
}

main(() => run(typos(), []));

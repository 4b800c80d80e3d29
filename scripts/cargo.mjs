// cargo with the project's build environment: `node scripts/cargo.mjs test -p local-inference-core`.
import { cargoEnv } from "./lib/cargo-env.mjs";
import { main } from "./lib/log.mjs";
import { run } from "./lib/run.mjs";

await main(() => run("cargo", process.argv.slice(2), { env: cargoEnv() }));

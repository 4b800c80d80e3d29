// Writes src/kernels/fixtures/reference.json: node scripts/kernels/write-fixtures.mjs
import { writeFileSync } from "node:fs";
import { fromRoot } from "../lib/paths.mjs";
import { reference } from "./reference.mjs";

writeFileSync(fromRoot("src/kernels/fixtures/reference.json"), `${JSON.stringify(reference())}\n`);

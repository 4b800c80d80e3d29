// ts/catalog/schema.ts -> catalog/schema.json, for editors. Needs a built dist/.
import { writeFileSync } from "node:fs";
import { requireBuild } from "./lib/demo-models.mjs";
import { done, main } from "./lib/log.mjs";
import { fromRoot } from "./lib/paths.mjs";
import { run } from "./lib/run.mjs";

await main(async () => {
  requireBuild();
  const { catalogJsonSchema } = await import(fromRoot("dist/catalog/schema.js"));
  const path = fromRoot("catalog", "schema.json");
  writeFileSync(path, `${JSON.stringify(catalogJsonSchema(), undefined, 2)}\n`);
  run("npx", ["--no-install", "biome", "format", "--write", path]);
  done("catalog/schema.json is written");
});

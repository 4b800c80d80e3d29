// The public interface as one report for each entry of the package, in api/. `--check` fails when a report is out of date.
import { readFileSync } from "node:fs";
import { Extractor, ExtractorConfig } from "@microsoft/api-extractor";
import { isBuilt } from "./lib/freshness.mjs";
import { done, Failure, main } from "./lib/log.mjs";
import { fromRoot } from "./lib/paths.mjs";
import { run } from "./lib/run.mjs";

const manifest = JSON.parse(readFileSync(fromRoot("package.json"), "utf8"));

/** `{ name, declarations }` of each entry that has declarations. */
const entries = Object.entries(manifest.exports)
  .filter(([, target]) => target.types !== undefined)
  .map(([path, { types }]) => ({
    name: path === "." ? "index" : path.slice(2),
    declarations: fromRoot(types),
  }));

/** Whether the report of an entry is as it was; where it was not, it is written unless this is a check. */
function isCurrent({ name, declarations }, check) {
  const configObject = {
    projectFolder: fromRoot(),
    mainEntryPointFilePath: declarations,
    compiler: { overrideTsconfig: { compilerOptions: { ...COMPILER, types: ["node"] } } },
    apiReport: {
      enabled: true,
      reportFileName: `${name}.api.md`,
      reportFolder: fromRoot("api"),
      reportTempFolder: fromRoot("node_modules/.cache/api"),
    },
    docModel: { enabled: false },
    dtsRollup: { enabled: false },
    tsdocMetadata: { enabled: false },
    newlineKind: "lf",
    messages: {
      compilerMessageReporting: { default: { logLevel: "none" } },
      extractorMessageReporting: { default: { logLevel: "none" } },
      tsdocMessageReporting: { default: { logLevel: "none" } },
    },
  };
  const config = ExtractorConfig.prepare({
    configObject,
    configObjectFullPath: undefined,
    packageJsonFullPath: fromRoot("package.json"),
  });
  const quiet = (message) => {
    if (message.category === "console") message.handled = true;
  };
  const result = Extractor.invoke(config, { localBuild: !check, messageCallback: quiet });
  return !result.apiReportChanged;
}

const COMPILER = {
  target: "ES2022",
  lib: ["ES2023", "ESNext.Disposable"],
  module: "ESNext",
  moduleResolution: "Bundler",
  skipLibCheck: true,
  strict: true,
};

await main(() => {
  const check = process.argv.includes("--check");
  if (!isBuilt("ts")) run(process.execPath, [fromRoot("scripts/build-ts.mjs")], { stdout: "stderr" });
  const changed = entries.filter((entry) => !isCurrent(entry, check)).map(({ name }) => `api/${name}.api.md`);
  if (check && changed.length > 0) {
    throw new Failure(
      `the public interface is not that of ${changed.join(", ")}: run \`npm run api\` and review`,
    );
  }
  done(changed.length > 0 ? `written: ${changed.join(", ")}` : "the reports in api/ are current");
});

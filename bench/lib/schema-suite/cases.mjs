// The official JSON-Schema-Test-Suite, draft 2020-12, out of the source package of Python's jsonschema, which contains it.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { step } from "../../../scripts/lib/log.mjs";
import { modelsDir } from "../../../scripts/lib/paths.mjs";
import { run } from "../../../scripts/lib/run.mjs";

const name = "jsonschema";
const version = "4.25.1";
const sha256 = "e4a9655ce0da0c0b67a085847e00a3a51449e1157f4f75e9fb5aa545e122eb85";

/** The folder of the draft's tests; fetched once, kept beside the models. */
export function suiteFolder() {
  const kept = join(dirname(modelsDir()), "json-schema-test-suite");
  const folder = join(kept, `${name}-${version}`, "json/tests/draft2020-12");
  if (existsSync(folder)) return folder;
  step(`fetching the JSON-Schema-Test-Suite (source package of ${name} ${version})`);
  mkdirSync(kept, { recursive: true });
  const requirements = join(kept, "requirements.txt");
  writeFileSync(requirements, `${name}==${version} --hash=sha256:${sha256}\n`);
  const options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"];
  const what = ["--no-binary", name, "--dest", kept, "--requirement", requirements];
  run("python3", ["-m", "pip", "download", ...options, ...what], { stdout: "stderr" });
  run("tar", ["-xzf", join(kept, `${name}-${version}.tar.gz`), "-C", kept]);
  return folder;
}

/** One case for each schema of the files in `folder`: `{keyword, about, schema, tests: [{about, data, valid}]}`. */
export function casesOf(folder) {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".json"))
    .sort()
    .flatMap((file) =>
      JSON.parse(readFileSync(join(folder, file), "utf8")).map(({ description, schema, tests }) => ({
        keyword: basename(file, ".json"),
        about: description,
        schema,
        tests: tests.map(({ description: about, data, valid }) => ({ about, data, valid })),
      })),
    );
}

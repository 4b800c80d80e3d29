// The official JSON-Schema-Test-Suite through this package and others: node bench/schema-suite.mjs --help
import { join } from "node:path";
import { parseArgs } from "node:util";
import { requireBuild } from "../scripts/lib/demo-models.mjs";
import { Failure, main, step } from "../scripts/lib/log.mjs";
import { casesOf, suiteFolder } from "./lib/schema-suite/cases.mjs";
import { disagreements, llamaCpp, nodeLlamaCpp, ours, peerEnding } from "./lib/schema-suite/engines.mjs";
import { exceptions, keywordTable, totals, unenforcedLine } from "./lib/schema-suite/tables.mjs";
import { typedCases } from "./lib/schema-suite/typed.mjs";

const usage = `usage: node bench/schema-suite.mjs [--suite FOLDER] [--engines ours,node-llama-cpp,llama.cpp] [--typed] [--list] [--cross-check]

--suite FOLDER  the draft's tests; default: fetched once (draft 2020-12)
--engines A,B   what to put through it
--typed         give each schema the type that its keywords are about, for engines that read no schema without one
--list          also every refused schema and every instance that is judged otherwise than the suite says
--cross-check   follow the GBNF of the others with our GBNF engine, too, and compare
Exits with 0 if no invalid instance of the required tests can come out of this package.`;

const options = {
  suite: { type: "string" },
  engines: { type: "string", default: "ours,node-llama-cpp,llama.cpp" },
  typed: { type: "boolean", default: false },
  list: { type: "boolean", default: false },
  "cross-check": { type: "boolean", default: false },
  help: { type: "boolean", short: "h" },
};

const engines = {
  ours: { judge: ours },
  "node-llama-cpp": { judge: nodeLlamaCpp, ending: peerEnding },
  "llama.cpp": { judge: llamaCpp, ending: "" },
};

function printEngine(name, title, cases, answers, { list }) {
  console.log(`\n## ${name}, ${title}\n\n${keywordTable(cases, answers, name === "ours")}`);
  if (name === "ours")
    console.log(`\nLeft to the validation, in so many schemas: ${unenforcedLine(answers)}`);
  if (name !== "llama.cpp") {
    const alone = answers.map(({ validated, ...answer }) => answer);
    console.log(`\nIts grammar without what validates afterwards:\n\n${totals(cases, alone)}`);
  }
  if (list) console.log(`\n${exceptions(cases, answers)}`);
}

function crossCheck(name, cases, answers, ending) {
  const found = disagreements(cases, answers, ending);
  console.log(`\nOur GBNF engine judges ${found.length} instances otherwise than llama.cpp's.`);
  for (const { one, test, own } of found) {
    console.log(`${name} | ${one.keyword}: ${one.about} | ${JSON.stringify(test.data)} | ours: ${own}`);
  }
}

const comesOut = (cases, answers) =>
  cases.flatMap(({ tests }, index) =>
    tests.filter(({ valid }, at) => !valid && answers[index].accepted[at] && answers[index].validated[at]),
  ).length;

await main(async () => {
  const { values } = parseArgs({ options });
  if (values.help) return console.log(usage);
  requireBuild();
  const folder = values.suite ?? suiteFolder();
  const parts = { "required tests": folder, "optional tests of formats": join(folder, "optional/format") };
  let wrong = 0;
  for (const name of values.engines.split(",").filter(Boolean)) {
    const engine = engines[name];
    if (engine === undefined)
      throw new Failure(`--engines must be of ${Object.keys(engines)}, not "${name}"`);
    for (const [title, where] of Object.entries(parts)) {
      step(`${name}: ${title}`);
      const cases = values.typed ? await typedCases(casesOf(where)) : casesOf(where);
      const answers = await engine.judge(cases);
      printEngine(name, title, cases, answers, values);
      if (values["cross-check"] && engine.ending !== undefined)
        crossCheck(name, cases, answers, engine.ending);
      if (name === "ours" && where === folder) wrong = comesOut(cases, answers);
    }
  }
  if (wrong > 0) throw new Failure(`${wrong} invalid instances can come out`);
});

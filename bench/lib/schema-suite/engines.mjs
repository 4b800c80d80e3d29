// What engines make of schemas, and which instances they could then write. Each answer is
// `{refused?, unenforced?, accepted, validated?}`: why a schema is refused, what a grammar leaves out, and for each
// instance whether the grammar admits a text of it and whether the validation afterwards lets it pass.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromRoot } from "../../../scripts/lib/paths.mjs";
import { capture } from "../../../scripts/lib/run.mjs";
import { ensurePeers } from "../peers.mjs";
import { anyTexts, ourTexts } from "./texts.mjs";

/** Runs the Rust program, which follows texts through grammars as a request does. */
function judge(jobs) {
  const folder = mkdtempSync(join(tmpdir(), "grammars-"));
  try {
    const file = join(folder, "jobs.jsonl");
    writeFileSync(file, jobs.map((job) => `${JSON.stringify(job)}\n`).join(""));
    const program = ["-p", "local-inference-llama", "--example", "grammar_judge", "--", file];
    const cargo = [fromRoot("scripts/cargo.mjs"), "run", "--quiet", "--release", ...program];
    const answers = capture(process.execPath, cargo).trimEnd().split("\n");
    return answers.map((line) => JSON.parse(line));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The product: its grammar, then ajv. */
export async function ours(cases) {
  const { validatorOf } = await import(fromRoot("dist/engine/text/structured/validate.js"));
  const jobs = cases.map(({ schema, tests }) => ({
    kind: "schema",
    source: JSON.stringify(schema),
    texts: tests.map(({ data }) => ourTexts(data)),
  }));
  const answers = judge(jobs);
  return Promise.all(
    cases.map(async ({ schema, tests }, index) => {
      const answer = answers[index];
      if (answer.refused !== undefined) return answer;
      try {
        const validate = await validatorOf(schema);
        const validated = tests.map(({ data }) => validate(JSON.stringify(data)) === undefined);
        return { ...answer, validated };
      } catch (error) {
        return { refused: `${error.code}: ${error.message}`, accepted: [] };
      }
    }),
  );
}

/**
 * node-llama-cpp: its own conversion, judged by llama.cpp's grammar engine inside it. `validated` is what the grammar's
 * own `parse` says, which a caller may use afterwards.
 */
export async function nodeLlamaCpp(cases) {
  const llama = await peer();
  return series(cases, async ({ schema, tests }) => {
    const grammar = await silently(() => llama.createGrammarForJsonSchema(schema));
    // Its grammars end with blank lines, at which the generation is stopped.
    const accepted = admitted(grammar, tests, peerEnding);
    return { gbnf: grammar.grammar, accepted, validated: tests.map(({ data }) => parses(grammar, data)) };
  });
}

export const peerEnding = "\n".repeat(4);

/** llama.cpp's own conversion, judged by the same grammar engine. */
export async function llamaCpp(cases) {
  const llama = await peer();
  const converted = judge(cases.map(({ schema }) => ({ kind: "convert", source: JSON.stringify(schema) })));
  return series(cases, async ({ tests }, index) => {
    const { refused, gbnf } = converted[index];
    if (refused !== undefined) return { refused, accepted: [] };
    return { gbnf, accepted: admitted(await llama.createGrammar({ grammar: gbnf }), tests, "") };
  });
}

async function series(cases, answer) {
  const answers = [];
  for (const [index, one] of cases.entries()) {
    try {
      answers.push(await answer(one, index));
    } catch (error) {
      answers.push({ refused: error.message.split("\n", 1)[0], accepted: [] });
    }
  }
  return answers;
}

/** Instances of which our own GBNF engine thinks otherwise than llama.cpp's, which gave `answers`. */
export function disagreements(cases, answers, ending) {
  const compiled = cases
    .map((one, index) => ({ one, answer: answers[index] }))
    .filter(({ answer }) => answer.gbnf && !answer.refused);
  const jobs = compiled.map(({ one, answer }) => ({
    kind: "gbnf",
    source: answer.gbnf,
    texts: one.tests.map(({ data }) => anyTexts(data).map((text) => text + ending)),
  }));
  const own = judge(jobs);
  return compiled.flatMap(({ one, answer }, index) =>
    one.tests.flatMap((test, at) =>
      own[index].accepted[at] === answer.accepted[at]
        ? []
        : [{ one, test, own: own[index].refused ?? own[index].accepted[at] }],
    ),
  );
}

function admitted(grammar, tests, ending) {
  return tests.map(({ data }) => anyTexts(data).some((text) => grammar._testText(text + ending)));
}

function parses(grammar, data) {
  try {
    grammar.parse(JSON.stringify(data));
    return true;
  } catch {
    return false;
  }
}

async function peer() {
  ensurePeers(["node-llama-cpp"]);
  const { getLlama } = await import("node-llama-cpp");
  return getLlama({ gpu: false, build: "never", skipDownload: true, logLevel: "disabled" });
}

/** Its conversion writes to the console what it does not know. */
async function silently(work) {
  const { warn } = console;
  console.warn = () => {};
  try {
    return await work();
  } finally {
    console.warn = warn;
  }
}

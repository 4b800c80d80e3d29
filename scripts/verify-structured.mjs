// Does every answer have the form that was asked for, on this machine? Prints its figures on the last line.
import { basename } from "node:path";
import { modelsToUse } from "./lib/demo-models.mjs";
import { Failure, step } from "./lib/log.mjs";
import { startTalker } from "./lib/structured-agent.mjs";
import { builtForms, runCase, structuredCases } from "./lib/structured-cases.mjs";
import { verify } from "./lib/verify.mjs";

const usage = `usage: npm run -s verify:structured [-- --count N]

Generates N (100) answers for each way to constrain one, at temperature 1.2, and judges each of them; then one message
goes through a real agent. LOCAL_LARGE_MODEL chooses another model than the development model. Exits with 0 if all hold.`;

const maxTokens = 20;

function countOf(argv) {
  const at = argv.indexOf("--count");
  const count = at < 0 ? 100 : Number(argv[at + 1]);
  if (Number.isInteger(count) && count > 0) return count;
  throw new Failure("--count must be a whole number above 0");
}

async function verifyCases(library, path, count) {
  const options = { context: { contextSize: 2048, parallel: 4 } };
  const model = await library.LocalModel.load(path, options).catch(() =>
    library.LocalModel.load(path, { context: { contextSize: 2048 } }),
  );
  const figures = [];
  try {
    for (const one of await structuredCases(await builtForms())) {
      step(`${count} answers: ${one.name}`);
      const result = await runCase(model, one, { count, limits: [maxTokens] });
      const [failure] = result.failures;
      if (failure !== undefined) {
        const { seed, reason, text } = failure;
        const others = result.failures.length - 1;
        throw new Failure(
          `${one.name}: seed ${seed}: ${reason}: ${JSON.stringify(text)} (and ${others} more)`,
        );
      }
      figures.push(result);
    }
  } finally {
    await model.close();
  }
  return figures;
}

async function verifyAgent(library, path) {
  step("a message to a real agent");
  const talker = await startTalker({
    plugin: library.default,
    model: path,
    settings: { TEXT_LARGE_MAX_TOKENS: "120" },
  });
  try {
    const { replied, calls } = await talker.say("Hello, who are you?", "room");
    if (!replied || calls !== 1)
      throw new Failure(`the agent ${replied ? "replied" : "did not reply"} after ${calls} calls`);
  } finally {
    await talker.stop();
  }
}

await verify(usage, async (library) => {
  const { large } = await modelsToUse();
  const figures = await verifyCases(library, large.path, countOf(process.argv));
  await verifyAgent(library, large.path);
  const sum = (key) => figures.reduce((total, one) => total + one[key], 0);
  const [answers, tokens] = [sum("count"), sum("tokens")];
  const percent = (part) => `${((100 * part) / tokens).toFixed(0)} %`;
  return [
    `${basename(large.path)}: ${answers} of ${answers} answers valid in ${figures.length} forms, ` +
      `${sum("limits")} of them cut short and closed`,
    `${percent(sum("forced"))} of ${tokens} tokens determined, ${percent(sum("refused"))} refused`,
    "agent replied with 1 call",
  ];
});

// Does an agent's turn evaluate only what is new? Figures on the last line.
import { setTimeout as sleep } from "node:timers/promises";
import { developmentModel, requireFiles } from "./lib/demo-models.mjs";
import { done, Failure } from "./lib/log.mjs";
import { startTalker } from "./lib/structured-agent.mjs";
import { verify } from "./lib/verify.mjs";

const usage = `usage: npm run -s verify:agent

Holds a dialogue of five turns with a real elizaOS agent (bootstrap, the development model of chats) and checks that each
reply after the first one evaluates at most 15 % of its prompt, and that a prompt of no known template reaches the model as it is.
Exits with 0 if everything holds.`;

/** Largest part of a prompt that a reply after the first one may evaluate. */
const MOST = 0.15;

const dialogue = [
  "Hello, I am Ann.",
  "I am planning a trip to the sea.",
  "Which month would you choose?",
  "What should I put in my bag?",
  "What was my name again?",
];

const share = ({ promptTokens, cachedPromptTokens }) => (promptTokens - cachedPromptTokens) / promptTokens;
const percent = (value) => `${(100 * value).toFixed(1)} %`;

async function checkTurns(talker) {
  const shares = [];
  for (const [index, text] of dialogue.entries()) {
    const { replied, usage: tokens } = await talker.say(text, "room");
    if (!replied || tokens === undefined) throw new Failure(`turn ${index + 1} was not answered`);
    shares.push(share(tokens));
    done(`turn ${index + 1}: ${percent(share(tokens))} of ${tokens.promptTokens} tokens evaluated`);
  }
  const worst = Math.max(...shares.slice(1));
  if (worst > MOST)
    throw new Failure(`a reply evaluated ${percent(worst)} of its prompt, more than ${percent(MOST)}`);
  return `first turn ${percent(shares[0])}, later ones at most ${percent(worst)} evaluated`;
}

/** The agent's events show the prompt as it was sent. */
async function checkUnknown(talker) {
  const prompt =
    "<task>Say hello.</task>\n\n<providers>\nThe time is noon.\n</providers>\n\nAnswer with one word.";
  await talker.runtime.useModel("TEXT_LARGE", { prompt, maxTokens: 4 });
  await sleep(200);
  if (talker.events.at(-1)?.prompt !== prompt) throw new Failure("a prompt of no known template was changed");
  done("a prompt of no known template is sent as it is");
  return "an unknown prompt is untouched";
}

await verify(usage, async ({ localInferencePlugin }) => {
  const model = developmentModel("large");
  requireFiles([model]);
  const settings = { LOCAL_CONTEXT_SIZE: "8192", DEFAULT_TEMPERATURE: "0", DEFAULT_MAX_TOKENS: "120" };
  const talker = await startTalker({ plugin: localInferencePlugin, model, settings });
  try {
    return [await checkTurns(talker), await checkUnknown(talker)];
  } finally {
    await talker.stop();
  }
});

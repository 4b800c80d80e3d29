// What concurrent requests and reuse gain on this machine, and that they change no token.
import { Failure, step } from "./log.mjs";
import { compareTokens } from "./same-tokens.mjs";

/** What a machine of two cores reaches with room to spare (docs/concurrency.md, Figures). */
const leastGain = 1.2;
const largestSecondTurn = 0.5;

const tokens = 48;
const rounds = 5;
const greedy = { temperature: 0 };

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** Twenty words that begin differently each time, so that nothing of them is cached. */
const prompt = (number) =>
  `${number} travellers met at an inn beside a river and each of them told the others a story about the sea and`;

async function secondsOf(context, numbers) {
  const start = performance.now();
  const request = { maxTokens: tokens, ignoreEos: true, ...greedy };
  await Promise.all(numbers.map((number) => context.generate({ prompt: prompt(number), ...request }).result));
  return (performance.now() - start) / 1000;
}

/** Throughput of four requests at once over one; in turn, so that what else the machine does hits both. */
export async function checkGain(model, options) {
  step(`1 and 4 requests of ${tokens} tokens at once, ${rounds} times`);
  const context = await model.createContext(options);
  const gains = [];
  let next = 100;
  await secondsOf(context, [next++]);
  for (let round = 0; round < rounds; round++) {
    const one = await secondsOf(context, [next++]);
    const four = await secondsOf(context, [next++, next++, next++, next++]);
    gains.push((4 * one) / four);
  }
  await context.close();
  const gain = median(gains);
  if (gain < leastGain) throw new Failure(`4 requests at once gain ${gain.toFixed(2)}x, not ${leastGain}x`);
  return `4 at once ${gain.toFixed(2)}x`;
}

const rules = "You keep the books of a small library and answer every question in one short sentence. ";

/** First token of a second turn over that of the first. */
export async function checkSecondTurn(model, options) {
  step("the first and the second turn of a conversation");
  const context = await model.createContext(options);
  const messages = [
    { role: "system", content: rules.repeat(30) },
    { role: "user", content: "Where are the maps?" },
  ];
  const first = await context.generate({ messages, maxTokens: 16, ...greedy }).result;
  messages.push({ role: "assistant", content: first.text }, { role: "user", content: "And the globes?" });
  const second = await context.generate({ messages, maxTokens: 16, ...greedy }).result;
  await context.close();
  const [cold, warm] = [first.usage.timeToFirstTokenMs, second.usage.timeToFirstTokenMs];
  const { cachedPromptTokens, promptTokens } = second.usage;
  if (cachedPromptTokens < first.usage.promptTokens) {
    throw new Failure(`of the second turn ${cachedPromptTokens} tokens of ${promptTokens} were cached`);
  }
  const ratio = warm / cold;
  if (ratio > largestSecondTurn) throw new Failure(`the second turn takes ${ratio.toFixed(2)} of the first`);
  return `second turn ${warm.toFixed(0)} of ${cold.toFixed(0)} ms (${ratio.toFixed(3)})`;
}

/** The same answer without any reuse, from the cache, after prewarming, and beside other requests. */
export async function checkTokens(model, options) {
  step("the same tokens with and without cache and company");
  const request = {
    messages: [
      { role: "system", content: rules.repeat(4) },
      { role: "user", content: "Tell me about the oldest book you keep." },
    ],
    maxTokens: 32,
    logprobs: 2,
    ignoreEos: true,
    ...greedy,
  };
  const ask = async (context) => (await context.generate(request).result).logprobs;
  const alone = await model.createContext({ ...options, parallel: 1, prefixCacheBytes: 0 });
  const reference = await ask(alone);
  await alone.close();

  const shared = await model.createContext(options);
  await shared.prewarm({ messages: request.messages.slice(0, 1) });
  const prewarmed = await ask(shared);
  const cached = await ask(shared);
  const others = [1, 2, 3].map((number) =>
    shared.generate({ prompt: prompt(number), maxTokens: tokens, ignoreEos: true, ...greedy }),
  );
  await Promise.all(others.map(({ started }) => started));
  const beside = await ask(shared);
  await Promise.all(others.map(({ result }) => result));
  await shared.close();

  const compared = [
    compareTokens("after prewarming", reference, prewarmed),
    compareTokens("from the cache", reference, cached),
    compareTokens("beside other requests", reference, beside),
  ];
  const largest = Math.max(...compared.map((one) => one.largest));
  const counts = compared.map((one) => one.compared).join(", ");
  return `same tokens (${counts} compared, log probabilities within ${largest.toFixed(3)})`;
}

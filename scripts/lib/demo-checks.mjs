// The checks of the self-check. Each returns its figures as text and throws a `Failure` if something does not hold.
import { setTimeout as sleep } from "node:timers/promises";
import { done, Failure } from "./log.mjs";

const ms = (value) => `${value.toFixed(0)} ms`;
const rate = (value) => `${value.toFixed(0)} tok/s`;

function expect(holds, message) {
  if (!holds) throw new Failure(message);
}

/** With this system text the small model is sure of its answer, so that rounding on another processor changes nothing. */
const system = "You answer questions about the world in one full sentence.";

const question = (text) => ({
  messages: [
    { role: "system", content: system },
    { role: "user", content: text },
  ],
  temperature: 0,
});

/** The model answers; the development model answers rightly. */
export async function checkAnswer(model, isDefault) {
  const request = { ...question("What is the capital of France?"), maxTokens: 48 };
  const { text, reasoning, usage } = await model.generate(request).result;
  expect(
    usage.completionTokens > 0 && `${text}${reasoning}`.trim() !== "",
    "the model answered with nothing",
  );
  expect(
    !isDefault || /\bParis\b/.test(text),
    `asked for the capital of France, the model answered: ${text}`,
  );
  done(`the model answers: ${text.trim().replaceAll(/\s+/g, " ")}`);
  const speed = `prefill ${rate(usage.prefillTokensPerSecond)}, decode ${rate(usage.decodeTokensPerSecond)}`;
  return `answer${isDefault ? " Paris" : ""}, first token ${ms(usage.timeToFirstTokenMs)}, ${speed}`;
}

/** A prompt of about `tokens` tokens; `first` makes its beginning differ from every other one. */
async function longPrompt(model, first, tokens) {
  const sentence = `${first} the river rises slowly and the keeper reads the staff again.`;
  const each = await model.countTokens(` ${sentence}`);
  return Array(Math.ceil(tokens / each))
    .fill(sentence)
    .join(" ");
}

/** Starts a generation and resolves once it is in the phase that is to be cancelled. */
async function reach(phase, generation, isOver) {
  if (phase === "decode") {
    const iterator = generation[Symbol.asyncIterator]();
    await iterator.next();
    return;
  }
  await generation.started;
  await sleep(30);
  expect(!isOver(), "the prompt was read before it could be cancelled: use a larger model");
}

/** An aborted generation settles as aborted, and the next one starts. */
export async function checkCancel(model, phase) {
  const { contextSize } = (await model.context()).info;
  const tokens = phase === "prefill" ? Math.min(1500, contextSize - 64) : 16;
  const prompt = await longPrompt(model, phase === "prefill" ? "Today" : "Tonight", tokens);
  const controller = new AbortController();
  const request = { prompt, temperature: 0, maxTokens: phase === "prefill" ? 1 : contextSize - 2 * tokens };
  const generation = model.generate({ ...request, ignoreEos: true }, { signal: controller.signal });
  let over = false;
  const outcome = generation.result.then(
    () => "finished",
    (error) => error.code,
  );
  generation.settled.then(() => {
    over = true;
  });
  await reach(phase, generation, () => over);
  const start = performance.now();
  controller.abort();
  const code = await outcome;
  const settleMs = performance.now() - start;
  expect(code === "CANCELLED", `a generation cancelled in ${phase} ended with ${code}`);
  const { usage } = await model.generate({ ...question("What is 2 + 2?"), maxTokens: 4 }).result;
  expect(usage.completionTokens > 0, `nothing was generated after a cancel in ${phase}`);
  done(`cancelled in ${phase} after ${ms(settleMs)}; the next request started`);
  return `cancel in ${phase} ${ms(settleMs)}, next first token ${ms(usage.timeToFirstTokenMs)}`;
}

const texts = {
  bread: "I baked fresh bread this morning.",
  food: "The food on the table smells delicious.",
  market: "The stock market fell sharply on Monday.",
};

const dot = (a, b) => a.reduce((sum, value, index) => sum + value * b[index], 0);

/** Vectors of length 1 that do not depend on their batch; the development model also ranks by meaning. */
export async function checkEmbeddings(model, isDefault) {
  const embedder = await model.createEmbedder();
  const { vectors } = await embedder.embed(Object.values(texts));
  const [bread, food, market] = vectors.map((vector) => Array.from(vector));
  const [alone] = (await embedder.embed([texts.bread])).vectors;
  expect(bread.every(Number.isFinite), "an embedding has values that are not numbers");
  expect(
    Math.abs(dot(bread, bread) - 1) < 1e-3,
    `an embedding has the length ${Math.sqrt(dot(bread, bread))}`,
  );
  const same = dot(bread, Array.from(alone));
  expect(same > 0.999, `a text in a batch and alone has embeddings of similarity ${same.toFixed(4)}`);
  const near = dot(bread, food);
  const far = dot(bread, market);
  expect(
    !isDefault || near > far,
    `bread and food: ${near.toFixed(3)}, bread and stock market: ${far.toFixed(3)}`,
  );
  done(`embeddings: bread and food ${near.toFixed(2)}, bread and stock market ${far.toFixed(2)}`);
  return `embeddings ${bread.length} dimensions, bread/food ${near.toFixed(2)}, bread/market ${far.toFixed(2)}`;
}

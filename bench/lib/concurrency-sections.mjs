// Many requests on one model: what they give together, what they cost an urgent one, and what is not evaluated twice.
import { median } from "./statistics.mjs";
import { msSince, repeat, timed } from "./timed.mjs";

const shortPrompt = 32;
const urgentPrompt = 64;
const answerTokens = 48;
const background = 8;
const repetitions = 3;

/** Tokens per second of `count` requests at once, all of them counted. */
async function throughput(session, prompts, count) {
  const texts = await prompts.takeMany(count, shortPrompt);
  const start = performance.now();
  const answers = await Promise.all(texts.map((text) => timed(session, text, { maxTokens: answerTokens })));
  const tokens = answers.reduce((sum, answer) => sum + answer.tokens, 0);
  return (tokens / msSince(start)) * 1000;
}

export async function measureThroughput(session, prompts) {
  await throughput(session, prompts, 2);
  const figures = {};
  for (const count of [1, 2, 4, 8]) {
    const rates = await repeat(repetitions, () => throughput(session, prompts, count));
    figures[`rate${count}`] = median(rates);
  }
  return figures;
}

/** Starts long answers of little urgency; resolves once each of them streams, to the way to stop them. */
async function startBackground(session, prompts) {
  const controller = new AbortController();
  const texts = await prompts.takeMany(background, shortPrompt);
  const ended = [];
  const streaming = texts.map(
    (text) =>
      new Promise((resolve) => {
        const options = { maxTokens: 400, lane: "background", signal: controller.signal, onTokens: resolve };
        // Being aborted may end in an error or in a short answer.
        ended.push(
          session
            .generate(text, options)
            .catch(() => {})
            .finally(resolve),
        );
      }),
  );
  await Promise.all(streaming);
  return async () => {
    controller.abort();
    await Promise.all(ended);
  };
}

export async function measureUrgent(session, prompts) {
  const first = async () => {
    const text = await prompts.take(urgentPrompt);
    return (await timed(session, text, { maxTokens: 1, lane: "interactive" })).firstMs;
  };
  const idle = await repeat(repetitions, first);
  const stop = await startBackground(session, prompts);
  try {
    return { urgentIdleMs: median(idle), urgentBesideMs: median(await repeat(repetitions, first)) };
  } finally {
    await stop();
  }
}

/** First tokens of a prompt and of one that goes on from it. */
async function turns(session, prompts, tokens) {
  const first = await prompts.take(tokens);
  const cold = await timed(session, first, { maxTokens: 1 });
  const second = await timed(session, `${first}\nAnd then what happened to them`, { maxTokens: 1 });
  return { cold: cold.firstMs, second: second.firstMs };
}

export async function measureTurns(session, prompts) {
  const figures = {};
  for (const tokens of [577, 2000]) {
    const runs = await repeat(repetitions, () => turns(session, prompts, tokens));
    figures[`cold${tokens}Ms`] = median(runs.map(({ cold }) => cold));
    figures[`second${tokens}Ms`] = median(runs.map(({ second }) => second));
  }
  return figures;
}

/** First token of a stored conversation after everything was closed and opened again. */
export async function measureRestart(open, text) {
  const conversation = "restart";
  const request = { maxTokens: 8, conversation };
  const before = await open();
  const cold = await timed(before, text, request);
  await before.close();
  const after = await open();
  try {
    const restored = await timed(after, text, request);
    return { coldStartMs: cold.firstMs, restoredMs: restored.firstMs };
  } finally {
    await after.close();
  }
}

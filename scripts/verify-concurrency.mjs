// Do concurrent requests and reuse gain what they should here, and change no token? Figures on the last line.
import { checkGain, checkSecondTurn, checkTokens } from "./lib/concurrency-checks.mjs";
import { developmentModel, requireFiles } from "./lib/demo-models.mjs";
import { verify } from "./lib/verify.mjs";

const usage = `usage: npm run -s verify:concurrency

Checks with the development model of chats (npm run models) that four requests at once have at least 1.2 times the
throughput of one, that the second turn of a conversation begins in at most half the time of the first, and that tokens are
the same with and without cache and company, by the rule of docs/concurrency.md. Exits with 0 if everything holds.`;

const context = { contextSize: 2048, threads: 2, parallel: 4 };

await verify(usage, async ({ LocalModel }) => {
  const path = developmentModel("large");
  requireFiles([path]);
  const model = await LocalModel.load(path);
  const figures = [];
  try {
    for (const check of [checkTokens, checkSecondTurn, checkGain]) figures.push(await check(model, context));
  } finally {
    await model.close();
  }
  return figures;
});

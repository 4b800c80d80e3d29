// Drops a stream that has generated as much as it may unread; the request behind it must get its turn.
import { setTimeout as sleep } from "node:timers/promises";
import { ENDLESS, openTiny, say, tokensOf } from "./common.mjs";

const { model, context } = await openTiny();

async function drop() {
  await context.generate(ENDLESS).next();
}
await drop();
let ended = false;
const next = tokensOf(context.generate({ ...ENDLESS, maxTokens: 10 })).finally(() => {
  ended = true;
});
while (!ended) {
  globalThis.gc();
  await sleep(5);
}
say(`next request: ${await next} tokens`);
await model.close();

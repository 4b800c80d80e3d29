// Refers to nothing but the pending read while garbage is collected: neither stream, context nor model may go.
import { ENDLESS, openTiny, say } from "./common.mjs";

async function start() {
  const { context } = await openTiny();
  return context.generate({ ...ENDLESS, maxTokens: 40 });
}

async function read() {
  const stream = await start();
  let tokens = 0;
  for (;;) {
    const pending = stream.next();
    globalThis.gc();
    const chunk = await pending;
    tokens += chunk.tokens;
    if (chunk.done) return `${tokens} tokens, ${chunk.done.finishReason}`;
  }
}
say(await read());

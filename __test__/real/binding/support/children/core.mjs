// The core of the addon in whatever runtime executes this: load, generate, cancel, embed, close.
import assert from "node:assert/strict";
import { addon, CHAT, EMBEDDING, ENDLESS, load, say, TINY, tokensOf } from "./common.mjs";

const QUESTION = {
  prompt:
    "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n" +
    "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n",
  parseSpecial: true,
  temperature: 0,
  maxTokens: 32,
};

async function answers() {
  const model = await load(CHAT);
  const context = await model.openContext({ contextSize: 1024, threads: 2 });
  const stream = context.generate(QUESTION);
  let text = "";
  for (let chunk = await stream.next(); chunk !== null; chunk = await stream.next()) text += chunk.text;
  assert.match(text, /Paris/);
  await model.close();
  assert.throws(() => context.generate(QUESTION), /CLOSED/);
}

async function cancels(context) {
  for (let reads = 0; reads < 5; reads++) {
    const stream = context.generate(ENDLESS);
    for (let read = 0; read < reads; read++) await stream.next();
    stream.cancel();
    let last;
    for (let chunk = await stream.next(); chunk !== null; chunk = await stream.next()) last = chunk.done;
    assert.equal(last.finishReason, "cancelled");
  }
  assert.equal(await tokensOf(context.generate({ ...ENDLESS, maxTokens: 30 })), 30);
}

async function embeds() {
  const model = await load(EMBEDDING);
  const embedder = await model.openEmbedder({ threads: 2 });
  const calls = Array.from({ length: 500 }, (_, index) => embedder.embed([`text ${index}`], {}).result());
  for (const { vectors } of await Promise.all(calls)) {
    const length = Math.hypot(...vectors[0]);
    assert.ok(Math.abs(length - 1) < 1e-4);
  }
  const call = embedder.embed(["some words ".repeat(100)], {});
  const closing = embedder.close();
  await call.result().catch((error) => assert.match(error.message, /^CLOSED/));
  await closing;
  await model.close();
}

async function refuses(context) {
  assert.throws(() => context.generate({ prompt: "a", topK: 1.5 }), /INVALID_INPUT: topK/);
  assert.throws(() => context.generate({ prompt: 5 }), /prompt/);
  await assert.rejects(addon.loadModel("/missing.gguf", {}).result(), /MODEL_NOT_FOUND/);
}

await answers();
const tiny = await load(TINY);
const context = await tiny.openContext({ contextSize: 2048, threads: 2 });
await cancels(context);
await refuses(context);
await embeds();
const stream = context.generate(ENDLESS);
await stream.next();
const read = assert.rejects(async () => {
  while (await stream.next());
}, /CLOSED/);
await Promise.all([context.close(), context.close()]);
await read;
await tiny.close();
say("the core works");

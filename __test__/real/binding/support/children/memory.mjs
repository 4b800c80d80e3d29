// Loads, generates and closes again and again; reports the anonymous memory of the process after each round.
import { readFileSync } from "node:fs";
import { addon, CHAT, EMBEDDING, load, say, tokensOf } from "./common.mjs";

const anonymous = () => {
  const [, kib] = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync("/proc/self/status", "utf8"));
  return Number(kib) * 1024;
};

async function round() {
  const model = await load(CHAT);
  const context = await model.openContext({ contextSize: 1024, threads: 2 });
  await tokensOf(context.generate({ prompt: "Hello", maxTokens: 4, ignoreEos: true }));
  const embedding = await load(EMBEDDING);
  const embedder = await embedding.openEmbedder({ threads: 2 });
  await embedder.embed(["some text", "more"], {}).result();
  const open = anonymous();
  await Promise.all([model.close(), embedding.close()]);
  return open;
}

await addon.backendInfo();
const start = anonymous();
let open = 0;
const rounds = [];
for (let index = 0; index < Number(process.argv[2]); index++) {
  open = Math.max(open, await round());
  rounds.push(anonymous());
}
say(JSON.stringify({ start, open, rounds }));

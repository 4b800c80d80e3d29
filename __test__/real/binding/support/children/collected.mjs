// Loads, generates and embeds without closing anything, then waits until garbage collection has freed all of it.
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { EMBEDDING, ENDLESS, load, openTiny, say, tokensOf } from "./common.mjs";

async function use() {
  const { context } = await openTiny();
  await tokensOf(context.generate({ ...ENDLESS, maxTokens: 20 }));
  await context.generate(ENDLESS).next();
  const embedder = await (await load(EMBEDDING)).openEmbedder({ threads: 1 });
  await embedder.embed(["some text"], {}).result();
}

function left() {
  const names = readdirSync("/proc/self/task").map((id) => {
    try {
      return readFileSync(`/proc/self/task/${id}/comm`, "utf8").trim();
    } catch {
      return "ended";
    }
  });
  const threads = names.filter((name) => /inference|embedding|model-loading|closing/.test(name)).length;
  const models = readFileSync("/proc/self/maps", "utf8")
    .split("\n")
    .filter((line) => line.endsWith(".gguf")).length;
  return threads + models;
}

for (let round = 0; round < 3; round++) await use();
while (left() > 0) {
  globalThis.gc();
  await sleep(10);
}
say("nothing is left");

// Child process: text, embeddings and another text model in turn, as agents ask for them; one line of JSON on stdout.
import { builtParts } from "./built.mjs";

const [large, small, embedding, rounds] = process.argv.slice(2);
const { Engine, hardwareFacts, memoryArbiter } = await builtParts("public/engine", "public/memory");

const engine = Engine.create({ idleUnloadMs: 0 });
const threads = 2;
const question = { prompt: "The capital of France is", temperature: 0, maxTokens: 8 };
const write = async (path) => {
  const generation = await engine.generate({ kind: "text", path, context: { threads } }, question);
  return (await generation.result).text;
};
const vector = async () => {
  const { vectors } = await engine.embed({ kind: "embedding", path: embedding, embedder: { threads } }, [
    "bread",
    "butter",
  ]);
  return vectors[0].length;
};

const { memoryTotal } = await hardwareFacts();
const answers = [];
let highest = 0;
for (let round = 0; round < Number(rounds); round++) {
  for (const work of [() => write(large), vector, () => write(small), vector]) {
    answers.push(await work());
    highest = Math.max(highest, process.memoryUsage.rss());
    process.stderr.write(
      `  ${memoryArbiter()
        .snapshot()
        .entries.map(({ label, bytes }) => `${label} ${(bytes / 2 ** 20).toFixed(0)} MiB`)
        .join(", ")}\n`,
    );
  }
}
const { unloads, events } = memoryArbiter().snapshot();
await engine.close();
console.log(JSON.stringify({ memoryTotal, answers, unloads, events, highest }));

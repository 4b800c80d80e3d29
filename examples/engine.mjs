// The engine without an agent: load a model, stream, stop, embed.
//   LOCAL_LARGE_MODEL=/path/to/chat.gguf LOCAL_EMBEDDING_MODEL=/path/to/embedding.gguf node examples/engine.mjs
import { LocalModel } from "@elizaos/plugin-local-inference/engine";

const { LOCAL_LARGE_MODEL: chatFile, LOCAL_EMBEDDING_MODEL: embeddingFile } = process.env;
if (!chatFile || !embeddingFile) throw new Error("set LOCAL_LARGE_MODEL and LOCAL_EMBEDDING_MODEL");

const chat = await LocalModel.load(chatFile, { context: { contextSize: 2048 } });

// A generation is an async iterable of pieces and, once it is over, a result with measurements.
const messages = [
  { role: "system", content: "You answer questions about the world in one full sentence." },
  { role: "user", content: "What is the capital of France?" },
];
const answer = chat.generate({ messages, maxTokens: 48, temperature: 0 });
for await (const piece of answer) process.stdout.write(piece.text);
const { usage, finishReason } = await answer.result;
console.log(
  `\n${usage.completionTokens} tokens, ${usage.decodeTokensPerSecond.toFixed(0)} per second: ${finishReason}`,
);

// Leaving the loop stops the model.
const story = chat.generate({ prompt: "Once upon a time", maxTokens: 500 });
for await (const _ of story) if (story.tokens >= 8) break;
console.log(`stopped by leaving the loop: ${(await story.result).finishReason}`);

// So does an AbortSignal, also while the prompt is still being read.
const controller = new AbortController();
const poem = chat.generate({ prompt: "A poem about rain:\n", maxTokens: 500 }, { signal: controller.signal });
controller.abort();
console.log(`stopped by a signal: ${await poem.result.catch((error) => error.code)}`);
await chat.close();

// Calls made at the same time share a batch.
const embeddings = await LocalModel.load(embeddingFile);
const embedder = await embeddings.createEmbedder();
const texts = ["I baked fresh bread.", "The food smells delicious.", "The stock market fell."];
const [bread, food, market] = await Promise.all(
  texts.map(async (text) => (await embedder.embed([text])).vectors[0]),
);
const similarity = (a, b) => a.reduce((sum, value, index) => sum + value * b[index], 0).toFixed(2);
console.log(`bread and food ${similarity(bread, food)}, bread and stock market ${similarity(bread, market)}`);
await embeddings.close();

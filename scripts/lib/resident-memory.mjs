// Child process: loads a model, opens a context, reads a prompt and answers; sends what memory that took to its parent.
import { readFileSync } from "node:fs";
import { fromRoot } from "./paths.mjs";

const [path, settings] = process.argv.slice(2);
const { contextSize, threads } = JSON.parse(settings);

/** Resident memory of this process in bytes: its own and that of mapped files. */
function resident() {
  const status = readFileSync("/proc/self/status", "utf8");
  const field = (name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) * 1024;
  return field("RssAnon") + field("RssFile");
}

/** Buffers that llama.cpp reported since the last call: name and bytes. */
function buffers(addon, kind) {
  const report = new RegExp(`(\\S+)\\s+${kind} buffer size =\\s+([\\d.]+) MiB`);
  return addon.takeLogs().flatMap(({ message }) => {
    const match = report.exec(message);
    return match === null ? [] : [{ name: match[1], bytes: Number(match[2]) * 2 ** 20 }];
  });
}

const sum = (found) => found.reduce((all, { bytes }) => all + bytes, 0);

const { LocalModel, backendInfo } = await import(fromRoot("dist/index.js"));
await backendInfo();
const addon = await import(fromRoot("index.js"));
addon.setLogLevel("info");
const before = resident();
const model = await LocalModel.load(path, {});
// Weights that were copied into another layout; the pages of the file behind them are not needed any more.
const copied = sum(buffers(addon, "model").filter(({ name }) => !name.endsWith("_Mapped")));
const context = await model.createContext({ contextSize, threads });
const kvReported = sum(buffers(addon, "KV"));
const promptTokens = Uint32Array.from({ length: 600 }, (_, index) => 100 + (index % 500));
const text = await model.detokenize(promptTokens);
await context.generate({ prompt: text, maxTokens: 4, temperature: 0, ignoreEos: true }).result;
const { kvTypeK, kvTypeV } = context.info;
const measured = resident() - before - copied;
await model.close();
process.send({ measured, kvTypeK, kvTypeV, kvReported }, () => process.exit(0));

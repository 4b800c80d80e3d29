// Generates in a worker thread and reports how far it is.
import { parentPort, workerData } from "node:worker_threads";
import { ENDLESS, openTiny } from "./common.mjs";

const { model, context } = await openTiny();
const stream = context.generate({ ...ENDLESS, maxTokens: workerData.maxTokens });
let tokens = 0;
for (let chunk = await stream.next(); chunk !== null; chunk = await stream.next()) {
  tokens += chunk.tokens;
  if (tokens >= workerData.reportAt) parentPort.postMessage(tokens);
  if (workerData.exitAt !== undefined && tokens >= workerData.exitAt) process.exit(9);
}
await model.close();

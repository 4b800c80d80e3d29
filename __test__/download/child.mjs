// Downloads one file in a process of its own, so that a test can kill it.
import { downloadFile } from "../../dist/download/download.js";
import { Http } from "../../dist/download/http.js";

const { url, destination, source, bytes, sha256, connections } = JSON.parse(process.argv[2] ?? "{}");
const http = new Http({ baseUrl: url, environment: {} });
const refusal = (answer) => new Error(`status ${answer.status}`);
const file = { url: new URL(url), destination, source, bytes, sha256, refusal };
const result = await downloadFile(http, file, {
  connections,
  segmentBytes: 32 * 1024,
  reserveBytes: 0,
  retry: { attempts: 3, baseDelayMs: 5, maxDelayMs: 20 },
});
process.stdout.write(JSON.stringify(result));

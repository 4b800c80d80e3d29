// Downloads one file in a process of its own, so that a test can kill it. It waits to be told which.
import { downloadFile } from "../../../ts/download/download.js";
import { Http } from "../../../ts/download/http.js";

/** What the test says. */
export interface Order {
  readonly url: string;
  readonly destination: string;
  readonly source: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly connections: number;
}

async function download({ url, connections, ...file }: Order): Promise<void> {
  const http = new Http({ baseUrl: url, environment: {} });
  const refusal = ({ status }: { status: number }) => new Error(`status ${status}`);
  await downloadFile(
    http,
    { ...file, url: new URL(url), refusal },
    {
      connections,
      segmentBytes: 32 * 1024,
      reserveBytes: 0,
      retry: { attempts: 3, baseDelayMs: 5, maxDelayMs: 20 },
    },
  );
}

// Loaded with the first request otherwise.
await import("undici");

process.once("message", (order: Order) => {
  void download(order).then(
    () => process.exit(0),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
// An orphan has nobody to download for.
process.once("disconnect", () => process.exit(1));
process.send?.("ready");

import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type DownloadOptions, downloadFile, type FileProgress } from "../../ts/download/download.js";
import { Http, type HttpOptions } from "../../ts/download/http.js";
import { Hub } from "../../ts/download/hub.js";
import { COMMIT, pseudoGguf, sha256, startHub, type TestHub } from "../helpers/hub-server.js";

const KB = 1024;
const content = pseudoGguf(300 * KB, 7);
const quick = {
  segmentBytes: 64 * KB,
  reserveBytes: 0,
  retry: { attempts: 4, baseDelayMs: 1, maxDelayMs: 20 },
};

let hub: TestHub;
let folder: string;
beforeEach(async () => {
  hub = await startHub();
  hub.put("own/repo", "m.gguf", content);
  folder = await mkdtemp(join(tmpdir(), "download-"));
});
afterEach(async () => {
  await hub.close();
  await rm(folder, { recursive: true, force: true });
});

interface Extra {
  http?: Partial<HttpOptions>;
  sha256?: string | undefined;
  bytes?: number;
}

const target = () => join(folder, "m.gguf");

function fetchIt(options: DownloadOptions = {}, extra: Extra = {}) {
  const http = new Http({ baseUrl: hub.url, stallMs: 5_000, environment: {}, ...extra.http });
  const api = new Hub(http);
  const reference = { repository: "own/repo", revision: "main", file: "m.gguf" };
  const digest = "sha256" in extra ? extra.sha256 : sha256(content);
  const file = {
    url: api.fileUrl("own/repo", COMMIT, "m.gguf"),
    destination: target(),
    source: `own/repo@${COMMIT}/m.gguf`,
    bytes: extra.bytes ?? content.length,
    ...(digest === undefined ? {} : { sha256: digest }),
    refusal: (answer: Parameters<Hub["refusal"]>[0]) => api.refusal(answer, reference),
  };
  return downloadFile(http, file, { ...quick, ...options });
}

function expectComplete() {
  expect(readFileSync(target()).equals(content)).toBe(true);
  expect(readdirSync(folder)).toEqual(["m.gguf"]);
}

describe("a download", () => {
  it("arrives over several connections, verified, with nothing left beside it", async () => {
    const result = await fetchIt({ connections: 3 });
    expect(result).toMatchObject({
      bytes: content.length,
      sha256: sha256(content),
      verified: true,
      resumedFrom: 0,
    });
    expectComplete();
    expect(
      hub
        .fetched()
        .map(({ range }) => range)
        .sort(),
    ).toHaveLength(5);
    expect(hub.sent).toBe(content.length);
  });

  it("is not repeated when the file is there", async () => {
    await fetchIt();
    const before = hub.requests.length;
    const again = await fetchIt();
    expect(again).toMatchObject({ resumedFrom: content.length, verified: true });
    expect(hub.requests.length).toBe(before);
  });

  it("replaces a file of the same size with other bytes", async () => {
    writeFileSync(target(), Buffer.alloc(content.length));
    await fetchIt();
    expectComplete();
  });

  it("of an empty file makes an empty file", async () => {
    hub.put("own/repo", "m.gguf", Buffer.alloc(0));
    await fetchIt({}, { bytes: 0, sha256: sha256(Buffer.alloc(0)) });
    expect(readFileSync(target()).length).toBe(0);
  });

  it("without a known SHA-256 says that it is not verified", async () => {
    const result = await fetchIt({}, { sha256: undefined });
    expect(result).toMatchObject({ verified: false, sha256: sha256(content) });
  });

  it("tells how far it is, never backwards", async () => {
    hub.pace = { bytes: 16 * KB, milliseconds: 30 };
    const seen: FileProgress[] = [];
    await fetchIt({ connections: 2, onProgress: (progress) => seen.push(progress) });
    expect(seen.length).toBeGreaterThan(2);
    expect(seen.every(({ totalBytes }) => totalBytes === content.length)).toBe(true);
    const received = seen.map(({ receivedBytes }) => receivedBytes);
    expect(received).toEqual([...received].sort((a, b) => a - b));
    expect(received.at(-1)).toBe(content.length);
    expect(seen.some(({ bytesPerSecond }) => bytesPerSecond > 0)).toBe(true);
  });
});

describe("a bad connection", () => {
  it("that breaks at random bytes costs only what was on its way", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 60 * KB }), { minLength: 1, maxLength: 12 }),
        async (cuts) => {
          await rm(target(), { force: true });
          hub.requests.length = 0;
          hub.fault = (_, number) => (cuts[number] === undefined ? undefined : { dropAfter: cuts[number] });
          await fetchIt({ connections: 2 });
          expectComplete();
        },
      ),
      { numRuns: 25 },
    );
  });

  it("continues with the byte that is missing, and only if the file is the same", async () => {
    hub.fault = (_, number) => (number === 0 ? { dropAfter: 1000 } : undefined);
    await fetchIt({ connections: 1, segmentBytes: content.length });
    const [, second] = hub.fetched();
    expect(second).toMatchObject({
      range: `bytes=1000-${content.length - 1}`,
      ifRange: `"${sha256(content)}"`,
    });
    expectComplete();
  });

  it("that falls silent is given up and continued", async () => {
    hub.fault = (_, number) => (number === 0 ? { stallAfter: 10 * KB } : undefined);
    await fetchIt({ connections: 1 }, { http: { stallMs: 150 } });
    expectComplete();
  });

  it("that never delivers ends with an error that says so, and what came is kept", async () => {
    hub.fault = (_, number) => (number === 0 ? { dropAfter: 40 * KB } : { dropAfter: 0 });
    await expect(fetchIt({ connections: 1 })).rejects.toMatchObject({ code: "DOWNLOAD_FAILED" });
    expect(existsSync(target())).toBe(false);
    hub.fault = () => undefined;
    const result = await fetchIt();
    expect(result.resumedFrom).toBeGreaterThan(0);
    expectComplete();
  });

  it.each([429, 503, 500, 408])("status %i is tried again", async (status) => {
    hub.fault = (_, number) => (number < 2 ? { status, headers: { "retry-after": "0" } } : undefined);
    await fetchIt();
    expectComplete();
  });
});

describe("a server that does not keep its word", () => {
  it("sends the whole file in answer to a range: nothing is appended", async () => {
    hub.fault = (_, number) => (number === 0 ? { dropAfter: 50 * KB } : { ignoreRange: true });
    await fetchIt({ connections: 1 });
    expectComplete();
  });

  it("knows no ranges at all and breaks off twice", async () => {
    hub.fault = (_, number) => ({ ignoreRange: true, ...(number < 3 ? { dropAfter: 100 * KB } : {}) });
    await fetchIt({ connections: 4 });
    expectComplete();
  });

  it("knows no ranges and always breaks off: the error says why it cannot work", async () => {
    hub.fault = () => ({ ignoreRange: true, dropAfter: 100 * KB });
    await expect(fetchIt()).rejects.toMatchObject({
      code: "DOWNLOAD_FAILED",
      message: expect.stringContaining("does not continue a download"),
    });
  });

  it("has another version of the file halfway: the old bytes are dropped", async () => {
    const other = pseudoGguf(content.length, 8);
    hub.put("own/repo", "m.gguf", other);
    hub.fault = (_, number) => (number === 2 ? void hub.put("own/repo", "m.gguf", content) : undefined);
    await fetchIt({ connections: 1 });
    expectComplete();
  });

  it("changes the tag with every answer: it ends, and does not run for ever", async () => {
    hub.fault = (_, number) => ({ etag: `"${number}"` });
    await expect(fetchIt()).rejects.toMatchObject({ code: "DOWNLOAD_FAILED" });
    expect(readdirSync(folder)).toEqual([]);
  });

  it("states another size than the hub's description", async () => {
    hub.fault = () => ({ lieAboutLength: 5 });
    await expect(fetchIt()).rejects.toMatchObject({
      code: "DOWNLOAD_FAILED",
      message: expect.stringContaining(`${content.length + 5} bytes instead of ${content.length}`),
    });
  });

  it("sends more bytes than asked for: they are not written", async () => {
    hub.fault = () => ({ surplus: 5 * KB });
    await fetchIt({ connections: 2 });
    expectComplete();
  });

  it("sends wrong bytes once: they are fetched again", async () => {
    hub.fault = (_, number) => (number === 1 ? { wrongBytes: true } : undefined);
    await fetchIt({ connections: 1 });
    expectComplete();
  });

  it("always sends wrong bytes: both hashes are named and nothing is kept", async () => {
    hub.fault = () => ({ wrongBytes: true });
    await expect(fetchIt()).rejects.toMatchObject({
      code: "CHECKSUM_MISMATCH",
      message: expect.stringContaining(sha256(content)),
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  it("has a shorter file than what is already here", async () => {
    const short = pseudoGguf(90 * KB, 3);
    hub.fault = (_, number) => (number === 0 ? { dropAfter: 60 * KB } : { status: 416 });
    await expect(fetchIt({ connections: 1 })).rejects.toMatchObject({ code: "DOWNLOAD_FAILED" });
    hub.fault = () => undefined;
    hub.put("own/repo", "m.gguf", short);
    await fetchIt({}, { bytes: short.length, sha256: sha256(short) });
    expect(readFileSync(target()).equals(short)).toBe(true);
  });
});

describe("cancelling", () => {
  it("stops at once, keeps what came and continues later", async () => {
    hub.pace = { bytes: 4 * KB, milliseconds: 5 };
    const controller = new AbortController();
    const running = fetchIt({
      signal: controller.signal,
      connections: 1,
      onProgress: ({ receivedBytes }) => receivedBytes > 30 * KB && controller.abort(),
    });
    await expect(running).rejects.toMatchObject({ name: "AbortError", code: "CANCELLED" });
    expect(readdirSync(folder).sort()).toEqual(["m.gguf.part", "m.gguf.part.json"]);
    hub.pace = undefined;
    const result = await fetchIt();
    expect(result.resumedFrom).toBeGreaterThan(30 * KB);
    expectComplete();
  });

  it("before the start asks for nothing", async () => {
    await expect(fetchIt({ signal: AbortSignal.abort() })).rejects.toMatchObject({ name: "AbortError" });
    expect(hub.requests).toEqual([]);
  });
});

describe("what is on disk already", () => {
  it("of another version is not continued", async () => {
    writeFileSync(`${target()}.part`, Buffer.alloc(100 * KB, 1));
    const received = [[0, 100 * KB]];
    const note = { version: 1, source: "own/repo@other/m.gguf", bytes: content.length, received };
    writeFileSync(`${target()}.part.json`, JSON.stringify(note));
    const result = await fetchIt();
    expect(result.resumedFrom).toBe(0);
    expectComplete();
  });

  it.each(["", "{", '{"version":2}', "null", '{"version":1,"received":[[9,1]]}'])(
    "with the note %j starts anew",
    async (note) => {
      writeFileSync(`${target()}.part`, Buffer.alloc(100 * KB, 1));
      writeFileSync(`${target()}.part.json`, note);
      await fetchIt();
      expectComplete();
    },
  );

  it("that claims more bytes than the file has is not believed", async () => {
    const identity = { source: `own/repo@${COMMIT}/m.gguf`, bytes: content.length, sha256: sha256(content) };
    writeFileSync(`${target()}.part`, content.subarray(0, 10 * KB));
    writeFileSync(
      `${target()}.part.json`,
      JSON.stringify({ version: 1, ...identity, received: [[0, 200 * KB]] }),
    );
    const result = await fetchIt();
    expect(result.resumedFrom).toBe(10 * KB);
    expectComplete();
  });

  it("is never written through a link that someone put there", async () => {
    const victim = join(folder, "victim");
    writeFileSync(victim, "precious");
    symlinkSync(victim, `${target()}.part`);
    await expect(fetchIt()).rejects.toThrow();
    expect(readFileSync(victim, "utf8")).toBe("precious");
  });
});

import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type DownloadOptions, downloadFile } from "../../ts/download/download.js";
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

describe("secrets", () => {
  const token = "hf_verysecrettoken123";

  it("the token goes to the hub and not to where it redirects", async () => {
    const elsewhere = await startHub();
    elsewhere.put("own/repo", "m.gguf", content);
    const path = `/own/repo/resolve/${COMMIT}/m.gguf?Signature=abc`;
    hub.fault = () => ({ redirect: `http://localhost:${elsewhere.port}${path}` });
    await fetchIt({ connections: 2 }, { http: { token } });
    expectComplete();
    expect(hub.fetched().every(({ authorization }) => authorization === `Bearer ${token}`)).toBe(true);
    expect(elsewhere.requests.length).toBeGreaterThan(0);
    expect(elsewhere.requests.every(({ authorization }) => authorization === undefined)).toBe(true);
    await elsewhere.close();
  });

  it("a signed address that expires is asked for again", async () => {
    const elsewhere = await startHub();
    elsewhere.put("own/repo", "m.gguf", content);
    elsewhere.fault = (_, number) => (number === 2 ? { status: 403 } : undefined);
    hub.fault = () => ({ redirect: `${elsewhere.url}/own/repo/resolve/${COMMIT}/m.gguf?Signature=abc` });
    await fetchIt({ connections: 1 });
    expectComplete();
    expect(hub.fetched()).toHaveLength(2);
    await elsewhere.close();
  });

  it("are in no error, whatever fails", async () => {
    const failures: (() => Promise<unknown>)[] = [
      async () => {
        hub.fault = () => ({
          redirect: "http://127.0.0.1:1/file?Signature=topsecret&token=hf_verysecrettoken123",
        });
        return fetchIt({}, { http: { token } });
      },
      async () => {
        hub.fault = () => ({ status: 403 });
        return fetchIt({}, { http: { token } });
      },
      () =>
        fetchIt({}, { http: { token, environment: { HTTP_PROXY: "http://user:topsecret@127.0.0.1:1" } } }),
      async () => {
        hub.fault = () => ({ redirect: "ftp://user:topsecret@example.org/x" });
        return fetchIt({}, { http: { token } });
      },
    ];
    for (const fail of failures) {
      const error = await fail().then(
        () => undefined,
        (reason: Error) => reason,
      );
      expect(error).toBeInstanceOf(Error);
      expect(inspect(error, { depth: 9 })).not.toMatch(/topsecret|verysecret/);
    }
  });

  it("a redirect without end is an error", async () => {
    hub.fault = ({ path }) => ({ redirect: `${hub.url}${path}` });
    await expect(fetchIt()).rejects.toMatchObject({
      code: "DOWNLOAD_FAILED",
      message: expect.stringContaining("more than 5 times"),
    });
  });
});

describe("being offline", () => {
  it("sends nothing", async () => {
    await expect(fetchIt({}, { http: { offline: true } })).rejects.toMatchObject({ code: "OFFLINE" });
    expect(hub.requests).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe("access", () => {
  it.each([401, 403])("status %i names the page where the licence is accepted", async (status) => {
    hub.fault = () => ({ status });
    await expect(fetchIt()).rejects.toMatchObject({
      code: "ACCESS_DENIED",
      hint: expect.stringContaining(`${hub.url}/own/repo, accept the licence`),
    });
    expect(hub.fetched()).toHaveLength(1);
  });
});

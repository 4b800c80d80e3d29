import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect } from "vitest";
import { type DownloadedFile, type DownloadOptions, downloadFile } from "../../ts/download/download.js";
import { Http, type HttpOptions } from "../../ts/download/http.js";
import { Hub } from "../../ts/download/hub.js";
import { COMMIT, pseudoGguf, sha256, startHub, type TestHub } from "./hub-server.js";

const KB = 1024;
const quick = {
  segmentBytes: 64 * KB,
  reserveBytes: 0,
  retry: { attempts: 4, baseDelayMs: 1, maxDelayMs: 20 },
};

export interface Extra {
  http?: Partial<HttpOptions>;
  sha256?: string | undefined;
  bytes?: number;
}

export interface DownloadFixture {
  hub: TestHub;
  folder: string;
  /** What the hub has. */
  readonly content: Buffer;
  target(): string;
  fetchIt(options?: DownloadOptions, extra?: Extra): Promise<DownloadedFile>;
  /** The file is there, and nothing beside it. */
  expectComplete(): void;
}

/** A hub with one file and an empty folder for each test of a test file. */
export function downloadFixture(): DownloadFixture {
  const content = pseudoGguf(300 * KB, 7);
  const fixture: DownloadFixture = {
    hub: undefined as unknown as TestHub,
    folder: "",
    content,
    target: () => join(fixture.folder, "m.gguf"),
    fetchIt: (options = {}, extra = {}) => fetchFrom(fixture, options, extra),
    expectComplete: () => {
      expect(readFileSync(fixture.target()).equals(content)).toBe(true);
      expect(readdirSync(fixture.folder)).toEqual(["m.gguf"]);
    },
  };
  beforeEach(async () => {
    fixture.hub = await startHub();
    fixture.hub.put("own/repo", "m.gguf", content);
    fixture.folder = await mkdtemp(join(tmpdir(), "download-"));
  });
  afterEach(async () => {
    await fixture.hub.close();
    await rm(fixture.folder, { recursive: true, force: true });
  });
  return fixture;
}

function fetchFrom({ hub, content, target }: DownloadFixture, options: DownloadOptions, extra: Extra) {
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

import { mkdtemp, realpath, rm } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { setNativeForTests } from "../../../ts/native/addon.js";
import { isLocal } from "../../../ts/routes/http.js";
import { startHub, type TestHub } from "../../helpers/hub-server.js";
import { type RouteServer, serveRoutes } from "../../helpers/route-server.js";
import { startAgent } from "../../helpers/runtime.js";

const cleanups: (() => Promise<void>)[] = [];
let hub: TestHub;
let server: RouteServer;

beforeEach(async () => {
  setNativeForTests(undefined);
  hub = await startHub();
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
  await hub.close();
});

async function start(settings: Record<string, string> = {}): Promise<void> {
  const models = await realpath(await mkdtemp(join(tmpdir(), "routes-")));
  const { runtime } = await startAgent({
    settings: {
      MODELS_DIR: models,
      ELIZA_HF_BASE_URL: hub.url,
      LOCAL_USE_OTHER_MODELS: "false",
      ...settings,
    },
  });
  server = await serveRoutes(runtime);
  cleanups.push(
    () => server.close(),
    () => runtime.stop(),
    () => rm(models, { recursive: true, force: true }),
  );
}

describe("who may change something", () => {
  const from = (facts: Record<string, unknown>, headers: Record<string, string> = {}) =>
    isLocal({
      headers: { host: "localhost:3000", ...headers },
      socket: { remoteAddress: "127.0.0.1" },
      ...facts,
    } as never);

  it.each([
    ["this machine, v4", {}, {}, true],
    ["this machine, v6", { socket: { remoteAddress: "::1" } }, { host: "[::1]:3000" }, true],
    ["this machine, v4 in v6", { socket: { remoteAddress: "::ffff:127.0.0.1" } }, {}, true],
    ["its own page", {}, { origin: "http://localhost:3000" }, true],
    ["another machine", { socket: { remoteAddress: "192.168.1.7" } }, {}, false],
    ["a proxy on this machine", {}, { "x-forwarded-for": "127.0.0.1" }, false],
    ["a page of another site", {}, { origin: "https://evil.example" }, false],
    ["a sandboxed page", {}, { origin: "null" }, false],
    ["a name that was made to resolve to this machine", {}, { host: "evil.example:3000" }, false],
    ["a form of another site", {}, { "sec-fetch-site": "cross-site" }, false],
    ["nobody knows whom", { socket: undefined }, { host: "" }, false],
  ])("%s", (_, facts, headers, expected) => {
    expect(from(facts, headers)).toBe(expected);
  });

  /** `fetch` does not let a program choose these headers. */
  function raw(headers: Record<string, string>): Promise<number> {
    return new Promise((resolve, reject) => {
      const options = { method: "POST", headers: { "content-type": "application/json", ...headers } };
      const request = httpRequest(`${server.url}/local-inference/downloads`, options, (response) => {
        response.resume().on("end", () => resolve(response.statusCode ?? 0));
      });
      request.on("error", reject).end(JSON.stringify({ model: "hf:own/repo/tiny.gguf" }));
    });
  }

  it("others are refused before anything happens", async () => {
    await start();
    for (const headers of [
      { origin: "https://evil.example" },
      { host: "evil.example" },
      { forwarded: "for=1.2.3.4" },
    ]) {
      expect(await raw(headers)).toBe(403);
    }
    expect(hub.requests).toEqual([]);
  });

  it("others are served when the setting says so", async () => {
    await start({ LOCAL_ROUTES_REMOTE: "true" });
    expect(await raw({ forwarded: "for=1.2.3.4" })).toBe(202);
  });
});

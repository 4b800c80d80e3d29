import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { setNativeForTests } from "../../../ts/native/addon.js";
import { routes } from "../../../ts/routes/index.js";
import { pseudoGguf, startHub, type TestHub } from "../../helpers/hub-server.js";
import { modelPath } from "../../helpers/models.js";
import { type RouteServer, serveRoutes } from "../../helpers/route-server.js";
import { startAgent, type TestAgent } from "../../helpers/runtime.js";

const tiny = readFileSync(modelPath("tiny"));

let hub: TestHub;
let models: string;
let agent: TestAgent;
let server: RouteServer;

async function start(settings: Record<string, string> = {}): Promise<void> {
  agent = await startAgent({
    settings: {
      MODELS_DIR: models,
      ELIZA_HF_BASE_URL: hub.url,
      LOCAL_USE_OTHER_MODELS: "false",
      ...settings,
    },
  });
  server = await serveRoutes(agent.runtime);
}

beforeEach(async () => {
  setNativeForTests(undefined);
  hub = await startHub();
  hub.put("own/repo", "tiny.gguf", tiny);
  models = await realpath(await mkdtemp(join(tmpdir(), "routes-")));
});
afterEach(async () => {
  await server.close();
  await agent.runtime.stop();
  await hub.close();
  await rm(models, { recursive: true, force: true });
});

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.url}/local-inference${path}`, {
    method,
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects.
  return { status: response.status, body: (await response.json()) as Record<string, any> };
}

async function ended(id: string) {
  for (;;) {
    const { body } = await call("GET", `/downloads/${id}`);
    if (["completed", "failed", "cancelled"].includes(body.state)) return body as Record<string, unknown>;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

it("every route has a method, a path and a handler, and none hides another", async () => {
  await start();
  const keys = routes.map(({ type, path }) => `${type} ${path}`);
  expect(new Set(keys).size).toBe(keys.length);
  expect(keys.indexOf("GET /downloads/stream")).toBeLessThan(keys.indexOf("GET /downloads/:id"));
  for (const route of routes) expect(route.handler).toBeTypeOf("function");
});

describe("reading", () => {
  it("tells what the machine is and what it computes on", async () => {
    await start();
    const { status, body } = await call("GET", "/hardware");
    expect(status).toBe(200);
    expect(body).toMatchObject({
      facts: { physicalCores: expect.any(Number), memoryTotal: expect.any(Number) },
      backend: { devices: expect.arrayContaining([expect.objectContaining({ kind: "cpu" })]) },
      power: expect.any(Object),
      reason: expect.any(String),
    });
  });

  it("lists the catalog with what fits here, and a recommendation", async () => {
    await start();
    const { body } = await call("GET", "/catalog");
    const lines = body.models as { id: string; fit?: { verdict: string } }[];
    expect(lines.map(({ id }) => id)).toContain("eliza-1-2b");
    expect(lines.every(({ fit }) => ["fits", "tight", "no"].includes(fit?.verdict ?? ""))).toBe(true);
    expect(await call("GET", "/recommendation")).toMatchObject({ status: 200, body: { deviceClass: "cpu" } });
  });

  it("shows numbers of a request after one was made", async () => {
    writeFileSync(join(models, "tiny.gguf"), tiny);
    await start({ LOCAL_LARGE_MODEL: "tiny" });
    await agent.runtime.useModel("TEXT_COMPLETION" as never, { prompt: "Hi", maxTokens: 3 } as never);
    const { body } = await call("GET", "/metrics");
    expect(body).toMatchObject({
      activeRequests: 0,
      modelsInMemory: 1,
      memory: {
        entries: [{ label: "tiny.gguf", role: "text", state: "ready", bytes: expect.any(Number) }],
        pressure: { level: expect.any(String), reason: expect.any(String) },
        unloads: { room: expect.any(Number), pressure: expect.any(Number) },
      },
      contexts: [{ model: "tiny.gguf", started: 1, running: 0, contextSize: expect.any(Number) }],
      types: { TEXT_COMPLETION: { requests: 1, completionTokens: expect.any(Number) } },
    });
  });

  it("never shows the token", async () => {
    await start({ HF_TOKEN: "hf_topsecrettoken" });
    for (const path of ["/hardware", "/catalog", "/installed", "/downloads", "/metrics", "/recommendation"]) {
      expect(JSON.stringify((await call("GET", path)).body)).not.toContain("topsecret");
    }
  });
});

describe("a download", () => {
  it("is started, followed, listed as installed, verified and removed", async () => {
    await start();
    const started = await call("POST", "/downloads", { model: "hf:own/repo/tiny.gguf" });
    expect(started).toMatchObject({ status: 202, body: { state: "queued", model: "hf:own/repo/tiny.gguf" } });
    expect(await ended(started.body.id)).toMatchObject({ state: "completed", receivedBytes: tiny.length });
    const { body } = await call("GET", "/installed");
    expect(body.models).toMatchObject([{ id: "hf:own/repo/tiny.gguf", owned: true, bytes: tiny.length }]);
    const id = "hf:own/repo/tiny.gguf";
    expect(await call("POST", "/installed/verify", { id })).toMatchObject({ body: { state: "ok" } });
    const path = join(models, "own/repo/tiny.gguf");
    expect(existsSync(path)).toBe(true);
    expect(await call("DELETE", `/installed?id=${encodeURIComponent(id)}`)).toMatchObject({
      status: 200,
      body: { removed: id, freedBytes: tiny.length },
    });
    expect(existsSync(path)).toBe(false);
    expect((await call("DELETE", "/installed", { id })).status).toBe(404);
  });

  it("is cancelled", async () => {
    hub.put("own/big", "m.gguf", pseudoGguf(400 * 1024));
    hub.pace = { bytes: 4096, milliseconds: 10 };
    await start();
    const { body } = await call("POST", "/downloads", { model: "hf:own/big/m.gguf" });
    await expect.poll(() => hub.sent).toBeGreaterThan(0);
    expect(await call("DELETE", `/downloads/${body.id}`)).toMatchObject({
      status: 200,
      body: { cancelled: true },
    });
    expect(await ended(body.id)).toMatchObject({ state: "cancelled" });
    expect((await call("DELETE", "/downloads/download-99")).status).toBe(404);
  });

  it("that fails says why", async () => {
    await start();
    const { body } = await call("POST", "/downloads", { model: "hf:own/none/x.gguf" });
    expect(await ended(body.id)).toMatchObject({ state: "failed", error: { code: "MODEL_NOT_FOUND" } });
  });

  it("is refused while the agent is offline", async () => {
    await start({ LOCAL_INFERENCE_OFFLINE: "true" });
    expect(await call("POST", "/downloads", { model: "hf:own/repo/tiny.gguf" })).toMatchObject({
      status: 503,
      body: { error: { code: "OFFLINE" } },
    });
    expect(hub.requests).toEqual([]);
  });

  it("is told as server-sent events, from the start to the end", async () => {
    await start();
    const abort = new AbortController();
    const response = await fetch(`${server.url}/local-inference/downloads/stream`, { signal: abort.signal });
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    await call("POST", "/downloads", { model: "hf:own/repo/tiny.gguf" });
    const states: string[] = [];
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true });
      const events = text.split("\n\n");
      text = events.pop() ?? "";
      for (const event of events) {
        const data = /^event: download\ndata: (.*)$/.exec(event)?.[1];
        if (data !== undefined) states.push((JSON.parse(data) as { state: string }).state);
      }
      if (states.includes("completed")) break;
    }
    abort.abort();
    expect(states[0]).toBe("queued");
    expect(states.at(-1)).toBe("completed");
  });
});

describe("a body that is not what it should be", () => {
  it.each([
    ["POST", "/downloads", {}],
    ["POST", "/downloads", { model: 5 }],
    ["POST", "/downloads", { model: "hf:own/repo/x.gguf", to: "/etc" }],
    ["POST", "/downloads", { model: "hf:own/repo/x.gguf", companions: ["everything"] }],
    ["POST", "/downloads", { model: "no-such-model" }],
    ["POST", "/downloads", { model: "hf:../../x" }],
    ["POST", "/downloads", []],
    ["POST", "/installed/verify", { id: "" }],
    ["DELETE", "/installed", { id: ["a"] }],
    ["POST", "/active", { model: "tiny", roles: [] }],
    ["POST", "/active", { model: "tiny", roles: ["huge"] }],
    ["DELETE", "/active", { role: "huge" }],
  ])("%s %s %j is refused with the reason", async (method, path, body) => {
    await start();
    const answer = await call(method, path, body);
    expect(answer).toMatchObject({ status: 400, body: { error: { code: "INVALID_INPUT" } } });
    expect(hub.requests).toEqual([]);
  });
});

describe("the active model", () => {
  it("is switched, used, remembered for the next start, and unloaded", async () => {
    writeFileSync(join(models, "tiny.gguf"), tiny);
    await start();
    expect((await call("GET", "/active")).body.roles).toMatchObject([{ status: "idle" }, {}, {}]);
    const switched = await call("POST", "/active", { model: "tiny", overrides: { contextSize: 512 } });
    expect(switched).toMatchObject({
      status: 200,
      body: { roles: [{ status: "ready" }, { status: "ready" }] },
    });
    const text = await agent.runtime.useModel(
      "TEXT_COMPLETION" as never,
      { prompt: "Hi", maxTokens: 2 } as never,
    );
    expect(text).toBeTypeOf("string");
    expect((await call("GET", "/active")).body.chosen).toEqual({ small: "tiny", large: "tiny" });
    const { body } = await call("DELETE", "/active", {});
    expect(body.roles.map(({ status }: { status: string }) => status)).toEqual(["idle", "idle", "idle"]);
  });

  it.each([
    [{ model: "tiny", overrides: { contextSize: 3 } }, 400, "INVALID_INPUT"],
    [{ model: "tiny", overrides: { draftMax: 3 } }, 400, "INVALID_INPUT"],
    [{ model: "nothing-of-this-name" }, 404, "MODEL_NOT_FOUND"],
  ])("%j is refused and nothing changes", async (body, status, code) => {
    writeFileSync(join(models, "tiny.gguf"), tiny);
    await start();
    expect(await call("POST", "/active", body)).toMatchObject({ status, body: { error: { code } } });
    expect((await call("GET", "/active")).body.chosen).toEqual({});
  });
});

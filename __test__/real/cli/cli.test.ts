import { type ChildProcess, spawn } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fromRoot } from "../../../scripts/lib/paths.mjs";
import { SETTINGS } from "../../../ts/settings/settings.js";
import { pseudoGguf, startHub, type TestHub } from "../../helpers/hub-server.js";
import { MODELS, modelPath } from "../../helpers/models.js";

const tiny = readFileSync(modelPath("tiny"));

let hub: TestHub;
let models: string;
beforeEach(async () => {
  hub = await startHub();
  hub.put("own/repo", "tiny.gguf", tiny);
  models = await realpath(await mkdtemp(join(tmpdir(), "cli-")));
});
afterEach(async () => {
  await hub.close();
  await rm(models, { recursive: true, force: true });
});

interface Ended {
  status: number | null;
  out: string;
  err: string;
}

function start(args: readonly string[], environment: Record<string, string> = {}): ChildProcess {
  const inherited = Object.entries(process.env).filter(([name]) => !(name in SETTINGS));
  return spawn(process.execPath, [fromRoot("dist/cli/main.js"), ...args], {
    env: {
      ...Object.fromEntries(inherited),
      HOME: models,
      MODELS_DIR: models,
      ELIZA_HF_BASE_URL: hub.url,
      LOCAL_USE_OTHER_MODELS: "false",
      ...environment,
    },
  });
}

function ended(child: ChildProcess, input = ""): Promise<Ended> {
  let [out, err] = ["", ""];
  child.stdout?.on("data", (chunk: Buffer) => {
    out += chunk;
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    err += chunk;
  });
  child.stdin?.end(input);
  return new Promise((resolve) => child.once("close", (status) => resolve({ status, out, err })));
}

const run = (...args: string[]) => ended(start(args));
const json = (result: Ended) => JSON.parse(result.out);

describe("the command line", () => {
  it("explains itself, and every command", async () => {
    const { status, out } = await run("--help");
    expect(status).toBe(0);
    for (const name of ["models", "pull", "use", "rm", "verify", "inspect", "doctor", "chat", "embed"]) {
      expect(out).toMatch(new RegExp(`^  ${name}\\b`, "m"));
    }
    expect(out).toContain("Exit status:");
    expect((await run("--version")).out).toMatch(/^\d+\.\d+\.\d+/);
  });

  it.each([[["nonsense"]], [["pull"]], [["models", "--bogus"]], [["chat", "x", "-n", "many"]]])(
    "%j is wrong use: status 2 and nothing on stdout",
    async (args) => {
      const { status, out, err } = await run(...args);
      expect(status).toBe(2);
      expect(out).toBe("");
      expect(err).toMatch(/^error: /m);
    },
  );

  it("a bad setting is wrong use, too, and a secret is not repeated", async () => {
    const { status, err } = await ended(
      start(["models"], { LOCAL_CONTEXT_SIZE: "huge", HF_TOKEN: "hf_secret12345" }),
    );
    expect(status).toBe(2);
    expect(err).toContain("LOCAL_CONTEXT_SIZE");
    expect(err).not.toContain("hf_secret");
  });
});

describe("pull, verify, use and rm", () => {
  it("work one after the other, and say what they did", async () => {
    const pulled = await run("pull", "hf:own/repo/tiny.gguf");
    expect(pulled.status).toBe(0);
    expect(pulled.out).toBe(`hf:own/repo/tiny.gguf is installed: ${join(models, "own/repo/tiny.gguf")}\n`);
    expect(pulled.err).toContain("Fetching 1 file, 2.8 MB.");
    const listed = json(await run("models", "--installed", "--json"));
    expect(listed.installed).toMatchObject([{ id: "hf:own/repo/tiny.gguf", origin: "download" }]);
    expect(await run("verify", "tiny")).toMatchObject({
      status: 0,
      out: expect.stringContaining("matches its checksum"),
    });
    expect(await run("use", "hf:own/repo/tiny.gguf")).toMatchObject({
      status: 0,
      out: "large: hf:own/repo/tiny.gguf\n",
    });
    expect(json(await run("use", "--json"))).toEqual({ large: "hf:own/repo/tiny.gguf" });
    const dry = json(await run("rm", "tiny", "--dry-run", "--json"));
    expect(dry).toMatchObject({ freedBytes: tiny.length, removed: false });
    expect(await run("rm", "tiny")).toMatchObject({ status: 2, err: expect.stringContaining("--yes") });
    expect(existsSync(join(models, "own/repo/tiny.gguf"))).toBe(true);
    expect(await run("rm", "tiny", "--yes")).toMatchObject({ status: 0 });
    expect(existsSync(join(models, "own"))).toBe(false);
  });

  it("a pull in a pipe writes plain lines, and with --json one value only", async () => {
    hub.pace = { bytes: 256 * 1024, milliseconds: 20 };
    const plain = await run("pull", "hf:own/repo/tiny.gguf");
    expect(plain.err).toMatch(/^\d+ %, .* of 2\.8 MB/m);
    expect(plain.err).not.toContain("\u001b");
    hub.pace = undefined;
    const result = await run("pull", "hf:own/repo/tiny.gguf", "--json", "--quiet");
    expect(json(result)).toMatchObject({ id: "hf:own/repo/tiny.gguf" });
    expect(result.err).toBe("");
  });

  it("a repository's models are listed, and a plan is shown, without fetching", async () => {
    hub.put("own/repo", "big-00001-of-00002.gguf", pseudoGguf(1000));
    hub.put("own/repo", "big-00002-of-00002.gguf", pseudoGguf(1000));
    const { models: found } = json(await run("pull", "hf:own/repo", "--list", "--json"));
    expect(found).toEqual([
      { file: "tiny.gguf", bytes: tiny.length, parts: 1 },
      { file: "big-00001-of-00002.gguf", bytes: 2000, parts: 2 },
    ]);
    expect(json(await run("pull", "hf:own/repo/tiny.gguf", "--dry-run", "--json"))).toMatchObject({
      bytes: tiny.length,
    });
    expect(hub.fetched()).toEqual([]);
  });

  it("an interrupted pull ends with 130, keeps what came and continues", async () => {
    hub.put("own/big", "m.gguf", pseudoGguf(600 * 1024));
    hub.pace = { bytes: 8192, milliseconds: 15 };
    const child = start(["pull", "hf:own/big/m.gguf"]);
    const result = ended(child);
    await expect.poll(() => hub.sent, { timeout: 60_000 }).toBeGreaterThan(50_000);
    child.kill("SIGINT");
    expect((await result).status).toBe(130);
    expect(existsSync(join(models, "own/big/m.gguf.part"))).toBe(true);
    const before = hub.sent;
    hub.pace = undefined;
    await run("pull", "hf:own/big/m.gguf");
    expect(hub.sent - before).toBeLessThan(580 * 1024);
  });

  it("a damaged file is status 4, an unknown model 3, a closed door 1 with the page to open", async () => {
    await run("pull", "hf:own/repo/tiny.gguf");
    writeFileSync(join(models, "own/repo/tiny.gguf"), Buffer.alloc(tiny.length));
    expect(await run("verify")).toMatchObject({ status: 4, out: expect.stringContaining("is damaged") });
    expect(await run("rm", "nothing", "--yes")).toMatchObject({ status: 3 });
    hub.describe = () => ({ status: 403 });
    const denied = await run("pull", "hf:own/gated/x.gguf", "--json");
    expect(denied.status).toBe(1);
    expect(json(denied).error).toMatchObject({
      code: "ACCESS_DENIED",
      hint: expect.stringContaining(`${hub.url}/own/gated`),
    });
  });

  it("--offline asks nothing", async () => {
    const { status, err } = await run("pull", "hf:own/repo/tiny.gguf", "--offline");
    expect(status).toBe(1);
    expect(err).toContain("offline");
    expect(hub.requests).toEqual([]);
  });
});

describe("looking", () => {
  it("models shows the catalog with what fits, and a recommendation", async () => {
    const value = json(await run("models", "--json"));
    expect(value.catalog.length).toBeGreaterThan(5);
    expect(value.catalog.every(({ fit }: { fit?: object }) => fit !== undefined)).toBe(true);
    expect(value.recommendation).toMatchObject({ deviceClass: expect.any(String) });
    expect((await run("models")).out).toMatch(/^CATALOG .*HERE/m);
  });

  it("inspect shows header, size and what the KV cache takes", async () => {
    const { out } = await run("inspect", modelPath("tiny"));
    expect(out).toMatch(/^architecture +llama$/m);
    expect(out).toMatch(/^KV cache, f16 +\S+ kB per 1,000 tokens/m);
    const { header, kv } = json(await run("inspect", modelPath("tiny"), "--json"));
    expect(header).toMatchObject({ architecture: "llama", blockCount: 2 });
    const [f16, q8] = kv as { bytesPerThousandTokens: number }[];
    expect((q8?.bytesPerThousandTokens ?? 0) / (f16?.bytesPerThousandTokens ?? 1)).toBeCloseTo(34 / 64, 5);
    writeFileSync(join(models, "page.gguf"), "<html>not found</html>");
    expect((await run("inspect", join(models, "page.gguf"))).status).toBe(4);
  });

  it("doctor names what is missing and how to mend it", async () => {
    const { status, out } = await run("doctor");
    expect(status).toBe(0);
    expect(out).toMatch(/^processor +\S/m);
    expect(out).toMatch(/^computes on +\S/m);
    expect(out).toContain(`MODELS_DIR=${models} (environment)`);
    expect(out).toMatch(/warning: No text model is chosen\. Type .*eliza-local pull NAME/);
  });

  it("doctor ends with 1 when a configured model is not there, and shows no secret", async () => {
    const child = start(["doctor", "--json"], { LOCAL_LARGE_MODEL: "gone.gguf", HF_TOKEN: "hf_secret12345" });
    const { status, out } = await ended(child);
    expect(status).toBe(1);
    expect(out).not.toContain("hf_secret");
    const report = JSON.parse(out);
    expect(report.findings).toContainEqual(expect.objectContaining({ level: "error" }));
    expect(report.settings).toContainEqual({ name: "HF_TOKEN", value: "set", source: "environment" });
  });
});

describe("trying a model", () => {
  it("chat answers words and what is piped in; --json carries the numbers", async () => {
    const model = ["--model", modelPath("chat"), "-n", "8", "-t", "0"];
    const words = await run("chat", ...model, "Hello");
    expect(words.status).toBe(0);
    expect(words.out.trim().length).toBeGreaterThan(0);
    expect(words.err).toMatch(/\d+ tokens, [\d.]+ per second/);
    const piped = await ended(start(["chat", ...model, "--json"]), "Hello");
    const value = JSON.parse(piped.out);
    expect(`${value.text}\n`).toBe(words.out);
    expect(value.usage.completionTokens).toBeGreaterThan(0);
  });

  it("chat without a model says how to choose one", async () => {
    expect(await run("chat", "Hello")).toMatchObject({
      status: 1,
      err: expect.stringContaining("LOCAL_LARGE_MODEL"),
    });
  });

  it("embed gives a vector for each text, by the model that was chosen", async () => {
    copyFileSync(modelPath("embedding"), join(models, MODELS.embedding));
    expect((await run("use", "all-MiniLM-L6-v2-f16")).out).toBe("embedding: all-MiniLM-L6-v2-f16\n");
    const value = json(await run("embed", "one", "two", "--json"));
    expect(value).toMatchObject({ dimensions: 384 });
    expect(value.embeddings).toHaveLength(2);
    const lines = await ended(start(["embed"]), "one\n\ntwo\n");
    expect(
      lines.out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual(value.embeddings);
    expect((await run("use", "all-MiniLM-L6-v2-f16", "--role", "large")).status).toBe(2);
  });
});

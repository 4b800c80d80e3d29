import { copyFile, mkdir, mkdtemp, open, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addon, generate, load, PATHS, rejection, SMALL } from "./support/addon.js";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "local-inference-files-"));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const loadPath = (path: string) => addon.loadModel(path, {}).result();

/** A file of these bytes. */
async function file(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

/** The tiny model with `bytes` written over its own at `offset`. */
async function damaged(name: string, offset: number, bytes: Uint8Array): Promise<string> {
  const path = join(folder, name);
  await copyFile(PATHS.tiny, path);
  const handle = await open(path, "r+");
  await handle.write(bytes, 0, bytes.length, offset);
  await handle.close();
  return path;
}

async function refused(code: string, path: string): Promise<string> {
  await rejection(code, () => addon.readHeader(path));
  return rejection(code, () => loadPath(path));
}

describe("a path that cannot be loaded", () => {
  it("names nothing, or a directory", async () => {
    expect(await refused("MODEL_NOT_FOUND", join(folder, "missing.gguf"))).toContain("missing.gguf");
    await rejection("MODEL_NOT_FOUND|MODEL_INVALID", () => loadPath(folder));
    await rejection("MODEL_NOT_FOUND|INVALID_INPUT|MODEL_INVALID", () => loadPath(""));
    await rejection("MODEL_NOT_FOUND|INVALID_INPUT|MODEL_INVALID", () => loadPath("a\0b.gguf"));
  });

  it("is empty, a web page, or noise", async () => {
    await refused("MODEL_INVALID", await file("empty.gguf", ""));
    await refused("MODEL_INVALID", await file("page.gguf", "<!doctype html><title>Sign in</title>"));
    await refused(
      "MODEL_INVALID",
      await file(
        "noise.gguf",
        new Uint8Array(5000).map((_, i) => (i * 193) % 251),
      ),
    );
  });

  it("is a model cut off anywhere", async () => {
    const whole = await readFile(PATHS.tiny);
    for (let part = 0; part < 40; part++) {
      const bytes = Math.floor((whole.length * part) / 40) + (part % 5);
      await refused("MODEL_INVALID", await file("cut.gguf", whole.subarray(0, bytes)));
    }
  });

  it("has an absurd version or absurd counts", async () => {
    const huge = new Uint8Array(8).fill(0xff);
    await rejection("MODEL_INVALID|MODEL_UNSUPPORTED", async () =>
      loadPath(await damaged("version.gguf", 4, new Uint8Array([200, 0, 0, 0]))),
    );
    await refused("MODEL_INVALID", await damaged("tensors.gguf", 8, huge));
    await refused("MODEL_INVALID", await damaged("keys.gguf", 16, huge));
  });
});

describe("a path that can be loaded", () => {
  it.each([
    "with spaces.gguf",
    "日本語 ünïcödé 🙂.gguf",
    "'quotes\" & $HOME;.gguf",
    `${"long".repeat(60)}.gguf`,
  ])("may be unusual: %s", async (name) => {
    const path = join(folder, name);
    await copyFile(PATHS.tiny, path);
    const model = await loadPath(path);
    expect(model.header.path).toBe(path);
    const context = await model.openContext(SMALL);
    const { done } = await generate(context, { prompt: "a", maxTokens: 3, ignoreEos: true });
    expect(done.usage.completionTokens).toBe(3);
    await model.close();
  });

  it("may be relative, deep or a link", async () => {
    const deep = join(folder, ...Array.from({ length: 8 }, (_, index) => `folder ${index}`));
    await mkdir(deep, { recursive: true });
    const path = join(deep, "linked.gguf");
    await symlink(PATHS.tiny, path);
    const model = await loadPath(path);
    expect(model.header.vocabularySize).toBe(32_000);
    await model.close();
  });

  it("has the same header before and after loading", async () => {
    const model = await load("tiny");
    expect(model.header).toEqual(await addon.readHeader(PATHS.tiny));
    await model.close();
  });
});

describe("a model of the other kind", () => {
  it("chat with an embedding model is refused", async () => {
    const model = await load("embedding");
    expect(await rejection("UNSUPPORTED", () => model.openContext(SMALL))).toContain("all-MiniLM");
    await model.close();
  });

  it("embedding with a chat model is refused unless a pooling is chosen", async () => {
    const model = await load("tiny");
    await rejection("UNSUPPORTED", () => model.openEmbedder({ threads: 1 }));
    const embedder = await model.openEmbedder({ threads: 1, pooling: "mean", contextSize: 256 });
    expect((await embedder.embed(["a"], {}).result()).vectors[0]).toHaveLength(16);
    await model.close();
  });
});

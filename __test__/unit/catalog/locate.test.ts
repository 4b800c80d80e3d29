import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { catalog } from "../../../ts/catalog/load.js";
import { type FindInstalled, findNothing, locateModel } from "../../../ts/catalog/locate.js";

let root = "";

beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "local-inference-locate-")));
  for (const file of [
    "bundles/e4b/text/eliza-1-e4b-128k.gguf",
    "bundles/e4b/mtp/drafter-e4b.gguf",
    "bundles/e4b/vision/mmproj-e4b.gguf",
    "Qwen3-4B-GGUF/Qwen3-4B-Q4_K_M.gguf",
    "eliza-1-9b.gguf",
    "own/model.gguf",
    "own/companion.gguf",
  ]) {
    await mkdir(dirname(join(root, file)), { recursive: true });
    await writeFile(join(root, file), "");
  }
});

afterAll(() => rm(root, { recursive: true, force: true }));

const locate = (name: string, findInstalled: FindInstalled = findNothing) =>
  locateModel(name, { modelsDir: root, catalog: catalog(), findInstalled });

describe("a catalog id names", () => {
  it("the file in a bundle, with the companions beside it", async () => {
    expect(await locate("eliza-1-4b")).toMatchObject({
      path: join(root, "bundles/e4b/text/eliza-1-e4b-128k.gguf"),
      entry: { id: "eliza-1-4b" },
      companions: {
        drafter: join(root, "bundles/e4b/mtp/drafter-e4b.gguf"),
        vision: join(root, "bundles/e4b/vision/mmproj-e4b.gguf"),
      },
    });
  });

  it("the file in a folder with the name of its repository", async () => {
    expect((await locate("Qwen3-4B")).path).toBe(join(root, "Qwen3-4B-GGUF/Qwen3-4B-Q4_K_M.gguf"));
  });

  it("a file that has the id as its name", async () => {
    expect((await locate("eliza-1-9b")).path).toBe(join(root, "eliza-1-9b.gguf"));
  });

  it("what was installed under it, with its companions", async () => {
    const files = [
      { path: join(root, "own/model.gguf"), role: "model" },
      { path: join(root, "own/companion.gguf"), role: "drafter" },
      { path: join(root, "own/other.bin"), role: "something" },
    ];
    const find: FindInstalled = async (id) => ({
      id: `hf:${id}`,
      path: join(root, "own/model.gguf"),
      files,
      catalogId: id,
    });
    expect(await locate("eliza-1-2b", find)).toMatchObject({
      path: join(root, "own/model.gguf"),
      entry: { id: "eliza-1-2b" },
      companions: { drafter: join(root, "own/companion.gguf") },
    });
  });

  it("nothing where the file is missing, and the error says what to fetch", async () => {
    await expect(locate("eliza-1-27b")).rejects.toMatchObject({
      code: "MODEL_NOT_FOUND",
      hint: expect.stringContaining("hf:elizaos/eliza-1/bundles/31b/text/eliza-1-31b-128k.gguf"),
    });
  });
});

describe("another name", () => {
  it("of a file that the catalog knows brings its entry along", async () => {
    expect((await locate("Qwen3-4B-Q4_K_M")).entry?.id).toBe("qwen3-4b");
    expect((await locate("own/model.gguf")).entry).toBeUndefined();
  });

  it("is looked up among the installed models", async () => {
    const find: FindInstalled = async (id) => ({ id, path: join(root, "own/model.gguf"), files: [] });
    expect((await locate("hf:owner/repo/some.gguf", find)).path).toBe(join(root, "own/model.gguf"));
  });

  it("of a folder is its only model", async () => {
    expect((await locate("bundles/e4b")).entry?.id).toBe("eliza-1-4b");
    await expect(locate(join(root, "own"))).rejects.toThrow(/several models: companion\.gguf, model\.gguf/);
    await expect(locate(join(root, "bundles"))).rejects.toThrow(/holds no GGUF model/);
  });
});

import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { modelReference, resolveModel } from "../../../ts/catalog/models-dir.js";

let root = "";
let models = "";

beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "local-inference-dir-")));
  models = join(root, "models");
  for (const directory of ["models/qwen", "models/other", "models/a/b/c/d"]) {
    await mkdir(join(root, directory), { recursive: true });
  }
  for (const file of [
    "outside.gguf",
    "models/top.gguf",
    "models/qwen/Qwen3-4B.Q4_K_M.gguf",
    "models/qwen/twice.gguf",
    "models/other/twice.gguf",
    "models/qwen/split-00001-of-00002.gguf",
    "models/qwen/split-00002-of-00002.gguf",
    "models/a/b/c/d/deep.gguf",
    "models/notes.txt",
  ]) {
    await writeFile(join(root, file), "");
  }
  await symlink(join(root, "outside.gguf"), join(models, "linked.gguf"));
});

afterAll(() => rm(root, { recursive: true, force: true }));

describe("a model setting names", () => {
  it.each([
    ["a file by its absolute path", () => join(root, "outside.gguf"), "outside.gguf"],
    ["a file by its path below the models directory", () => "qwen/twice.gguf", "models/qwen/twice.gguf"],
    ["a file by its name without .gguf", () => "top", "models/top.gguf"],
    ["a file in a subdirectory by its name", () => "Qwen3-4B.Q4_K_M", "models/qwen/Qwen3-4B.Q4_K_M.gguf"],
    ["a file by directory and name", () => "other/twice", "models/other/twice.gguf"],
    ["the first part of a split model", () => "split", "models/qwen/split-00001-of-00002.gguf"],
    ["the target of a link", () => "linked", "outside.gguf"],
    ["a hub file that was put in place by hand", () => "hf:owner/repo/top.gguf", "models/top.gguf"],
  ])("%s", async (_, setting, file) => {
    expect(await resolveModel(setting(), models)).toBe(join(root, file));
  });
});

describe("a model that is not there", () => {
  it("is reported with the place to put it", async () => {
    await expect(resolveModel("missing", models)).rejects.toMatchObject({
      code: "MODEL_NOT_FOUND",
      hint: expect.stringContaining(join(models, "missing.gguf")),
    });
  });

  it("is not downloaded, and the error says so", async () => {
    await expect(resolveModel("hf:owner/repo/new.gguf", models)).rejects.toMatchObject({
      code: "MODEL_NOT_FOUND",
      hint: `Type "eliza-local pull hf:owner/repo/new.gguf" to fetch it, or put the GGUF file at ${join(models, "new.gguf")}.`,
    });
  });

  it("by a path is reported with the path", async () => {
    await expect(resolveModel("qwen/none.gguf", models)).rejects.toThrow(join(models, "qwen/none.gguf"));
  });

  it("is not found deeper than the search goes", async () => {
    await expect(resolveModel("deep", models)).rejects.toMatchObject({ code: "MODEL_NOT_FOUND" });
  });

  it("is a directory", async () => {
    await expect(resolveModel(join(root, "models"), models)).rejects.toMatchObject({
      code: "MODEL_NOT_FOUND",
    });
  });

  it("in a models directory that does not exist is reported the same way", async () => {
    await expect(resolveModel("any", join(root, "nowhere"))).rejects.toMatchObject({
      code: "MODEL_NOT_FOUND",
    });
  });
});

it("a name that two files have is refused with both paths", async () => {
  await expect(resolveModel("twice", models)).rejects.toMatchObject({
    code: "INVALID_INPUT",
    message: expect.stringMatching(/other\/twice\.gguf.*qwen\/twice\.gguf/),
  });
});

it.each(["../outside.gguf", "qwen/../../outside.gguf", "..", ".", "a/../.."])(
  "%s does not leave the models directory",
  (setting) => {
    expect(() => modelReference(setting, models)).toThrow(/outside MODELS_DIR/);
  },
);

it.each(["hf:owner/repo", "hf:owner/repo/readme.md"])("%s is not a hub file", async (setting) => {
  await expect(resolveModel(setting, models)).rejects.toMatchObject({ code: "INVALID_INPUT" });
});

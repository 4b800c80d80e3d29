import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { withLock } from "../../../scripts/lib/models/lock.mjs";
import { readTable, selectModels } from "../../../scripts/lib/models/table.mjs";
import { isVerified, publish } from "../../../scripts/lib/models/verify.mjs";
import { modelsDir } from "../../../scripts/lib/paths.mjs";

interface Package {
  name: string;
  version: string;
  sha256: string;
}
interface Model {
  id: string;
  licence: string;
  files: { file: string; bytes: number; sha256?: string }[];
  source: { kind: string; packages?: Package[] };
}

const table: Model[] = readTable();
const sha256 = /^[0-9a-f]{64}$/;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "models-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("the table of development models", () => {
  test("pins every file and every package by version and sha256", () => {
    const automatic = table.filter((model) => model.source.kind !== "manual");
    expect(automatic.length).toBeGreaterThan(0);
    for (const model of automatic) {
      for (const file of model.files) expect(file.sha256, file.file).toMatch(sha256);
      for (const { name, version, sha256: hash } of model.source.packages ?? []) {
        expect(version, name).toMatch(/^\d+(\.\d+)+$/);
        expect(hash, name).toMatch(sha256);
      }
    }
  });

  test("gives every model an id, files and a place of its own", () => {
    const ids = table.map((model) => model.id);
    const files = table.flatMap((model) => model.files.map((file) => file.file));
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(files).size).toBe(files.length);
  });

  test("selects what tests need unless asked for other models", () => {
    const ids = (models: Model[]) => models.map((model) => model.id);
    expect(ids(selectModels(table))).toEqual([
      "smollm2-135m",
      "all-minilm-l6-v2",
      "tinycoder",
      "synthetic-mtp",
      "synthetic-recurrent",
      "synthetic-heads",
      "chat-templates",
      "recording-call",
      "recording-speech",
      "wake-word-heads",
    ]);
    expect(ids(selectModels(table, { ids: ["gemma3-270m"] }))).toEqual(["gemma3-270m"]);
    expect(ids(selectModels(table, { all: true }))).not.toContain("embeddinggemma");
    expect(() => selectModels(table, { ids: ["gpt-9"] })).toThrow('no model is called "gpt-9"');
  });
});

describe("the models folder", () => {
  test("is the one of LOCAL_INFERENCE_DEV_MODELS, else it is in the cache folder of the user", () => {
    expect(modelsDir({ LOCAL_INFERENCE_DEV_MODELS: "/data/models" })).toBe("/data/models");
    expect(modelsDir({ XDG_CACHE_HOME: "/cache" })).toBe(join("/cache", "local-inference", "models"));
  });

  const expected = {
    file: "sub/model.gguf",
    bytes: 5,
    sha256: createHash("sha256").update("GGUF!").digest("hex"),
  };

  function make(content: string): string {
    const path = join(folder, "made.part");
    writeFileSync(path, content);
    return path;
  }

  test("takes a finished file in and knows it again", async () => {
    expect(await isVerified(folder, expected)).toBe(false);
    await publish(make("GGUF!"), folder, expected);
    expect(await isVerified(folder, expected)).toBe(true);
    expect(readFileSync(join(folder, expected.file), "utf8")).toBe("GGUF!");
  });

  test("refuses a file with other content or another size", async () => {
    await expect(publish(make("GGUF?"), folder, expected)).rejects.toThrow("sha256 is");
    await expect(publish(make("GGUF"), folder, expected)).rejects.toThrow(
      "4 bytes were made, 5 are expected",
    );
    expect(existsSync(join(folder, expected.file))).toBe(false);
  });

  test("notices that a verified file was changed", async () => {
    await publish(make("GGUF!"), folder, expected);
    writeFileSync(join(folder, expected.file), "GGUF?");
    expect(await isVerified(folder, expected)).toBe(false);
  });

  test("accepts a good file that something else put there", async () => {
    mkdirSync(join(folder, "sub"));
    writeFileSync(join(folder, expected.file), "GGUF!");
    expect(await isVerified(folder, expected)).toBe(true);
  });
});

describe("the lock of a model", () => {
  const lock = () => join(folder, "model.lock");

  test("left by a process that is gone does not block", async () => {
    // Process ids end far below this number on every system.
    writeFileSync(lock(), "2147483646 1");
    expect(await withLock(lock(), async () => "done")).toBe("done");
  });

  test("left by an earlier process that had the id of a living one does not block", async () => {
    writeFileSync(lock(), `${process.ppid} earlier`);
    expect(await withLock(lock(), async () => "done")).toBe("done");
  });

  test("is released when fetching fails", async () => {
    await expect(withLock(lock(), () => Promise.reject(new Error("no network")))).rejects.toThrow(
      "no network",
    );
    expect(existsSync(lock())).toBe(false);
  });

  test("lets one after the other in", async () => {
    let inside = 0;
    let most = 0;
    const visit = () =>
      withLock(
        lock(),
        async () => {
          inside += 1;
          most = Math.max(most, inside);
          await sleep(5);
          inside -= 1;
        },
        1,
      );
    await Promise.all(Array.from({ length: 20 }, visit));
    expect(most).toBe(1);
  });
});

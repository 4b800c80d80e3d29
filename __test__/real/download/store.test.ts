import { mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { WantedModel } from "../../../ts/download/plan.js";
import type { PullProgress } from "../../../ts/download/pull.js";
import { COMMIT, pseudoGguf, sha256 } from "../../helpers/hub-server.js";
import { storeFixture, tiny, trusting } from "../../helpers/model-store.js";

const KB = 1024;
const fixture = storeFixture();

describe("pulling", () => {
  it("a real GGUF checks its header, registers it and finds it by every name it has", async () => {
    fixture.hub.put("own/repo", "sub/tiny.gguf", tiny);
    const store = fixture.open();
    const model = await store.pull("hf:own/repo/sub/tiny.gguf");
    expect(model).toMatchObject({
      id: "hf:own/repo/sub/tiny.gguf",
      path: join(fixture.models, "own", "repo", "sub", "tiny.gguf"),
      origin: "download",
      owned: true,
      revision: COMMIT,
      licence: "mit",
      files: [{ sha256: sha256(tiny), role: "model" }],
    });
    for (const name of [model.id, "hf:own/repo@main/sub/tiny.gguf", model.path, "tiny"]) {
      expect((await fixture.open().findInstalled(name))?.path, name).toBe(model.path);
    }
    expect(await fixture.open().findInstalled("hf:own/other/sub/tiny.gguf")).toBeUndefined();
  });

  it("a repository with one model needs no file name", async () => {
    fixture.hub.put("own/repo", "tiny.gguf", tiny);
    fixture.hub.put("own/repo", "README.md", Buffer.from("hello"), { lfs: false });
    expect((await fixture.open().pull("hf:own/repo")).id).toBe("hf:own/repo/tiny.gguf");
  });

  it("a repository with several lists them", async () => {
    for (const name of ["a.gguf", "b.gguf"]) fixture.hub.put("own/repo", name, tiny);
    await expect(fixture.open().pull("hf:own/repo")).rejects.toMatchObject({
      code: "INVALID_INPUT",
      hint: "Name one of them: a.gguf, b.gguf.",
    });
  });

  it.each([
    ["http://127.0.0.1/own/repo/resolve/main/tiny.gguf"],
    ["https://huggingface.co/own/repo/blob/main/tiny.gguf"],
    ["HF:own/repo/tiny.gguf"],
  ])("understands %s", async (text) => {
    fixture.hub.put("own/repo", "tiny.gguf", tiny);
    expect((await fixture.open().pull(text)).id).toBe("hf:own/repo/tiny.gguf");
  });

  it("a split model fetches every part and counts once", async () => {
    const parts = [1, 2, 3].map((index) => pseudoGguf(40 * KB, index));
    for (const [index, part] of parts.entries())
      fixture.hub.put("own/repo", `big-0000${index + 1}-of-00003.gguf`, part);
    const seen: PullProgress[] = [];
    const store = fixture.open(trusting);
    const model = await store.pull("hf:own/repo/big-00002-of-00003.gguf", {
      onProgress: (now) => seen.push(now),
    });
    expect(model.files).toHaveLength(3);
    expect(model).toMatchObject({ bytes: 120 * KB, name: "big", id: "hf:own/repo/big-00001-of-00003.gguf" });
    expect(seen.at(-1)).toMatchObject({
      fileNumber: 3,
      fileCount: 3,
      receivedBytes: 120 * KB,
      totalBytes: 120 * KB,
    });
    expect(await store.installed()).toHaveLength(1);
  });

  it("a split model with a part missing on the hub is refused before any byte", async () => {
    fixture.hub.put("own/repo", "big-00001-of-00002.gguf", pseudoGguf(KB));
    await expect(fixture.open().pull("hf:own/repo/big-00001-of-00002.gguf")).rejects.toMatchObject({
      code: "MODEL_NOT_FOUND",
    });
    expect(fixture.hub.fetched()).toEqual([]);
  });

  it("a file that only looks like a model is removed and not registered", async () => {
    fixture.hub.put("own/repo", "bad.gguf", pseudoGguf(50 * KB));
    const store = fixture.open();
    await expect(store.pull("hf:own/repo/bad.gguf")).rejects.toMatchObject({ code: "MODEL_INVALID" });
    expect(await store.installed()).toEqual([]);
    expect(readdirSync(fixture.models)).toEqual([]);
  });

  it("asks the hub for nothing when it is offline", async () => {
    await expect(fixture.open({ offline: true }).pull("hf:own/repo/tiny.gguf")).rejects.toMatchObject({
      code: "OFFLINE",
    });
    expect(fixture.hub.requests).toEqual([]);
  });

  it("of a model that does not exist says so, and what there is", async () => {
    fixture.hub.put("own/repo", "tiny.gguf", tiny);
    await expect(fixture.open().pull("hf:own/repo/other.gguf")).rejects.toMatchObject({
      code: "MODEL_NOT_FOUND",
      hint: "Name one of its files: tiny.gguf.",
    });
    await expect(fixture.open().pull("hf:own/none/x.gguf")).rejects.toMatchObject({
      code: "MODEL_NOT_FOUND",
      hint: expect.stringContaining("HF_TOKEN"),
    });
  });

  it("of a gated model names the licence page", async () => {
    fixture.hub.put("own/repo", "tiny.gguf", tiny);
    fixture.hub.describe = () => ({ status: 403 });
    await expect(
      fixture.open({ token: "hf_secretsecret" }).pull("hf:own/repo/tiny.gguf"),
    ).rejects.toMatchObject({
      code: "ACCESS_DENIED",
      hint: expect.stringContaining(`Open ${fixture.hub.url}/own/repo, accept the licence with the account`),
    });
  });

  it("tries the hub's description again when it is busy", async () => {
    fixture.hub.put("own/repo", "tiny.gguf", tiny);
    let asked = 0;
    fixture.hub.describe = () => {
      asked += 1;
      return asked < 3 ? { status: 503 } : undefined;
    };
    await fixture.open().pull("hf:own/repo/tiny.gguf");
    expect(asked).toBe(3);
  });

  it("checks the disk before the first byte, over all files together", async () => {
    fixture.hub.put("own/repo", "tiny.gguf", tiny);
    const download = { reserveBytes: Number.MAX_SAFE_INTEGER / 4 };
    await expect(fixture.open({ download }).pull("hf:own/repo/tiny.gguf")).rejects.toMatchObject({
      code: "DISK_FULL",
      hint: expect.stringContaining("MODELS_DIR"),
    });
    expect(fixture.hub.fetched()).toEqual([]);
  });
});

describe("a model of the catalog", () => {
  const wanted = (change: Partial<WantedModel["files"][number]> = {}): WantedModel => ({
    id: "some-model",
    name: "Some model",
    catalogId: "some-model",
    files: [
      { repository: "own/repo", path: "new/tiny.gguf", role: "model", ...change },
      { repository: "own/repo", path: "mtp/drafter.gguf", role: "drafter", optional: true },
    ],
  });

  it("comes with its companions and is found by its catalog id", async () => {
    fixture.hub.put("own/repo", "new/tiny.gguf", tiny);
    fixture.hub.put("own/repo", "mtp/drafter.gguf", pseudoGguf(KB));
    const store = fixture.open();
    const model = await store.pull(wanted());
    expect(model.files.map(({ role }) => role)).toEqual(["model", "drafter"]);
    expect((await store.findInstalled("some-model"))?.path).toBe(model.path);
  });

  it("is installed without an optional companion that is not there, and under a former path", async () => {
    fixture.hub.put("own/repo", "old/tiny.gguf", tiny);
    const missing: (readonly string[])[] = [];
    const model = await fixture.open().pull(wanted({ formerPaths: ["old/tiny.gguf"] }), {
      onPlan: (plan) => missing.push(plan.missing),
    });
    expect(model.path).toBe(join(fixture.models, "own/repo/old/tiny.gguf"));
    expect(missing).toEqual([["mtp/drafter.gguf"]]);
  });

  it("whose pinned SHA-256 the hub does not have is refused before any byte", async () => {
    fixture.hub.put("own/repo", "new/tiny.gguf", tiny);
    await expect(fixture.open().pull(wanted({ sha256: "0".repeat(64) }))).rejects.toMatchObject({
      code: "CHECKSUM_MISMATCH",
      hint: expect.stringContaining("hf:own/repo/new/tiny.gguf"),
    });
    expect(fixture.hub.fetched()).toEqual([]);
  });
});

describe("paths", () => {
  it.each([
    "hf:own/repo/../../../etc/passwd.gguf",
    "hf:../repo/x.gguf",
    "hf:own/re..po/x.gguf",
    "hf:own/repo@../x/y.gguf",
    "hf:/x",
    "https://huggingface.co/own/repo/raw/main/x.gguf",
  ])("%s is refused without asking", async (text) => {
    await expect(fixture.open().pull(text)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    expect(fixture.hub.requests).toEqual([]);
  });

  it.each(["../../escape.gguf", "a/../../escape.gguf", "/abs.gguf", "a//b.gguf"])(
    "a hub that names a file %s does not get it written outside",
    async (path) => {
      fixture.hub.put("own/repo", path, tiny);
      await expect(fixture.open(trusting).pull("hf:own/repo")).rejects.toMatchObject({
        code: "INVALID_INPUT",
      });
      expect(readdirSync(fixture.models)).toEqual([]);
    },
  );

  it("a link inside the models folder that leads out is not followed", async () => {
    const outside = await mkdtemp(join(tmpdir(), "outside-"));
    mkdirSync(join(fixture.models, "own"));
    symlinkSync(outside, join(fixture.models, "own", "repo"));
    fixture.hub.put("own/repo", "tiny.gguf", tiny);
    await expect(fixture.open().pull("hf:own/repo/tiny.gguf")).rejects.toMatchObject({
      code: "INVALID_INPUT",
      message: expect.stringContaining("leads out of the models folder"),
    });
    expect(readdirSync(outside)).toEqual([]);
    await rm(outside, { recursive: true });
  });

  it("names that a file system refuses are changed", async () => {
    fixture.hub.put("own/repo", 'a:b*?"<x>|.gguf', tiny);
    fixture.hub.put("own/repo", "con.gguf", tiny);
    const store = fixture.open();
    const model = await store.pull('hf:own/repo/a:b*?"<x>|.gguf');
    expect(model.path.endsWith("a_b____x__.gguf")).toBe(true);
    expect((await store.pull("hf:own/repo/con.gguf")).path.endsWith("_con.gguf")).toBe(true);
  });
});

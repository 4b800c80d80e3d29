import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Jobs } from "../../../ts/download/jobs.js";
import type { WantedModel } from "../../../ts/download/plan.js";
import { pseudoGguf, sha256 } from "../../helpers/hub-server.js";
import { storeFixture, tiny, trusting } from "../../helpers/model-store.js";

const KB = 1024;
const fixture = storeFixture();

describe("verifying", () => {
  it("tells a good file from a changed, a shortened and a missing one", async () => {
    fixture.hub.put("own/repo", "tiny.gguf", tiny);
    const store = fixture.open();
    const model = await store.pull("hf:own/repo/tiny.gguf");
    expect((await store.verify(model)).state).toBe("ok");
    const changed = Buffer.from(tiny);
    changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
    writeFileSync(model.path, changed);
    expect(await store.verify(model)).toMatchObject({
      state: "damaged",
      files: [{ expected: sha256(tiny) }],
    });
    writeFileSync(model.path, tiny.subarray(0, 1000));
    expect((await store.verify(model)).state).toBe("damaged");
    await rm(model.path);
    expect((await store.verify(model)).state).toBe("missing");
  });

  it("says that it cannot tell for a file nobody vouches for", async () => {
    writeFileSync(join(fixture.models, "own.gguf"), tiny);
    const store = fixture.open();
    const [model] = await store.installed();
    if (model === undefined) throw new Error("not found");
    expect((await store.verify(model)).state).toBe("unknown");
  });
});

describe("removing", () => {
  it("says what would be freed, deletes it, and the folders it leaves empty", async () => {
    fixture.hub.put("own/repo", "sub/tiny.gguf", tiny);
    const store = fixture.open();
    const model = await store.pull("hf:own/repo/sub/tiny.gguf");
    expect(await store.removal(model)).toMatchObject({ bytes: tiny.length, files: [model.path] });
    expect(existsSync(model.path)).toBe(true);
    await store.remove(model);
    expect(readdirSync(fixture.models)).toEqual(["registry.json"]);
    expect(await store.installed()).toEqual([]);
  });

  it("keeps a companion that another model needs", async () => {
    for (const name of ["a.gguf", "b.gguf"]) fixture.hub.put("own/repo", name, tiny);
    fixture.hub.put("own/repo", "shared.gguf", pseudoGguf(KB));
    const store = fixture.open(trusting);
    const wanted = (name: string): WantedModel => ({
      id: name,
      name,
      files: [
        { repository: "own/repo", path: `${name}.gguf`, role: "model" },
        { repository: "own/repo", path: "shared.gguf", role: "vision" },
      ],
    });
    const first = await store.pull(wanted("a"));
    await store.pull(wanted("b"));
    const removal = await store.remove(first);
    expect(removal.bytes).toBe(tiny.length);
    expect(existsSync(join(fixture.models, "own/repo/shared.gguf"))).toBe(true);
  });
});

describe("models of other programs", () => {
  it("are found, used where they are, and never deleted", async () => {
    const home = await mkdtemp(join(tmpdir(), "home-"));
    const put = (path: string, content: Buffer | string = tiny) => {
      mkdirSync(join(home, path, ".."), { recursive: true });
      writeFileSync(join(home, path), content);
      return join(home, path);
    };
    const digest = sha256(tiny);
    put(".lmstudio/models/lmstudio-community/Some-GGUF/some-Q4_K_M.gguf");
    put(".lmstudio/models/lmstudio-community/Some-GGUF/mmproj-some-f16.gguf");
    put(".local/share/Jan/data/llamacpp/models/jan-nano/model.gguf");
    put(`.ollama/models/blobs/sha256-${digest}`);
    const layers = [
      { mediaType: "application/vnd.ollama.image.template", digest: `sha256:${"1".repeat(64)}` },
      { mediaType: "application/vnd.ollama.image.model", digest: `sha256:${digest}` },
    ];
    put(".ollama/models/manifests/registry.ollama.ai/library/llama3/8b", JSON.stringify({ layers }));
    put(".ollama/models/manifests/registry.ollama.ai/someone/mine/latest", "not json");
    const blob = put(`.cache/huggingface/hub/models--own--repo/blobs/${digest}`);
    mkdirSync(join(home, ".cache/huggingface/hub/models--own--repo/snapshots/abc"), { recursive: true });
    symlinkSync(blob, join(home, ".cache/huggingface/hub/models--own--repo/snapshots/abc/cached.gguf"));
    put("jan/models/broken.gguf", "<html>");
    const store = fixture.open({ scanPrograms: true, scan: { home, environment: {} } });
    const found = await store.installed();
    expect(found.map(({ id }) => id).sort()).toEqual([
      "hf:own/repo/cached.gguf",
      "jan:jan-nano/model",
      "lm-studio:lmstudio-community/Some-GGUF/some-Q4_K_M",
      "ollama:llama3:8b",
    ]);
    expect(found.every(({ owned }) => !owned)).toBe(true);
    const ollama = await store.findInstalled("ollama:llama3:8b");
    if (ollama === undefined) throw new Error("not found");
    const cached = { origin: "huggingface", owned: false, bytes: tiny.length };
    expect(await store.findInstalled("hf:own/repo/cached.gguf")).toMatchObject(cached);
    expect((await store.verify(ollama)).state).toBe("ok");
    await expect(store.remove(ollama)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    expect(existsSync(ollama.path)).toBe(true);
    await rm(home, { recursive: true });
  });
});

describe("downloads in the background", () => {
  it("of the same model are one; the states go forward; the result is the model", async () => {
    fixture.hub.put("own/repo", "tiny.gguf", tiny);
    const jobs = new Jobs(fixture.open());
    const states: string[] = [];
    const leave = jobs.subscribe(({ state }) => states.at(-1) !== state && states.push(state));
    const job = jobs.start("hf:own/repo/tiny.gguf");
    expect(jobs.start("hf:own/repo/tiny.gguf").id).toBe(job.id);
    expect((await jobs.result(job.id)).id).toBe("hf:own/repo/tiny.gguf");
    leave();
    expect(states[0]).toBe("queued");
    expect(states.at(-1)).toBe("completed");
    expect(jobs.get(job.id)).toMatchObject({ receivedBytes: tiny.length, totalBytes: tiny.length });
    expect(jobs.start("hf:own/repo/tiny.gguf").id).not.toBe(job.id);
    await jobs.close();
  });

  it("run two at a time, and one that is cancelled while it waits makes room for the next", async () => {
    const names = ["a", "b", "c", "d"];
    for (const name of names) fixture.hub.put(`own/${name}`, "m.gguf", pseudoGguf(200 * KB));
    fixture.hub.pace = { bytes: 8 * KB, milliseconds: 5 };
    const jobs = new Jobs(fixture.open(trusting));
    const started = names.map((name) => jobs.start(`hf:own/${name}/m.gguf`));
    await expect.poll(() => jobs.list().filter(({ state }) => state === "downloading").length).toBe(2);
    expect(jobs.list().filter(({ state }) => state === "queued")).toHaveLength(2);
    expect(jobs.cancel(started[2]?.id ?? "")).toBe(true);
    fixture.hub.pace = undefined;
    await Promise.allSettled(started.map(({ id }) => jobs.result(id)));
    expect(jobs.list().map(({ state }) => state)).toEqual([
      "completed",
      "completed",
      "cancelled",
      "completed",
    ]);
    expect(jobs.cancel(started[2]?.id ?? "")).toBe(false);
  });

  it("that fail say why, with what to do", async () => {
    const jobs = new Jobs(fixture.open({ offline: true }));
    const { id } = jobs.start("hf:own/repo/tiny.gguf");
    await expect(jobs.result(id)).rejects.toThrow();
    expect(jobs.get(id)).toMatchObject({ state: "failed", error: { code: "OFFLINE" } });
  });
});

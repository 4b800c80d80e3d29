import { readdirSync, renameSync, writeFileSync } from "node:fs";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { storeFixture, tiny, trusting } from "../../helpers/model-store.js";

const fixture = storeFixture();

describe("the registry", () => {
  it("that is damaged is set aside, and its models are found by their files", async () => {
    fixture.hub.put("own/repo", "tiny.gguf", tiny);
    const store = fixture.open();
    await store.pull("hf:own/repo/tiny.gguf");
    writeFileSync(join(fixture.models, "registry.json"), '{"version":1,"models":[{"id"');
    const found = await store.installed();
    expect(found).toMatchObject([{ id: "own/repo/tiny", origin: "folder" }]);
    expect(fixture.warnings).toHaveLength(1);
    expect(readdirSync(fixture.models).some((name) => name.startsWith("registry.json.damaged-"))).toBe(true);
    await store.pull("hf:own/repo/tiny.gguf");
    expect((await store.installed())[0]?.origin).toBe("download");
  });

  it("of an earlier version names some roles differently", async () => {
    const names = { "model.gguf": "model", "ears.gguf": "audio", "voice.gguf": "speech", "other.bin": "own" };
    const files = Object.entries(names).map(([path, role]) => ({ path, role, bytes: tiny.length }));
    for (const { path } of files) writeFileSync(join(fixture.models, path), tiny);
    const entry = { id: "x", name: "x", files };
    writeFileSync(join(fixture.models, "registry.json"), JSON.stringify({ version: 1, models: [entry] }));
    const [model] = await fixture.open().installed();
    expect(model?.files.map(({ role }) => role)).toEqual(["model", "transcription", "speech", "own"]);
  });

  it("of a newer version is left alone", async () => {
    const text = '{"version":2,"models":"something else"}';
    writeFileSync(join(fixture.models, "registry.json"), text);
    fixture.hub.put("own/repo", "tiny.gguf", tiny);
    await expect(fixture.open().pull("hf:own/repo/tiny.gguf")).rejects.toMatchObject({ code: "UNSUPPORTED" });
    expect(await readFile(join(fixture.models, "registry.json"), "utf8")).toBe(text);
    expect(await fixture.open().installed()).toMatchObject([{ origin: "folder" }]);
  });

  it("cannot make a file outside the models folder ours", async () => {
    const victim = join(await mkdtemp(join(tmpdir(), "victim-")), "precious.gguf");
    writeFileSync(victim, tiny);
    const entry = { id: "x", name: "x", files: [{ path: victim, bytes: tiny.length }] };
    writeFileSync(join(fixture.models, "registry.json"), JSON.stringify({ version: 1, models: [entry] }));
    expect(await fixture.open().installed()).toEqual([]);
  });

  it("keeps every one of many changes at once", async () => {
    for (let index = 0; index < 8; index += 1) fixture.hub.put(`own/repo${index}`, "tiny.gguf", tiny);
    const stores = Array.from({ length: 8 }, () => fixture.open(trusting));
    await Promise.all(stores.map((store, index) => store.pull(`hf:own/repo${index}/tiny.gguf`)));
    expect((await fixture.open().installed()).filter(({ origin }) => origin === "download")).toHaveLength(8);
  });

  it("still works after its folder was moved", async () => {
    fixture.hub.put("own/repo", "tiny.gguf", tiny);
    await fixture.open().pull("hf:own/repo/tiny.gguf");
    const moved = `${fixture.models}-moved`;
    renameSync(fixture.models, moved);
    const [model] = await fixture.open({ modelsDir: moved }).installed();
    expect(model?.path).toBe(join(moved, "own/repo/tiny.gguf"));
    renameSync(moved, fixture.models);
  });
});

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { IAgentRuntime } from "@elizaos/core";
import { afterEach, describe, expect, it } from "vitest";
import { drafterFile } from "../../../ts/active-model/drafting.js";
import { agentOf } from "../../../ts/agent/agent.js";
import { setNativeForTests } from "../../../ts/native/addon.js";
import { useFake } from "../../helpers/fake-native.js";
import type { Script } from "../../helpers/fake-script.js";
import { modelsDirectory } from "../../helpers/models.js";
import { startAgent } from "../../helpers/runtime.js";

const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
  setNativeForTests(undefined);
});

async function setUp(script: Script, settings: Record<string, string>) {
  const fake = useFake(script);
  const models = await modelsDirectory();
  cleanups.push(models.remove);
  const all = { MODELS_DIR: models.path, LOCAL_USE_OTHER_MODELS: "false", ...settings };
  const { runtime } = await startAgent({ settings: all });
  cleanups.unshift(() => runtime.stop());
  return { fake, runtime, active: agentOf(runtime).active, dir: models.path };
}

const ask = (runtime: IAgentRuntime) =>
  runtime.useModel("TEXT_LARGE" as never, { prompt: "Hi" } as never) as Promise<string>;
const loaded = (fake: { loads: { path: string }[] }) => fake.loads.map(({ path }) => path.split("/").at(-1));

describe("a model setting", () => {
  it("may be a catalog id, its file put in place by hand", async () => {
    const header = { architecture: "gemma4" };
    const { fake, runtime, active, dir } = await setUp({ header }, { LOCAL_LARGE_MODEL: "eliza-1-2b" });
    await expect(ask(runtime)).rejects.toThrow(
      /eliza-1-2b is not on this machine.*hf:elizaos\/eliza-1\/bundles\/e2b\/text\/eliza-1-e2b-128k\.gguf/,
    );
    const bundle = join(dir, "bundles", "2b");
    for (const folder of ["text", "mtp"]) await mkdir(join(bundle, folder), { recursive: true });
    await writeFile(join(bundle, "text", "eliza-1-2b-128k.gguf"), "");
    await writeFile(join(bundle, "mtp", "drafter-2b.gguf"), "");
    await ask(runtime);
    expect(loaded(fake)).toEqual(["eliza-1-2b-128k.gguf"]);
    expect(fake.contexts[0]).toEqual({
      kvTypeK: "q8_0",
      parallel: 1,
      kvTypeV: "q8_0",
      flashAttention: "on",
      drafter: join(bundle, "mtp", "drafter-2b.gguf"),
      draftMin: 1,
      draftMax: 1,
    });
    const { fields } = await active.current("large");
    expect(drafterFile(fields)).toMatch(/bundles\/2b\/mtp\/drafter-2b\.gguf$/);
  });

  it("may be a folder with one model", async () => {
    const { fake, runtime, dir } = await setUp({}, { LOCAL_LARGE_MODEL: "folder" });
    await mkdir(join(dir, "folder"));
    for (const name of ["a-00001-of-00002.gguf", "a-00002-of-00002.gguf", "mmproj-a.gguf"]) {
      await writeFile(join(dir, "folder", name), "");
    }
    await ask(runtime);
    expect(loaded(fake)).toEqual(["a-00001-of-00002.gguf"]);
  });

  it("that is a folder with several models is refused with their names", async () => {
    const { runtime, dir } = await setUp({}, { LOCAL_LARGE_MODEL: "folder" });
    await mkdir(join(dir, "folder"));
    for (const name of ["a.gguf", "b.gguf"]) await writeFile(join(dir, "folder", name), "");
    await expect(ask(runtime)).rejects.toThrow(/several models: a\.gguf, b\.gguf/);
  });
});

import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DEFAULT_CONNECTIONS } from "../../../ts/download/defaults.js";
import { Engine } from "../../../ts/engine/engine.js";
import { readConfig } from "../../../ts/settings/config.js";

function read(settings: Record<string, unknown> = {}, environment: Record<string, string> = {}) {
  return readConfig({ getSetting: (key) => settings[key] ?? null }, environment);
}

describe("where a setting comes from", () => {
  it("the agent's setting wins over the environment, the environment over the default", () => {
    expect(read({ LOCAL_THREADS: "3" }, { LOCAL_THREADS: "5" }).threads).toBe(3);
    expect(read({}, { LOCAL_THREADS: "5" }).threads).toBe(5);
    expect(read().threads).toBeUndefined();
  });

  it("an empty text is not a setting", () => {
    expect(read({ LOCAL_THREADS: "" }, { LOCAL_THREADS: "5" }).threads).toBe(5);
    expect(read({ LOCAL_THREADS: "  " }).threads).toBeUndefined();
  });

  it("the agent turns words into booleans and numbers; they are read all the same", () => {
    expect(read({ LOCAL_PRELOAD: true, LOCAL_CONTEXT_SIZE: 4096 })).toMatchObject({
      preload: true,
      contextSize: 4096,
    });
    expect(read({ LOCAL_ENABLE_THINKING: false }).enableThinking).toBe(false);
  });
});

describe("defaults", () => {
  it("are those of an agent that set nothing", () => {
    expect(read()).toEqual({
      modelsDir: join(homedir(), ".eliza", "models"),
      models: {},
      hubUrl: "https://huggingface.co",
      offline: false,
      downloadConnections: 4,
      useOtherModels: true,
      routesRemote: false,
      embeddingTruncate: "head",
      replyTemplates: "auto",
      lanes: {},
      queueTimeoutMs: 0,
      contextFull: "error",
      conversationsMiB: 2048,
      conversationsHours: 168,
      conversationsOnBattery: false,
      promptLayout: "auto",
      preload: false,
      speculationDisabled: false,
      preferAccurateKv: false,
      idleUnloadMs: 900_000,
      logLevel: "warn",
    });
  });

  it("are the same for an agent and for the engine alone", () => {
    expect(Engine.create().idleUnloadMs).toBe(15 * 60_000);
    expect(read().idleUnloadMs).toBe(Engine.create().idleUnloadMs);
    expect(read().downloadConnections).toBe(DEFAULT_CONNECTIONS);
  });

  it("the models directory follows the state directory", () => {
    expect(read({ ELIZA_STATE_DIR: "/state" }).modelsDir).toBe("/state/models");
    expect(read({ ELIZA_STATE_DIR: "/state", MODELS_DIR: "~/gguf" }).modelsDir).toBe(join(homedir(), "gguf"));
  });

  it("the small and the large model stand in for each other", () => {
    expect(read({ LOCAL_LARGE_MODEL: "big" }).models).toEqual({ small: "big", large: "big" });
    expect(read({ LOCAL_SMALL_MODEL: "tiny" }).models).toEqual({ small: "tiny", large: "tiny" });
    expect(read({ LOCAL_SMALL_MODEL: "tiny", LOCAL_LARGE_MODEL: "big" }).models).toEqual({
      small: "tiny",
      large: "big",
    });
  });

  it("auto leaves the choice to the engine", () => {
    const auto = { LOCAL_CONTEXT_SIZE: "auto", LOCAL_KV_TYPE: "auto", LOCAL_GPU_LAYERS: "Auto" };
    expect(read(auto)).toEqual(read());
  });
});

describe("values", () => {
  it("lanes are read by model type", () => {
    expect(read({ LOCAL_LANES: "TEXT_SMALL=background, OBJECT_LARGE = interactive" }).lanes).toEqual({
      TEXT_SMALL: "background",
      OBJECT_LARGE: "interactive",
    });
    for (const wrong of ["TEXT_SMALL=urgent", "TEXT_SMALL", "a=b=normal"])
      expect(() => read({ LOCAL_LANES: wrong })).toThrow(/LOCAL_LANES.*model type and a lane/);
  });

  it("are turned into what the engine takes", () => {
    const config = read({
      LOCAL_KV_TYPE: "Q8_0",
      LOCAL_GPU_LAYERS: "0",
      LOCAL_EMBEDDING_DIMENSIONS: "256",
      ELIZA_LOCAL_RAM_HEADROOM_MB: "512",
      ELIZA_LOCAL_IDLE_UNLOAD_MS: "0",
    });
    expect(config).toMatchObject({
      kvType: "q8_0",
      gpuLayers: 0,
      embeddingDimensions: 256,
      memoryHeadroomBytes: 512 * 1024 * 1024,
      idleUnloadMs: 0,
    });
  });

  it.each([
    ["LOCAL_CONTEXT_SIZE", "abc"],
    ["LOCAL_CONTEXT_SIZE", "12"],
    ["LOCAL_THREADS", "0"],
    ["LOCAL_THREADS", "2.5"],
    ["LOCAL_KV_TYPE", "q3"],
    ["LOCAL_GPU_LAYERS", "-1"],
    ["LOCAL_EMBEDDING_DIMENSIONS", "4096"],
    ["LOCAL_EMBEDDING_TRUNCATE", "middle"],
    ["LOCAL_PRELOAD", "perhaps"],
    ["ELIZA_LOCAL_IDLE_UNLOAD_MS", "-5"],
    ["LOCAL_INFERENCE_LOG_LEVEL", "loud"],
  ])("%s=%s is refused by name", (name, value) => {
    expect(() => read({ [name]: value })).toThrow(new RegExp(`${name}="${value}"`));
  });

  it("all that is wrong is reported at once", () => {
    const bad = () =>
      read({ LOCAL_THREADS: "many", LOCAL_KV_TYPE: "q3", LOCAL_LARGE_MODEL: "../secret.gguf" });
    expect(bad).toThrow(/LOCAL_THREADS.*LOCAL_KV_TYPE|LOCAL_KV_TYPE.*LOCAL_THREADS/);
    expect(bad).toThrow(/outside MODELS_DIR/);
    expect(bad).toThrow(expect.objectContaining({ code: "INVALID_INPUT", reason: "invalid_input" }));
  });
});

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ERROR_CODES } from "../../../ts/errors.js";
import { backendInfo, hardwareFacts, LocalModel, readModelHeader } from "../../../ts/index.js";
import { loadNative } from "../../../ts/native/addon.js";
import { modelPath } from "../../helpers/models.js";

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "local-inference-live-"));
});

afterAll(() => rm(directory, { recursive: true, force: true }));

describe("the addon", () => {
  it("has the error codes that TypeScript knows, and no other", async () => {
    expect((await loadNative()).errorCodes()).toEqual([...ERROR_CODES]);
  });

  it("knows the machine it runs on", async () => {
    const facts = await hardwareFacts();
    expect(facts.memoryTotal).toBeGreaterThan(0);
    expect(facts.physicalCores).toBeGreaterThan(0);
    const { devices } = await backendInfo();
    expect(devices.map((device) => device.kind)).toContain("cpu");
  });
});

describe("a header", () => {
  it.each([
    ["chat", { kind: "chat", architecture: "llama", embeddingLength: 576, vocabularySize: 49152 }],
    ["embedding", { kind: "embedding", architecture: "bert", embeddingLength: 384 }],
  ] as const)("of the %s model says what it is", async (name, facts) => {
    expect(await readModelHeader(modelPath(name))).toMatchObject(facts);
  });
});

describe("loading", () => {
  it("reports progress up to 1", async () => {
    const fractions: number[] = [];
    const onProgress = (fraction: number) => fractions.push(fraction);
    await using model = await LocalModel.load(modelPath("chat"), { onProgress });
    expect(model.header.architecture).toBe("llama");
    expect(fractions.at(-1)).toBe(1);
    expect(fractions).toEqual([...fractions].sort((a, b) => a - b));
  });

  it("a missing file and a file that is no model are told apart", async () => {
    await expect(LocalModel.load(join(directory, "none.gguf"))).rejects.toMatchObject({
      code: "MODEL_NOT_FOUND",
    });
    const page = join(directory, "page.gguf");
    await writeFile(page, "<html>Not found</html>");
    await expect(LocalModel.load(page)).rejects.toMatchObject({ code: "MODEL_INVALID" });
  });

  it("can be stopped", async () => {
    const controller = new AbortController();
    const loading = LocalModel.load(modelPath("chat"), { signal: controller.signal });
    controller.abort();
    await expect(loading).rejects.toMatchObject({ name: "AbortError" });
  });

  it("the same model can be loaded and closed again and again", async () => {
    for (let round = 0; round < 3; round++) {
      await using model = await LocalModel.load(modelPath("tiny"), {
        context: { contextSize: 256, threads: 1 },
      });
      const { usage } = await model.generate({ prompt: "a", maxTokens: 4, ignoreEos: true }).result;
      expect(usage.completionTokens).toBe(4);
    }
  });
});

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { catalog } from "../../../ts/catalog/load.js";
import { locateModel } from "../../../ts/catalog/locate.js";
import { companionRoles, wantedModel } from "../../../ts/download/wanted.js";
import { pseudoGguf } from "../../helpers/hub-server.js";
import { storeFixture, trusting } from "../../helpers/model-store.js";

const fixture = storeFixture();
const repository = "elizaos/eliza-1";
const tier = () => {
  const entry = catalog().find("eliza-1-2b");
  if (entry === undefined) throw new Error("the tier is not in the catalog");
  return entry;
};

describe("what is wanted of a catalog entry", () => {
  it("names the files by their paths of now and of before", () => {
    expect(wantedModel(tier()).files).toEqual([
      {
        repository,
        path: "bundles/e2b/text/eliza-1-e2b-128k.gguf",
        formerPaths: ["bundles/2b/text/eliza-1-2b-128k.gguf"],
        role: "model",
      },
      {
        repository,
        path: "bundles/e2b/mtp/drafter-e2b.gguf",
        formerPaths: ["bundles/2b/mtp/drafter-2b.gguf"],
        role: "drafter",
        optional: true,
      },
    ]);
  });

  it("has a former path for a file whose folder alone was renamed, and none where nothing was", () => {
    const [, vad] = wantedModel(tier(), undefined, ["vad"]).files;
    expect(vad?.formerPaths).toEqual(["bundles/2b/vad/silero-vad-v5.gguf"]);
    const other = catalog().find("qwen3-4b");
    expect(other && wantedModel(other).files[0]).not.toHaveProperty("formerPaths");
  });

  it("has the folders of the hub for transcription and speech, whatever they are called there", () => {
    const [, transcription, speech] = wantedModel(tier(), undefined, ["speech", "transcription"]).files;
    expect([transcription?.role, transcription?.path]).toEqual([
      "transcription",
      "bundles/e2b/asr/mmproj-audio-e2b-bf16.gguf",
    ]);
    expect([speech?.role, speech?.path]).toEqual(["speech", "bundles/e2b/tts/kokoro/kokoro-82m-v1_0.gguf"]);
  });

  it("names companions by today's words and by those of earlier versions", () => {
    expect(companionRoles("audio, speech,drafter")).toEqual(["transcription", "speech", "drafter"]);
    expect(companionRoles("none")).toEqual([]);
    expect(() => companionRoles("sound")).toThrow(/"sound" is not a companion/);
  });

  it("is found on a hub that still has the former paths, and then on this machine", async () => {
    const [text, drafter] = [pseudoGguf(3000, 1), pseudoGguf(2000, 2)];
    fixture.hub.put(repository, "bundles/2b/text/eliza-1-2b-128k.gguf", text);
    fixture.hub.put(repository, "bundles/2b/mtp/drafter-2b.gguf", drafter);
    const store = fixture.open(trusting);
    const model = await store.pull(wantedModel(tier()));
    const folder = join(fixture.models, repository, "bundles", "2b");
    expect(model).toMatchObject({
      catalogId: "eliza-1-2b",
      path: join(folder, "text", "eliza-1-2b-128k.gguf"),
      bytes: 5000,
    });
    const findInstalled = (id: string) => store.findInstalled(id);
    const located = await locateModel("eliza-1-2b", {
      modelsDir: fixture.models,
      catalog: catalog(),
      findInstalled,
    });
    expect(located).toMatchObject({
      path: model.path,
      companions: { drafter: join(folder, "mtp", "drafter-2b.gguf") },
    });
  });

  it("is fetched by its path of now where a hub has both", async () => {
    fixture.hub.put(repository, "bundles/2b/text/eliza-1-2b-128k.gguf", pseudoGguf(3000, 1));
    fixture.hub.put(repository, "bundles/e2b/text/eliza-1-e2b-128k.gguf", pseudoGguf(4000, 1));
    const plan = await fixture.open().plan(wantedModel(tier()));
    expect(plan.files.map(({ reference }) => reference.file)).toEqual([
      "bundles/e2b/text/eliza-1-e2b-128k.gguf",
    ]);
    expect(plan.missing).toEqual(["bundles/e2b/mtp/drafter-e2b.gguf"]);
  });
});

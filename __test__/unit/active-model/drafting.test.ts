import { describe, expect, it } from "vitest";
import { speculationCapability } from "../../../ts/active-model/capabilities.js";
import {
  chosenFor,
  drafterFile,
  draftFields,
  draftOptions,
  draftWarnings,
} from "../../../ts/active-model/drafting.js";
import type { ChosenDrafter, ModelFiles } from "../../../ts/active-model/load-types.js";
import { runtimeForTier } from "../../../ts/active-model/runtime-for-tier.js";
import { catalog } from "../../../ts/catalog/load.js";

// What drafts for a model that brings no drafter: LOCAL_DRAFTER.

const on = { speculationDisabled: false };
const off = { speculationDisabled: true };
const FILE: ChosenDrafter = { kind: "file", path: "/models/small.gguf" };
const MISSING: ChosenDrafter = { kind: "missing", reason: "There is no model small." };
const files = (chosenDrafter?: ChosenDrafter, drafter?: string): ModelFiles => ({
  path: "/models/own.gguf",
  chosenDrafter,
  drafter,
});
const optionsOf = (chosen: ChosenDrafter) => draftOptions(draftFields(undefined, files(chosen), on));
const facts = { flashAttention: "auto", kvTypeK: "f16", kvTypeV: "f16" } as const;

function tierWithDrafter() {
  const tier = catalog().tiers.find(({ companions }) => companions.drafter !== undefined);
  const runtime = tier && runtimeForTier(tier);
  if (runtime === undefined) throw new Error("no tier has a drafter");
  return runtime;
}

describe("a chosen drafter", () => {
  it("reaches the engine as an option of the context, its heads also as one of the model", () => {
    expect(optionsOf(FILE)).toEqual({ context: { drafter: "/models/small.gguf" } });
    expect(optionsOf({ kind: "heads" })).toEqual({ context: { heads: true }, load: { heads: true } });
    expect(optionsOf({ kind: "ngram" })).toEqual({ context: { ngram: true } });
    expect(draftOptions({})).toEqual({});
  });

  it("says that it comes from a setting, and which file must stay", () => {
    const fields = draftFields(undefined, files(FILE), on);
    expect(fields.drafter).toEqual({ value: FILE, from: "setting" });
    expect(drafterFile(fields)).toBe("/models/small.gguf");
    expect(drafterFile(draftFields(undefined, files({ kind: "ngram" }), on))).toBeUndefined();
  });

  it("gives way to the drafter of a tier", () => {
    const fields = draftFields(tierWithDrafter(), files(FILE, "/models/drafter.gguf"), on);
    expect(fields.drafter?.from).toBe("catalog");
    expect(drafterFile(fields)).toBe("/models/drafter.gguf");
  });

  it("does not draft for itself", () => {
    const itself = { path: "/models/small.gguf", chosenDrafter: FILE };
    expect(draftFields(undefined, itself, on)).toEqual({});
    expect(draftWarnings("small", undefined, itself, on)).toEqual([]);
    expect(speculationCapability({ ...facts, ...on, chosenDrafter: chosenFor(itself) }).state).toBe("absent");
    expect(chosenFor(files(FILE))).toBe(FILE);
  });

  it("that is not there is a warning, and the model answers without it", () => {
    expect(draftFields(undefined, files(MISSING), on)).toEqual({});
    expect(draftWarnings("own", undefined, files(MISSING), on)).toEqual([
      "LOCAL_DRAFTER cannot be used, and own runs without it: There is no model small.",
    ]);
  });

  it("is off with ELIZA_MTP_DISABLE, whatever kind it is", () => {
    for (const chosen of [FILE, { kind: "heads" }, { kind: "ngram" }, MISSING] as ChosenDrafter[]) {
      expect(draftFields(undefined, files(chosen), off)).toEqual({});
      expect(draftWarnings("own", undefined, files(chosen), off)).toEqual([]);
      const capability = speculationCapability({ ...facts, ...off, chosenDrafter: chosen });
      expect(capability).toMatchObject({
        state: "inactive",
        reason: expect.stringMatching(/ELIZA_MTP_DISABLE/),
      });
    }
  });

  it("is a capability in words", () => {
    const of = (chosenDrafter?: ChosenDrafter) => speculationCapability({ ...facts, ...on, chosenDrafter });
    expect(of(FILE)).toEqual({ id: "speculation", state: "active", reason: "drafts with small.gguf" });
    expect(of({ kind: "ngram" })).toMatchObject({
      state: "active",
      reason: expect.stringMatching(/repetitions/),
    });
    expect(of({ kind: "heads" })).toMatchObject({
      state: "active",
      reason: expect.stringMatching(/if it has any/),
    });
    expect(of(MISSING)).toEqual({ id: "speculation", state: "absent", reason: "There is no model small." });
    expect(of()).toMatchObject({
      state: "absent",
      reason: expect.stringMatching(/LOCAL_DRAFTER names none/),
    });
  });
});

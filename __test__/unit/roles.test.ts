import { describe, expect, it } from "vitest";
import {
  ACTIVE_ROLES,
  COMPANION_ROLES,
  companionRole,
  KIND_OF,
  MEMORY_ROLES,
  modelFor,
  ROLE_WORDS,
  ROLES,
  rolesOfKind,
  SETTING_OF,
} from "../../ts/roles.js";
import { SETTINGS } from "../../ts/settings/settings.js";

describe("the table of roles", () => {
  it("has one row for everything that a model is used for", () => {
    expect(ROLES).toEqual([
      "small",
      "large",
      "embedding",
      "vision",
      "transcription",
      "speech",
      "vad",
      "wake-word",
      "drafter",
    ]);
  });

  it("says which roles have an active model, and which setting names it", () => {
    expect(ACTIVE_ROLES).toEqual(["small", "large", "embedding"]);
    expect(KIND_OF).toEqual({ small: "text", large: "text", embedding: "embedding" });
    expect(rolesOfKind("text")).toEqual(["small", "large"]);
    for (const role of ACTIVE_ROLES) expect(SETTINGS).toHaveProperty(SETTING_OF[role]);
  });

  it("says which files a catalog model can bring", () => {
    expect(COMPANION_ROLES).toEqual(["embedding", "vision", "transcription", "speech", "vad", "drafter"]);
  });

  it("has the priorities of memory, with one role for text", () => {
    expect(MEMORY_ROLES).toEqual({
      text: 100,
      embedding: 25,
      vision: 20,
      transcription: 40,
      speech: 50,
      vad: 35,
      "wake-word": 35,
      drafter: 10,
    });
  });

  it("has a word of the command line for each active role, and one for both text roles", () => {
    expect([...ROLE_WORDS]).toEqual([
      ["text", ["small", "large"]],
      ["small", ["small"]],
      ["large", ["large"]],
      ["embedding", ["embedding"]],
    ]);
  });
});

it("small and large stand in for each other, embedding for nothing", () => {
  expect(modelFor({ large: "big" }, "small")).toBe("big");
  expect(modelFor({ small: "tiny" }, "large")).toBe("tiny");
  expect(modelFor({ small: "tiny", large: "big" }, "large")).toBe("big");
  expect(modelFor({ large: "big" }, "embedding")).toBeUndefined();
});

it.each([
  ["audio", "transcription"],
  ["asr", "transcription"],
  ["tts", "speech"],
  ["speech", "speech"],
  ["drafter", "drafter"],
  ["wake-word", undefined],
  ["model", undefined],
])("the word %s means the companion role %s", (word, role) => {
  expect(companionRole(word)).toBe(role);
});

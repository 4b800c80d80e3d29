import { describe, expect, it } from "vitest";
import { parseOverrides } from "../../../ts/active-model/overrides.js";

describe("overrides of a load", () => {
  it("have the names of elizaOS or those of the engine", () => {
    const eliza = { cacheTypeK: "q8_0", cacheTypeV: "F16", mmap: false, mlock: true, maxThreads: 3 };
    const own = { kvTypeK: "q8_0", kvTypeV: "f16", useMmap: false, useMlock: true, threads: 3 };
    expect(parseOverrides(eliza)).toEqual(own);
    expect(parseOverrides(own)).toEqual(own);
  });

  it.each([
    [{ mmap: true, useMmap: false }, /mmap and useMmap are the same option: give one/],
    [{ kvTypeK: "q4_k" }, /kvTypeK: must be one of f32, f16/],
    [{ contextSize: 100 }, /contextSize/],
    [{ contextSize: 4096.5 }, /contextSize/],
    [{ cacheTypeK: "q4_k" }, /cacheTypeK: must be one of f32, f16/],
    [{ cacheTypeV: "turbo3" }, /cacheTypeV.*"turbo3"/],
    [{ gpuLayers: -1 }, /gpuLayers/],
    [{ maxThreads: 0 }, /maxThreads/],
    [{ draftMax: 4 }, /draftMax: cannot be overridden/],
    [{ flashAttention: "yes" }, /flashAttention/],
    ["text", /Bad load overrides/],
  ])("%j is refused", (overrides, message) => {
    const parse = () => parseOverrides(overrides);
    expect(parse).toThrow(message);
    expect(parse).toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
  });
});

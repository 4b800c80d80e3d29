import { describe, expect, it } from "vitest";
import { attemptOf } from "../../../ts/handlers/attempt.js";

describe("the second attempt", () => {
  const again = (request: object) => attemptOf(request, 2);

  it("differs from the first, and is the same each time", () => {
    expect(again({ seed: 7, temperature: 1 })).toEqual({ seed: 8, temperature: 1 });
    expect(again({ seed: 7 })).toEqual(again({ seed: 7 }));
  });

  it("never has the seed that asks for a random one", () => {
    expect(again({ seed: 0xffff_fffe })).toEqual({ seed: 0 });
  });

  it("draws where the first took the likeliest token, from a fixed seed", () => {
    expect(again({ temperature: 0 })).toEqual({ seed: 1, temperature: 0.7 });
    expect(again({ temperature: 0, topK: 20, seed: 3 })).toEqual({ seed: 4, temperature: 0.7, topK: 20 });
    expect(again({ topK: 1 })).toEqual({ seed: 1 });
  });

  it("is random where the first was", () => {
    expect(again({ temperature: 1 })).toEqual({ temperature: 1 });
  });

  it("leaves the first as it was asked for", () => {
    const request = { seed: 7, temperature: 0 };
    expect(attemptOf(request, 1)).toBe(request);
  });
});

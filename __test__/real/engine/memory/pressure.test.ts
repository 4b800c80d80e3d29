import { expect, it } from "vitest";
import { pressureNow } from "../../../../ts/engine/memory/shared.js";

it("this machine can be looked at", async () => {
  const { level, reason } = await pressureNow();
  expect(["none", "moderate", "critical"]).toContain(level);
  expect(reason).not.toBe("");
});

// Runs before each file of the tiers without the real addon: a file that loads it all the same is in the wrong folder.
import { createRequire } from "node:module";
import { afterAll, expect } from "vitest";

const { cache } = createRequire(import.meta.url);

afterAll(() => {
  const loaded = Object.keys(cache).filter((file) => /local-inference[^/]*\.node$/.test(file));
  expect(loaded, "this test loads the addon: its place is __test__/real").toEqual([]);
});

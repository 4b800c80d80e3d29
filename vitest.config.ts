import { defineConfig } from "vitest/config";

// A test's folder tells what it runs on. `unit`: no addon. `fake`: the stand-in of __test__/helpers/fake-native.ts.
// `real`: the addon that was built, with real models. CONTRIBUTING.md says when to use which.
const tier = (name: string, test: object) => ({
  extends: true as const,
  test: { name, include: [`__test__/${name}/**/*.test.ts`], ...test },
});

// Files that load no model may run side by side, before the others.
const withoutAddon = {
  setupFiles: ["__test__/helpers/without-addon.ts"],
  maxWorkers: 2,
  fileParallelism: true,
  sequence: { groupOrder: 0 },
};

export default defineConfig({
  test: {
    environment: "node",
    pool: "forks",
    // Model weights and the llama.cpp backend are per process: one worker keeps memory and threads bounded.
    maxWorkers: 1,
    fileParallelism: false,
    // A busy machine decodes 30-100 times slower than an idle one; a test must not fail for that.
    testTimeout: 300_000,
    hookTimeout: 600_000,
    teardownTimeout: 60_000,
    // Set before the addon loads the OpenMP runtime, which reads them once.
    env: { OMP_THREAD_LIMIT: "2", LOG_LEVEL: "error" },
    projects: [
      tier("unit", withoutAddon),
      tier("fake", withoutAddon),
      tier("real", { sequence: { groupOrder: 1 } }),
    ],
  },
});

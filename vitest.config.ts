import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["__test__/**/*.test.ts"],
    environment: "node",
    // Model weights and the llama.cpp backend are per process: one worker keeps memory and threads bounded.
    pool: "forks",
    maxWorkers: 1,
    fileParallelism: false,
    // A busy machine decodes 30-100 times slower than an idle one; a test must not fail for that.
    testTimeout: 300_000,
    hookTimeout: 600_000,
    teardownTimeout: 60_000,
    // Set before the addon loads the OpenMP runtime, which reads them once.
    env: { OMP_THREAD_LIMIT: "2", LOG_LEVEL: "error" },
  },
});

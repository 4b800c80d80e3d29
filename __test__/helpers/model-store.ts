import { readFileSync } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { ModelStore, type StoreOptions } from "../../ts/download/store.js";
import { setNativeForTests } from "../../ts/native/addon.js";
import { startHub, type TestHub } from "./hub-server.js";
import { modelPath } from "./models.js";

/** A real model file of 2.8 MB. */
export const tiny = readFileSync(modelPath("tiny"));

/** Does not look into files. */
export const trusting = { readHeader: async () => undefined };

export interface StoreFixture {
  hub: TestHub;
  /** The models folder. */
  models: string;
  warnings: string[];
  open(options?: Partial<StoreOptions>): ModelStore;
}

/** A hub and an empty models folder for each test of a file. */
export function storeFixture(): StoreFixture {
  const fixture: StoreFixture = {
    hub: undefined as unknown as TestHub,
    models: "",
    warnings: [],
    open: (options = {}) =>
      new ModelStore({
        modelsDir: fixture.models,
        baseUrl: fixture.hub.url,
        environment: {},
        scanPrograms: false,
        warn: (message) => fixture.warnings.push(message),
        download: { reserveBytes: 0, retry: { attempts: 3, baseDelayMs: 1, maxDelayMs: 5 } },
        ...options,
      }),
  };
  beforeEach(async () => {
    setNativeForTests(undefined);
    fixture.hub = await startHub();
    fixture.models = await realpath(await mkdtemp(join(tmpdir(), "store-")));
    fixture.warnings = [];
  });
  afterEach(async () => {
    await fixture.hub.close();
    await rm(fixture.models, { recursive: true, force: true });
  });
  return fixture;
}

import { totalmem } from "node:os";
import type {
  FitAssessment,
  FitOptions,
  LoadOptions,
  ModelShape,
  NativeAddon,
} from "../../ts/native/addon.js";
import { setNativeForTests } from "../../ts/native/addon.js";
import { FakeCalls } from "./fake-calls.js";
import { FakeModel } from "./fake-model.js";
import type { Script } from "./fake-script.js";

/** A stand-in for the addon that records how it was called. */
export class Fake extends FakeCalls {
  get addon(): NativeAddon {
    const addon = {
      readHeader: async (path: string) => {
        this.headers.push(path);
        return this.header(path);
      },
      readShape: async () => ({ ...SHAPE, contextLength: this.script.header?.contextLength ?? 2048 }),
      assessFit: (shape: ModelShape, options: FitOptions) => this.#assess(shape, options),
      defaultHeadroom: () => 0,
      hardwareFacts: async () => ({
        ...HARDWARE,
        memoryTotal: this.script.memoryLimit ?? totalmem(),
        memoryAvailable: this.script.memoryAvailable ?? 1000,
      }),
      backendInfo: async () => ({
        cpuLevels: [],
        devices: [],
        deviceMemoryFree: 0,
        failures: [],
        llamaVersion: "",
        systemInfo: "",
      }),
      accelerators: async () => [],
      powerState: async () => ({}),
      loadModel: (path: string, options: LoadOptions) => this.#load(path, options),
      takeLogs: () => this.logs.splice(0),
      setLogLevel: (level: string) => {
        this.logLevel = level;
      },
      errorCodes: () => [],
    };
    return addon as unknown as NativeAddon;
  }

  /** A model needs what the script says, whatever its shape. */
  #assess(shape: ModelShape, options: FitOptions): FitAssessment {
    const neededBytes = this.script.neededBytes ?? 1;
    const missingBytes = Math.max(0, neededBytes - options.memoryAvailable);
    return {
      fits: missingBytes === 0,
      contextSize: options.contextSize ?? shape.contextLength,
      kvTypeK: (options.kvTypeK ?? "f16") as "f16",
      kvTypeV: (options.kvTypeV ?? "f16") as "f16",
      windows: "full",
      weightBytes: neededBytes,
      tokenizerBytes: 0,
      kvBytes: 0,
      computeBytes: 0,
      neededBytes,
      budgetBytes: options.memoryAvailable,
      missingBytes,
      largestContext: missingBytes === 0 ? shape.contextLength : 0,
      reason: "fake",
    };
  }

  #load(path: string, options: LoadOptions) {
    this.loads.push({ path, options });
    let cancel: () => void = () => {};
    const cancelled = new Promise<never>((_, reject) => {
      cancel = () => {
        this.cancelledLoads += 1;
        reject(new Error("CANCELLED: the load was stopped"));
      };
    });
    const result = async () => {
      await Promise.race([this.held(this.script.holdLoads), cancelled]);
      const error = this.script.loadError;
      const message = typeof error === "function" ? error(path) : error;
      if (message !== undefined) throw new Error(message);
      return new FakeModel(this, path);
    };
    return { progress: () => 0.5, cancel: () => cancel(), result };
  }
}

const SHAPE: ModelShape = {
  weightBytes: 1,
  contextLength: 2048,
  layers: [],
  stateBytes: 0,
  vocabularySize: 256,
  merges: 0,
  embeddingLength: 8,
  layerInputs: 0,
  feedForwardLength: 8,
  heads: 1,
  queryLength: 8,
};

const HARDWARE = {
  cpuModel: "fake",
  architecture: "x86_64",
  physicalCores: 1,
  logicalCores: 1,
  cpuLimit: 1,
  features: [],
};

/** Puts a fake addon in the place of the real one. */
export function useFake(script: Script = {}): Fake {
  const fake = new Fake(script);
  setNativeForTests(fake.addon);
  return fake;
}

import { totalmem } from "node:os";
import { callNative, loadNative, type ModelShape } from "../native/addon.js";
import { forwardLogs } from "../native/logs.js";
import { hardwareFacts } from "../native/machine.js";
import type { LoadOptions } from "./load-options.js";
import { LocalModel } from "./model.js";
import type { ModelNeed, WeightsFormat } from "./resident.js";
import type { ModelSpec } from "./specs.js";

/** Weights that llama.cpp loads. */
export const GGUF: WeightsFormat<LocalModel> = {
  name: "gguf",
  async load({ path, load }, signal) {
    try {
      return await LocalModel.load(path, { ...(await withMapping(load)), signal });
    } finally {
      forwardLogs();
    }
  },
};

/** What a GGUF and a context of `tokens` take, by the file's header. */
export async function ggufNeed(spec: ModelSpec, tokens: (shape: ModelShape) => number): Promise<ModelNeed> {
  const addon = await loadNative();
  const [shape, { memoryTotal }] = await Promise.all([
    callNative(() => addon.readShape(spec.path)),
    callNative(() => addon.hardwareFacts()),
  ]);
  const options = { memoryAvailable: Number.MAX_SAFE_INTEGER, contextSize: tokens(shape) };
  const { neededBytes, kvBytes } = await callNative(() => addon.assessFit(shape, options));
  const headroomBytes = spec.load?.memoryHeadroomBytes ?? addon.defaultHeadroom(memoryTotal);
  return { bytes: neededBytes, headroomBytes, cacheBytes: kvBytes };
}

/**
 * Whether weights are mapped, where the spec does not say.
 *
 * A control group is charged for the pages of a mapped file as long as the kernel keeps them, also when the model has
 * left: they would count as used when the next model asks for room. So weights are read into memory of their own there.
 */
async function withMapping(load: LoadOptions = {}): Promise<LoadOptions> {
  if (load.useMmap !== undefined || load.useMlock === true) return load;
  const { memoryTotal } = await hardwareFacts();
  // Systems count the memory of a machine a little differently.
  return memoryTotal < totalmem() * 0.95 ? { ...load, useMmap: false } : load;
}

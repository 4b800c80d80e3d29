import { type BackendInfo, callNative, type HardwareFacts, loadNative } from "./native.js";

/** The compute devices of this process and why others are missing. @throws LocalInferenceError `BACKEND_UNAVAILABLE`. */
export async function backendInfo(): Promise<BackendInfo> {
  const addon = await loadNative();
  return callNative(() => addon.backendInfo());
}

/** Processor and memory that this process may use, container limits counted. @throws LocalInferenceError */
export async function hardwareFacts(): Promise<HardwareFacts> {
  const addon = await loadNative();
  return callNative(() => addon.hardwareFacts());
}

import {
  type Accelerator,
  type BackendInfo,
  callNative,
  type HardwareFacts,
  loadNative,
  type PowerState,
} from "./addon.js";

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

/** Accelerators that the machine has, whether or not a module for them is installed. @throws LocalInferenceError */
export async function accelerators(): Promise<Accelerator[]> {
  const addon = await loadNative();
  return callNative(() => addon.accelerators());
}

/** Battery and temperature of the moment. @throws LocalInferenceError */
export async function powerState(): Promise<PowerState> {
  const addon = await loadNative();
  return callNative(() => addon.powerState());
}

/** What a choice of model depends on. Memory in bytes. */
export interface Machine {
  /** As Node.js names it: `linux`, `darwin`, `win32`, `android`. */
  readonly platform: string;
  readonly hardware: HardwareFacts;
  /** What can compute here, by the loaded modules. */
  readonly devices: BackendInfo["devices"];
  /** What else the machine has. */
  readonly accelerators: readonly Accelerator[];
}

/** What a load depends on: as {@link machineFacts}, without starting drivers that are not used. */
export async function computeFacts(): Promise<Machine> {
  const [hardware, { devices }] = await Promise.all([hardwareFacts(), backendInfo()]);
  return { platform: process.platform, hardware, devices, accelerators: [] };
}

/** This machine as it is now. Starts the backend. @throws LocalInferenceError `BACKEND_UNAVAILABLE`. */
export async function machineFacts(): Promise<Machine> {
  const [facts, found] = await Promise.all([computeFacts(), accelerators()]);
  return { ...facts, accelerators: found };
}

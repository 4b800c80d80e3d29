import { machineCapabilities } from "../active-model/capabilities.js";
import type { Capability } from "../active-model/capability.js";
import type { Accelerator, BackendInfo, HardwareFacts, PowerState } from "../native/addon.js";
import { backendInfo, accelerators as detected, hardwareFacts, powerState } from "../native/machine.js";

/** What this machine has, and what of it this package uses. */
export interface MachineView {
  readonly facts: HardwareFacts;
  readonly backend: BackendInfo;
  /** Accelerators, whether or not this installation can use them. */
  readonly accelerators: readonly Accelerator[];
  readonly capabilities: readonly Capability[];
  /** Battery and temperature, as far as the system reports them. */
  readonly power: PowerState;
  /** One line: what computes, and why not something faster. */
  readonly reason: string;
}

/** @throws LocalInferenceError `BACKEND_UNAVAILABLE`. */
export async function machineView(): Promise<MachineView> {
  const all = [hardwareFacts(), backendInfo(), detected(), powerState()] as const;
  const [facts, backend, accelerators, power] = await Promise.all(all);
  const machine = { platform: process.platform, hardware: facts, devices: backend.devices, accelerators };
  const capabilities = machineCapabilities(machine);
  return { facts, backend, accelerators, capabilities, power, reason: reasonOf(backend, capabilities) };
}

function reasonOf(backend: BackendInfo, capabilities: readonly Capability[]): string {
  const gpu = backend.devices.find(({ kind }) => kind === "gpu" || kind === "igpu");
  if (gpu !== undefined)
    return `${gpu.backend} on ${gpu.description}, the fastest device that is usable here`;
  const cpu = `the processor, with the kernels for ${backend.cpuModule ?? "any CPU"}`;
  const idle = capabilities.filter(({ id, state }) => id.startsWith("gpu:") && state === "inactive");
  return idle.length === 0
    ? `${cpu}; no accelerator was found`
    : `${cpu}; ${idle.map(({ reason }) => reason).join("; ")}`;
}

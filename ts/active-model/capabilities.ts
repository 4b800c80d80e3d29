import type { CatalogEntry } from "../catalog/schema.js";
import type { Machine } from "../native/machine.js";
import type { Capability } from "./capability.js";
import { describeDrafter } from "./drafting.js";
import type { ChosenDrafter } from "./load-types.js";
import type { TierRuntime } from "./runtime-for-tier.js";

/** What this version of the package can do. Change it when the build can do more. */
const BUILD = {
  contextCheckpoints: false,
  vision: false,
  audio: false,
} as const;

/** The facts that capabilities depend on. */
export interface LoadFacts {
  readonly entry?: CatalogEntry | undefined;
  readonly runtime?: TierRuntime | undefined;
  readonly flashAttention: "auto" | "on" | "off";
  readonly kvTypeK: string;
  readonly kvTypeV: string;
  /** Path of the drafter, when it is on this machine. */
  readonly drafter?: string | undefined;
  /** What LOCAL_DRAFTER names. */
  readonly chosenDrafter?: ChosenDrafter | undefined;
  readonly speculationDisabled: boolean;
  /** Path of the image projector, when it is on this machine. */
  readonly vision?: string | undefined;
}

/** Which features of the model, the build and the machine a load uses. */
export function modelCapabilities(load: LoadFacts): Capability[] {
  return [
    flashAttention(load),
    { id: "kv-cache", state: "active", reason: `llama.cpp's own, ${kvText(load)}` },
    speculationCapability(load),
    checkpoints(load),
    vision(load),
    ...(load.entry?.provenance.declaredKernels ?? []).map(kernel),
  ];
}

/** The processors that a machine has: those with a loaded module, and those with a driver only. */
export function machineCapabilities(machine: Machine): Capability[] {
  const usable = new Set(
    machine.devices.filter(({ kind }) => kind !== "cpu").map(({ backend }) => backend.toLowerCase()),
  );
  const probed = machine.accelerators.map(({ backend, available, devices, reason }): Capability => {
    const id = `gpu:${backend}`;
    const names = devices.map(({ name }) => name).join(", ") || "a GPU";
    if (usable.has(backend)) return { id, state: "active", reason: names };
    if (!available) return { id, state: "absent", reason: reason ?? "not found" };
    return {
      id,
      state: "inactive",
      reason: `${names} has a working driver, but this build has no ${backend} module`,
    };
  });
  const others = [...usable].filter(
    (backend) => !machine.accelerators.some((one) => one.backend === backend),
  );
  return [
    { id: "cpu", state: "active", reason: machine.hardware.cpuModel },
    ...others.map((backend): Capability => ({ id: `gpu:${backend}`, state: "active", reason: backend })),
    ...probed,
  ];
}

/** Speculative decoding, with the reason that the log, the routes and the command line show. */
export function speculationCapability({
  runtime,
  drafter,
  chosenDrafter,
  speculationDisabled,
}: LoadFacts): Capability {
  const id = "speculation";
  if (runtime?.mtp === undefined && chosenDrafter === undefined) {
    return { id, state: "absent", reason: "no drafter is made for this model, and LOCAL_DRAFTER names none" };
  }
  if (speculationDisabled) return { id, state: "inactive", reason: "switched off by ELIZA_MTP_DISABLE" };
  if (runtime?.mtp !== undefined && drafter !== undefined) {
    return { id, state: "active", reason: `drafts up to ${runtime.mtp.draftMax} at a time with ${drafter}` };
  }
  if (chosenDrafter !== undefined) {
    const state = chosenDrafter.kind === "missing" ? "absent" : "active";
    return { id, state, reason: describeDrafter(chosenDrafter) };
  }
  return { id, state: "absent", reason: `the drafter ${runtime?.mtp?.drafterFile} is not on this machine` };
}

function flashAttention({ flashAttention: mode }: LoadFacts): Capability {
  const id = "flash-attention";
  if (mode === "off") return { id, state: "inactive", reason: "switched off" };
  return { id, state: "active", reason: mode === "on" ? "on" : "on where the device supports it" };
}

function checkpoints({ runtime }: LoadFacts): Capability {
  const id = "context-checkpoints";
  if (runtime === undefined) return { id, state: "absent", reason: "not needed by this model" };
  return BUILD.contextCheckpoints
    ? { id, state: "active", reason: `${runtime.optimizations.ctxCheckpoints} per conversation` }
    : {
        id,
        state: "inactive",
        reason: "not active: this build keeps no copies of the sliding-window state yet",
      };
}

function vision({ entry, vision: projector }: LoadFacts): Capability {
  const id = "vision";
  if (projector === undefined) {
    const file = entry?.companions.vision?.file;
    const reason =
      file === undefined ? "no image projector is known for this model" : `${file} is not on this machine`;
    return { id, state: "absent", reason };
  }
  return BUILD.vision
    ? { id, state: "active", reason: projector }
    : { id, state: "inactive", reason: "not active: this build does not read images yet" };
}

function kernel(name: string): Capability {
  return {
    id: `kernel:${name}`,
    state: "absent",
    reason:
      "named by the published manifest; not part of llama.cpp, and the decode path of this model does not use it",
  };
}

function kvText({ kvTypeK, kvTypeV }: LoadFacts): string {
  return kvTypeK === kvTypeV ? kvTypeK : `${kvTypeK} keys and ${kvTypeV} values`;
}

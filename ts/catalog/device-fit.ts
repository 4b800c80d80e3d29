import type { FitAssessment, FitOptions, ModelShape, NativeAddon } from "../native/addon.js";
import type { Machine } from "../native/machine.js";
import { bytesText } from "../support/bytes-text.js";
import { present } from "../support/present.js";
import type { ModelFacts } from "./facts.js";
import type { DeviceClass } from "./schema.js";

/** The arithmetic of the engine. */
export type AssessFit = NativeAddon["assessFit"];

/** Tokens that a conversation with an agent needs. */
const WORKING_CONTEXT = 8192;
/** Fewest tokens with which a chat model is useful. */
export const LEAST_CONTEXT = 1024;

const GIB = 1024 ** 3;
const BIG_GPU = 40 * GIB;

export interface FitRequirements {
  /** Tokens; undefined: as many as fit. */
  readonly contextSize?: number | undefined;
  readonly kvTypeK?: string | undefined;
  readonly kvTypeV?: string | undefined;
  readonly parallel?: number | undefined;
  readonly flashAttention?: "auto" | "on" | "off" | undefined;
  readonly headroomBytes?: number | undefined;
  /** Bytes that will be free in addition: those of the model that leaves. */
  readonly freedBytes?: number | undefined;
}

export interface Fit {
  /**
   * `fits`: with the wanted context, or with {@link WORKING_CONTEXT} or all that the model has. `tight`: with a shorter
   * one, or once other programs give memory back. `no`: not on this machine.
   */
  readonly verdict: "fits" | "tight" | "no";
  /** Where it would be. */
  readonly place: "memory" | "gpu" | "gpu and memory";
  /** The engine's numbers for the memory that is free now. */
  readonly numbers: FitAssessment;
  /** Whether the size of the weights is not known exactly. */
  readonly estimated: boolean;
  /** One line. */
  readonly reason: string;
}

/** What kind of machine this is for inference. */
export function deviceClass(machine: Machine): DeviceClass {
  if (machine.platform === "android" || machine.platform === "ios") return "phone";
  if (machine.platform === "darwin" && machine.hardware.architecture === "aarch64") return "apple";
  const largest = Math.max(0, ...gpus(machine).map(({ memoryTotal }) => memoryTotal));
  if (largest === 0) return "cpu";
  return largest >= BIG_GPU ? "big-gpu" : "gpu";
}

/** Discrete GPUs that this build can use. */
function gpus(machine: Machine): Machine["devices"] {
  return machine.devices.filter(({ kind }) => kind === "gpu");
}

/** Whether and how a model fits on a machine. */
export function fitOf(
  model: ModelFacts,
  machine: Machine,
  assess: AssessFit,
  requirements: FitRequirements = {},
): Fit {
  const places = pools(machine, requirements);
  const numbers = places.map((place) => assess(model.shape, optionsOf(place, requirements)));
  const index = numbers.findIndex((one) => goodEnough(model, one, requirements));
  const chosen = index >= 0 ? index : numbers.length - 1;
  const [place, found] = [places[chosen], numbers[chosen]];
  if (place === undefined || found === undefined) throw new TypeError("a machine has memory");
  const fit = { place: place.name, numbers: found, estimated: model.estimated };
  if (index >= 0) return { ...fit, verdict: "fits", reason: found.reason };
  if (usable(model, found)) {
    const shorter =
      requirements.contextSize === undefined ? found.reason : shortened(found, requirements.contextSize);
    return { ...fit, verdict: "tight", reason: shorter };
  }
  const idle = assess(model.shape, optionsOf({ ...place, available: place.total }, requirements));
  if (goodEnough(model, idle, requirements) || usable(model, idle)) {
    const reason = found.fits
      ? `only ${found.largestContext} tokens fit until other programs free memory`
      : `would fit if other programs freed ${bytesText(found.missingBytes)}`;
    return { ...fit, verdict: "tight", reason };
  }
  return { ...fit, verdict: "no", reason: found.reason };
}

/** Bytes of KV cache for this many tokens with the types that the assessment chose. */
export function kvBytesPerToken(shape: ModelShape, assess: AssessFit, kvType?: string): number {
  const options = { memoryAvailable: Number.MAX_SAFE_INTEGER, memoryHeadroomBytes: 0 };
  const types =
    kvType === undefined ? { kvTypeK: "f16", kvTypeV: "f16" } : { kvTypeK: kvType, kvTypeV: kvType };
  const of = (contextSize: number) => assess(shape, { ...options, ...types, contextSize }).kvBytes;
  const tokens = Math.min(4096, Math.floor(shape.contextLength / 2 / 256) * 256);
  return tokens === 0 ? 0 : (of(2 * tokens) - of(tokens)) / tokens;
}

interface Pool {
  readonly name: Fit["place"];
  readonly available: number;
  readonly total: number;
  readonly headroom: number | undefined;
}

/** Memory that a model can be put into, the fastest first. */
function pools(machine: Machine, { headroomBytes, freedBytes = 0 }: FitRequirements): Pool[] {
  const { memoryAvailable, memoryTotal } = machine.hardware;
  const memory: Pool = {
    name: "memory",
    available: Math.min(memoryTotal, memoryAvailable + freedBytes),
    total: memoryTotal,
    headroom: headroomBytes,
  };
  const own = gpus(machine);
  if (own.length === 0) return [memory];
  const sum = (of: (device: Machine["devices"][number]) => number) =>
    own.reduce((all, one) => all + of(one), 0);
  const [free, total] = [sum(({ memoryFree }) => memoryFree), sum(({ memoryTotal: size }) => size)];
  if (deviceClass(machine) === "apple") {
    // One memory for both; Metal takes a part of it.
    return [
      {
        ...memory,
        name: "gpu",
        available: Math.min(memory.available, free),
        total: Math.min(memory.total, total),
      },
    ];
  }
  // A GPU runs nothing else of importance; its driver needs a little.
  const gpu: Pool = {
    name: "gpu",
    available: free,
    total,
    headroom: headroomBytes ?? Math.min(GIB, total / 20),
  };
  return [
    gpu,
    { ...memory, name: "gpu and memory", available: memory.available + free, total: memory.total + total },
  ];
}

function optionsOf(pool: Pool, requirements: FitRequirements): FitOptions {
  const { contextSize, kvTypeK, kvTypeV, parallel, flashAttention } = requirements;
  return present({
    memoryAvailable: Math.floor(pool.available),
    memoryTotal: Math.floor(pool.total),
    memoryHeadroomBytes: pool.headroom === undefined ? undefined : Math.floor(pool.headroom),
    contextSize,
    kvTypeK,
    kvTypeV,
    parallel,
    flashAttention,
  });
}

function goodEnough(model: ModelFacts, numbers: FitAssessment, requirements: FitRequirements): boolean {
  if (requirements.contextSize !== undefined) return numbers.fits;
  return numbers.fits && numbers.largestContext >= Math.min(WORKING_CONTEXT, model.contextLength);
}

function usable(model: ModelFacts, numbers: FitAssessment): boolean {
  return numbers.largestContext >= Math.min(LEAST_CONTEXT, model.contextLength);
}

function shortened(numbers: FitAssessment, wanted: number): string {
  return `${wanted} tokens need ${bytesText(numbers.missingBytes)} more; ${numbers.largestContext} fit`;
}

import { loadNative } from "../native/addon.js";
import { type Machine, machineFacts } from "../native/machine.js";
import {
  type AssessFit,
  deviceClass,
  type Fit,
  type FitRequirements,
  fitOf,
  LEAST_CONTEXT,
} from "./device-fit.js";
import { factsOfEntry } from "./facts.js";
import { type Catalog, catalog, recommendations } from "./load.js";
import type { CatalogEntry, DeviceClass, Rung } from "./schema.js";
import { chooseVariant, hostedVariants, type VariantChoice } from "./variants.js";

export interface Recommended extends VariantChoice {
  readonly entry: CatalogEntry;
}

export interface Recommendation {
  readonly deviceClass: DeviceClass;
  /** undefined: no model of the catalog fits. */
  readonly chat?: Recommended;
  readonly embedding?: Recommended;
  /** Better models that were passed over, and why. */
  readonly skipped: readonly { readonly id: string; readonly reason: string }[];
}

/**
 * The models to use on this machine. Starts the backend.
 *
 * @throws LocalInferenceError `BACKEND_UNAVAILABLE`
 */
export async function recommend(requirements: FitRequirements = {}): Promise<Recommendation> {
  const [machine, { assessFit }] = await Promise.all([machineFacts(), loadNative()]);
  return recommendFor(machine, catalog(), assessFit, requirements);
}

/**
 * The models to use on a machine. The same machine gets the same answer: what other programs hold counts up to half of
 * the memory, because they come and go; `fit` is about the memory that is free now.
 */
export function recommendFor(
  machine: Machine,
  catalog: Catalog,
  assess: AssessFit,
  requirements: FitRequirements = {},
): Recommendation {
  const kind = deviceClass(machine);
  const idle = machineAtRest(machine);
  const skipped: { id: string; reason: string }[] = [];
  const ladder = recommendations().chat[kind];
  // What a GPU cannot hold is computed by the processor.
  const whole = kind === "gpu" || kind === "big-gpu" ? climb(ladder, { gpuOnly: true }) : undefined;
  // The smallest model with a short context is better than none.
  const last = () => climb([...ladder].reverse(), { gpuOnly: false, tight: true });
  const chat = whole ?? climb(ladder, { gpuOnly: false }) ?? last();
  const embedding = embeddingFor(machine, catalog, assess);
  return {
    deviceClass: kind,
    ...(chat === undefined ? {} : { chat }),
    ...(embedding === undefined ? {} : { embedding }),
    skipped: skipped.filter(({ id }) => id !== chat?.entry.id),
  };

  function climb(
    rungs: readonly Rung[],
    how: { gpuOnly: boolean; tight?: boolean },
  ): Recommended | undefined {
    for (const { id, cores = 1 } of rungs) {
      const entry = catalog.find(id);
      if (entry === undefined) continue;
      const choice = chooseVariant(entry, idle, assess, requirements);
      const reason = obstacle(entry, choice, cores, how);
      if (reason === undefined) return { entry, ...choice, fit: fitNow(entry, choice) };
      if (!skipped.some((one) => one.id === id)) skipped.push({ id, reason });
    }
    return undefined;
  }

  function fitNow(entry: CatalogEntry, { variant, fit }: VariantChoice): Fit {
    return idle.hardware.memoryAvailable === machine.hardware.memoryAvailable
      ? fit
      : fitOf(factsOfEntry(entry, variant), machine, assess, requirements);
  }

  function obstacle(
    entry: CatalogEntry,
    { fit }: VariantChoice,
    cores: number,
    { gpuOnly, tight = false }: { gpuOnly: boolean; tight?: boolean },
  ): string | undefined {
    if (!entry.recommended) return entry.provenance.notes[0] ?? "not recommended";
    if (hostedVariants(entry).length === 0) return "not hosted";
    if (machine.hardware.physicalCores < cores) return `too slow on fewer than ${cores} cores`;
    const enough = fit.verdict === "fits" || (tight && fit.numbers.largestContext >= LEAST_CONTEXT);
    if (!enough) return fit.reason;
    return gpuOnly && fit.place !== "gpu" ? "does not fit the GPU as a whole" : undefined;
  }
}

/** The machine with at most half of its memory in use. */
function machineAtRest(machine: Machine): Machine {
  const { memoryAvailable, memoryTotal } = machine.hardware;
  const least = Math.floor(memoryTotal / 2);
  return { ...machine, hardware: { ...machine.hardware, memoryAvailable: Math.max(memoryAvailable, least) } };
}

function embeddingFor(machine: Machine, catalog: Catalog, assess: AssessFit): Recommended | undefined {
  const gibibytes = machine.hardware.memoryTotal / 1024 ** 3;
  for (const { id } of recommendations().embedding.filter(({ memoryGiB }) => gibibytes >= memoryGiB)) {
    const entry = catalog.find(id);
    if (entry === undefined || !entry.recommended) continue;
    const choice = chooseVariant(entry, machineAtRest(machine), assess);
    if (choice.fit.verdict === "fits") return { entry, ...choice };
  }
  return undefined;
}

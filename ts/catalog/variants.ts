import type { Machine } from "../native/machine.js";
import { bytesText } from "../support/bytes-text.js";
import { type AssessFit, deviceClass, type Fit, type FitRequirements, fitOf } from "./device-fit.js";
import { defaultVariant, factsOfEntry } from "./facts.js";
import type { CatalogEntry, CatalogVariant } from "./schema.js";

export interface VariantChoice {
  readonly variant: CatalogVariant;
  readonly fit: Fit;
  /** One line: why this one. */
  readonly reason: string;
}

/** Quantisations from the most to the least wanted. A CPU is bound by the arithmetic of a format, a GPU by its bytes. */
const ON_CPU = ["Q4_0", "IQ4_NL", "Q4_K_M", "Q5_K_M", "Q6_K", "Q8_0", "F16", "Q3_K_M"];
const ON_GPU = ["Q4_K_M", "Q5_K_M", "Q6_K", "Q8_0", "Q4_0", "IQ4_NL", "F16", "Q3_K_M"];

/** Variants that can be fetched. */
export function hostedVariants(entry: CatalogEntry): readonly CatalogVariant[] {
  return entry.variants.filter(({ file, status }) => file !== null && status !== "planned");
}

/** The variant of a model for a machine: the most wanted that fits, else the most wanted of the smallest. */
export function chooseVariant(
  entry: CatalogEntry,
  machine: Machine,
  assess: AssessFit,
  requirements: FitRequirements = {},
): VariantChoice {
  const onCpu = ["cpu", "phone"].includes(deviceClass(machine));
  const order = onCpu ? ON_CPU : ON_GPU;
  const rank = ({ quantization }: CatalogVariant) =>
    (order.indexOf(quantization) + order.length + 1) % (order.length + 1);
  const hosted = [...hostedVariants(entry)].sort((a, b) => rank(a) - rank(b));
  const tried = (hosted.length > 0 ? hosted : [defaultVariant(entry)]).map((variant) => ({
    variant,
    fit: fitOf(factsOfEntry(entry, variant), machine, assess, requirements),
  }));
  const chosen = tried.find(({ fit }) => fit.verdict === "fits") ?? smallest(tried);
  return { ...chosen, reason: reasonOf(chosen, tried, onCpu) };
}

type Tried = Pick<VariantChoice, "variant" | "fit">;

function smallest(tried: readonly Tried[]): Tried {
  return tried.reduce((best, one) => (needed(one) < needed(best) ? one : best));
}

function needed({ fit }: Tried): number {
  return fit.numbers.weightBytes;
}

function reasonOf(chosen: Tried, tried: readonly Tried[], onCpu: boolean): string {
  const name = chosen.variant.quantization;
  if (tried.length === 1) return `${name}: the only one that is hosted`;
  if (chosen.fit.verdict !== "fits") return `${name}: the smallest one, ${bytesText(needed(chosen))}`;
  const [first] = tried;
  if (first?.variant !== chosen.variant && first !== undefined) {
    return `${name}: ${first.variant.quantization} lacks ${bytesText(first.fit.numbers.missingBytes)}`;
  }
  return onCpu && ["Q4_0", "IQ4_NL"].includes(name)
    ? `${name}: on a CPU it decodes about 1.5 times as fast as Q4_K_M of the same size`
    : `${name}: the best quality for its size`;
}

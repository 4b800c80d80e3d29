import type { Constraint, Part } from "../../engine/text/structured/constraint.js";
import { invalidInput, unavailable } from "../../errors.js";
import { fieldsOf, isRecord } from "../../support/records.js";

export type Span = NonNullable<Constraint["spans"]>[number];

/** The parts that the spans of `responseSkeleton` make: literal text as it is, everything else as JSON. */
export function readSkeleton(skeleton: unknown): Part[] {
  const { spans } = fieldsOf(skeleton);
  if (!Array.isArray(spans) || spans.length === 0) {
    throw invalidInput("responseSkeleton needs spans, an array with at least one.");
  }
  return spans.map(readSpan);
}

function readSpan(span: unknown, index: number): Part {
  const where = `responseSkeleton.spans[${index}]`;
  if (!isRecord(span)) throw invalidInput(`${where} must be an object.`);
  switch (span.kind) {
    case "literal":
      if (typeof span.value !== "string") throw invalidInput(`${where} needs a value.`);
      return { type: "literal", text: span.value };
    case "enum":
      return { type: "choice", options: readEnum(span, where).map((value) => JSON.stringify(value)) };
    case "number":
      return { type: "json", schema: { type: "number" } };
    case "boolean":
      return { type: "json", schema: { type: "boolean" } };
    case "free-string":
      return { type: "json", schema: { type: "string" } };
    case "free-json":
      return { type: "json", schema: {} };
    default:
      throw invalidInput(`${where}.kind ${JSON.stringify(span.kind)} is not known.`);
  }
}

function readEnum(span: Record<string, unknown>, where: string): string[] {
  const values = span.enumValues ?? (span.value === undefined ? undefined : [span.value]);
  if (!Array.isArray(values) || values.length === 0 || values.some((value) => typeof value !== "string")) {
    throw invalidInput(`${where} needs enumValues, an array of strings.`);
  }
  return values;
}

/**
 * The spans of `responseSkeleton` with the samplers that `spanSamplerPlan` of elizaOS 2 sets for them. Of the overrides the
 * likeliest choice (temperature 0 or `topK` 1) is honoured, the only one that elizaOS asks for; others leave a span to the
 * sampling options of the request.
 *
 * @throws LocalInferenceError `LOCAL_INFERENCE_UNAVAILABLE` when the plan is strict and asks for more.
 */
export function readSampledSpans(
  skeleton: unknown,
  plan: unknown,
  form: "skeleton" | "grammar",
): Span[] | undefined {
  if (plan === undefined || plan === null) return undefined;
  const spans = spansOf(skeleton);
  if (spans.length === 0) {
    refuseStrict(plan);
    return undefined;
  }
  const greedy = new Set<number>();
  for (const { spanIndex, temperature, topK } of overridesOf(plan)) {
    if (!isIndex(spanIndex, spans.length)) {
      throw invalidInput(`spanSamplerPlan names span ${spanIndex}, but the skeleton has ${spans.length}.`);
    }
    if (temperature === 0 || topK === 1) greedy.add(spanIndex);
    else if (isStrict(plan)) throw refused("overrides other than temperature 0 and topK 1");
  }
  // A grammar may leave the skeleton, and then it is not known where its spans are.
  if (form === "grammar" && isStrict(plan)) throw refused("spans of a skeleton that a grammar outranks");
  if (greedy.size === 0) return undefined;
  return spans.map(({ kind, value }, index) =>
    kind === "literal" ? { text: value as string } : { greedy: greedy.has(index) },
  );
}

/** @throws LocalInferenceError `LOCAL_INFERENCE_UNAVAILABLE` for a strict plan where there is no skeleton. */
export function refuseStrict(plan: unknown): void {
  if (isStrict(plan)) throw refused("an answer without responseSkeleton");
}

function spansOf(skeleton: unknown): Readonly<Record<string, unknown>>[] {
  const { spans } = fieldsOf(skeleton);
  return Array.isArray(spans) ? spans.map(fieldsOf) : [];
}

function overridesOf(plan: unknown): Readonly<Record<string, unknown>>[] {
  const { overrides } = fieldsOf(plan);
  if (!Array.isArray(overrides)) throw invalidInput("spanSamplerPlan needs overrides, an array.");
  return overrides.map(fieldsOf);
}

function isIndex(value: unknown, length: number): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < length;
}

function isStrict(plan: unknown): boolean {
  return fieldsOf(plan).strict === true;
}

function refused(what: string) {
  return unavailable(
    "capability_unavailable",
    `spanSamplerPlan is strict, but is not honoured for ${what}: leave strict out to go on without.`,
  );
}

import type { Constraint } from "../../engine/text/structured/constraint.js";
import { invalidInput, unavailable } from "../../errors.js";

type Span = NonNullable<Constraint["spans"]>[number];

/**
 * The spans of `responseSkeleton` with what `spanSamplerPlan` of elizaOS 2 says of them. Of the overrides the likeliest
 * choice (temperature 0 or `topK` 1) is honoured, the only one that elizaOS asks for; others leave a span to the sampling
 * options of the request.
 *
 * @throws LocalInferenceError `LOCAL_INFERENCE_UNAVAILABLE` when the plan is strict and asks for more.
 */
export function sampledSpans(
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
    if (!Number.isInteger(spanIndex) || spanIndex < 0 || spanIndex >= spans.length) {
      throw invalidInput(`spanSamplerPlan names span ${spanIndex}, but the skeleton has ${spans.length}.`);
    }
    if (temperature === 0 || topK === 1) greedy.add(spanIndex);
    else if (isStrict(plan)) throw refused("overrides other than temperature 0 and topK 1");
  }
  // A grammar may leave the skeleton, and then it is not known where its spans are.
  if (form === "grammar" && isStrict(plan)) throw refused("spans of a skeleton that a grammar outranks");
  if (greedy.size === 0) return undefined;
  return spans.map(({ kind, value }, index) =>
    kind === "literal" ? { text: value } : { greedy: greedy.has(index) },
  );
}

/** @throws LocalInferenceError `LOCAL_INFERENCE_UNAVAILABLE` for a strict plan where there is no skeleton. */
export function refuseStrict(plan: unknown): void {
  if (isStrict(plan)) throw refused("an answer without responseSkeleton");
}

function spansOf(skeleton: unknown): { kind: unknown; value: string }[] {
  const { spans } = Object(skeleton) as { spans?: unknown };
  return Array.isArray(spans) ? spans : [];
}

function overridesOf(plan: unknown): { spanIndex: number; temperature?: unknown; topK?: unknown }[] {
  const { overrides } = Object(plan) as { overrides?: unknown };
  if (!Array.isArray(overrides)) throw invalidInput("spanSamplerPlan needs overrides, an array.");
  return overrides.map((override: unknown) => Object(override));
}

function isStrict(plan: unknown): boolean {
  return (Object(plan) as { strict?: unknown }).strict === true;
}

function refused(what: string) {
  return unavailable(
    "capability_unavailable",
    `spanSamplerPlan is strict, but is not honoured for ${what}: leave strict out to go on without.`,
  );
}

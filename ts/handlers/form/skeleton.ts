import { type Constraint, type Part, partsConstraint } from "../../engine/text/structured/constraint.js";
import { invalidInput } from "../../errors.js";

/** The spans of `responseSkeleton`: literal text as it is, everything else as JSON. */
export function skeletonConstraint(skeleton: unknown): Constraint {
  const spans = isRecord(skeleton) ? skeleton.spans : undefined;
  if (!Array.isArray(spans) || spans.length === 0) {
    throw invalidInput("responseSkeleton needs spans, an array with at least one.");
  }
  return partsConstraint(spans.map(partOf));
}

function partOf(span: unknown, index: number): Part {
  const where = `responseSkeleton.spans[${index}]`;
  if (!isRecord(span)) throw invalidInput(`${where} must be an object.`);
  switch (span.kind) {
    case "literal":
      if (typeof span.value !== "string") throw invalidInput(`${where} needs a value.`);
      return { type: "literal", text: span.value };
    case "enum":
      return { type: "choice", options: enumOf(span, where).map((value) => JSON.stringify(value)) };
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

function enumOf(span: Record<string, unknown>, where: string): string[] {
  const values = span.enumValues ?? (span.value === undefined ? undefined : [span.value]);
  if (!Array.isArray(values) || values.length === 0 || values.some((value) => typeof value !== "string")) {
    throw invalidInput(`${where} needs enumValues, an array of strings.`);
  }
  return values;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

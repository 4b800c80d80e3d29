import type { Part } from "../../engine/text/structured/constraint.js";
import { present } from "../../support/present.js";
import { fieldsOf, given } from "../../support/records.js";
import type { Params } from "./fields.js";
import { readSampledSpans, readSkeleton, refuseStrict, type Span } from "./skeleton.js";

/** The form that a caller asks an answer to have. */
export type AnswerForm =
  | { readonly kind: "grammar"; readonly grammar: string; readonly spans?: Span[] }
  | { readonly kind: "skeleton"; readonly parts: readonly Part[]; readonly spans?: Span[] }
  | { readonly kind: "schema"; readonly schema: unknown }
  /** Any JSON object. */
  | { readonly kind: "object" };

/**
 * The form of the strongest source: `grammar`, `responseSkeleton`, a schema, `responseFormat`. Weaker ones are not read:
 * elizaOS 2 sends a grammar together with the skeleton that it was made from, and the plan of samplers is the skeleton's.
 */
export function readForm(params: Params): AnswerForm | undefined {
  const { grammar, responseSkeleton: skeleton, spanSamplerPlan: plan, responseFormat } = params;
  if (typeof grammar === "string") {
    return present({ kind: "grammar", grammar, spans: readSampledSpans(skeleton, plan, "grammar") } as const);
  }
  if (given(skeleton)) {
    const parts = readSkeleton(skeleton);
    return present({ kind: "skeleton", parts, spans: readSampledSpans(skeleton, plan, "skeleton") } as const);
  }
  refuseStrict(plan);
  const schema = params.responseSchema ?? params.schema ?? schemaOfFormat(responseFormat);
  if (given(schema)) return { kind: "schema", schema };
  return isJsonFormat(responseFormat) ? { kind: "object" } : undefined;
}

function isJsonFormat(format: unknown): boolean {
  const type = typeof format === "string" ? format : fieldsOf(format).type;
  return type === "json_object" || type === "json";
}

/** The OpenAI form: `{type: "json_schema", json_schema: {schema}}`. */
function schemaOfFormat(format: unknown): unknown {
  const { json_schema: wrapped, schema } = fieldsOf(format);
  return fieldsOf(wrapped).schema ?? schema;
}

import { type Constraint, grammarConstraint } from "../../engine/text/structured/constraint.js";
import { jsonObjectStructure, schemaStructure } from "../../engine/text/structured/schema.js";
import type { Structured } from "../../engine/text/structured/structured.js";
import { skeletonConstraint } from "./skeleton.js";
import { refuseStrict, sampledSpans } from "./span-samplers.js";
import { type TemplateMode, templateStructure } from "./templates.js";

export interface SourceOptions {
  /** The prompt in which reply templates are recognised; undefined: none are. */
  readonly prompt?: string | undefined;
  readonly templates?: TemplateMode | undefined;
}

/**
 * The form that a text request asks for, by its strongest source: `grammar`, `responseSkeleton`, a schema,
 * `responseFormat`, a reply template in the prompt. Tools settle the form themselves: see `engine/request.ts`.
 */
export function structureOf(
  params: Readonly<Record<string, unknown>>,
  options: SourceOptions = {},
): Structured | undefined {
  const form = formOf(params, options);
  const { prefill } = params;
  if (typeof prefill !== "string" || prefill === "" || form === undefined) return form;
  return { ...form, prefill };
}

function formOf(params: Readonly<Record<string, unknown>>, options: SourceOptions): Structured | undefined {
  if (typeof params.grammar === "string") {
    return { constraint: { ...grammarConstraint(params.grammar), ...samplersOf(params, "grammar") } };
  }
  if (given(params.responseSkeleton)) {
    return {
      constraint: { ...skeletonConstraint(params.responseSkeleton), ...samplersOf(params, "skeleton") },
    };
  }
  refuseStrict(params.spanSamplerPlan);
  const schema = params.responseSchema ?? params.schema ?? schemaOfFormat(params.responseFormat);
  if (given(schema)) return schemaStructure(schema);
  if (isJsonFormat(params.responseFormat)) return jsonObjectStructure();
  if (given(params.tools) || options.templates === undefined || options.prompt === undefined)
    return undefined;
  return templateStructure(options.prompt, options.templates);
}

/** elizaOS 2 sends a grammar together with the skeleton that it was made from, and the plan is of the skeleton. */
function samplersOf(
  { responseSkeleton, spanSamplerPlan }: Readonly<Record<string, unknown>>,
  form: "skeleton" | "grammar",
): Pick<Constraint, "spans"> {
  const spans = sampledSpans(responseSkeleton, spanSamplerPlan, form);
  return spans === undefined ? {} : { spans };
}

function isJsonFormat(format: unknown): boolean {
  const type = typeof format === "object" && format !== null ? (format as { type?: unknown }).type : format;
  return type === "json_object" || type === "json";
}

/** The OpenAI form: `{type: "json_schema", json_schema: {schema}}`. */
function schemaOfFormat(format: unknown): unknown {
  if (typeof format !== "object" || format === null) return undefined;
  const { json_schema: wrapped, schema } = format as { json_schema?: { schema?: unknown }; schema?: unknown };
  return wrapped?.schema ?? schema;
}

function given(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}

import { grammarConstraint, partsConstraint } from "../../engine/text/structured/constraint.js";
import type { Structured } from "../../engine/text/structured/structure.js";
import { jsonObjectStructure, schemaStructure } from "../../engine/text/structured/structure.js";
import { present } from "../../support/present.js";
import { given } from "../../support/records.js";
import { type AnswerForm, readForm } from "../request/form.js";
import { type Offered, type TemplateMode, templateStructure } from "./templates.js";

export interface SourceOptions {
  /** The prompt in which reply templates are recognised; undefined: none are. */
  readonly prompt?: string | undefined;
  readonly templates?: TemplateMode | undefined;
  /** What the agent can choose among in an answer. Default: nothing. */
  readonly offered?: Offered | undefined;
}

/**
 * The form that the parameters of a text request ask for, by its strongest source: `grammar`, `responseSkeleton`, a schema,
 * `responseFormat`, a reply template in the prompt. Tools settle the form themselves.
 */
export function structureOf(
  params: Readonly<Record<string, unknown>>,
  options: SourceOptions = {},
): Structured | undefined {
  const structured = structureFor(readForm(params), given(params.tools) ? {} : options);
  const { prefill } = params;
  if (typeof prefill !== "string" || prefill === "" || structured === undefined) return structured;
  return { ...structured, prefill };
}

/** How the engine holds an answer to the form that was asked for, or to that of a reply template where none was. */
export function structureFor(
  form: AnswerForm | undefined,
  { prompt, templates, offered }: SourceOptions,
): Structured | undefined {
  switch (form?.kind) {
    case "grammar":
      return { constraint: present({ ...grammarConstraint(form.grammar), spans: form.spans }) };
    case "skeleton":
      return { constraint: present({ ...partsConstraint(form.parts), spans: form.spans }) };
    case "schema":
      return schemaStructure(form.schema);
    case "object":
      return jsonObjectStructure();
    default:
      return templates && prompt !== undefined ? templateStructure(prompt, templates, offered) : undefined;
  }
}

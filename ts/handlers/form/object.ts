import { invalidInput } from "../../errors.js";

/** The schema of what an OBJECT request wants: `output` says whether `schema` describes an object or an array's items. */
export function objectSchema(params: Readonly<Record<string, unknown>>): unknown {
  const { schema, output = "object", enumValues } = params;
  switch (output) {
    case "enum":
      if (!Array.isArray(enumValues) || enumValues.length === 0) {
        throw invalidInput("output enum needs enumValues, an array of strings.");
      }
      return { enum: enumValues };
    case "array":
      if (isRecord(schema) && schema.type === "array") return schema;
      return { type: "array", items: schema ?? { type: "object" } };
    case "object":
      return schema ?? { type: "object" };
    default:
      throw invalidInput(`output ${JSON.stringify(output)} is not known.`);
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

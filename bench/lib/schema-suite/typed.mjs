// The suite's schemas seldom name a type: a keyword then says something about one type and nothing about the others.
// Schemas for answers do name it, and some engines read no others. Here every schema gets the type that its keywords are
// about, and the instances whose verdict that changes are left out.
import { fromRoot } from "../../../scripts/lib/paths.mjs";

const about = {
  string: ["minLength", "maxLength", "pattern", "format"],
  number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  array: ["items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems", "unevaluatedItems"],
  object: [
    ...["properties", "required", "additionalProperties", "patternProperties", "propertyNames"],
    ...["minProperties", "maxProperties", "dependentRequired", "unevaluatedProperties"],
  ],
};
const maps = new Set(["$defs", "dependentSchemas", "patternProperties", "properties"]);
const lists = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const single = new Set(["additionalProperties", "contains", "items", "propertyNames"]);

/** The cases with types, without instances that the types alone refuse or that are no longer what the suite says. */
export async function typedCases(cases) {
  const { validatorOf } = await import(fromRoot("dist/engine/text/structured/validate.js"));
  const typed = await Promise.all(
    cases.map(async (one) => {
      const schema = withTypes(one.schema);
      const before = await verdict(validatorOf, one.schema);
      const after = await verdict(validatorOf, schema);
      const kept = one.tests.filter(({ data, valid }) => before(data) === valid && after(data) === valid);
      return { ...one, schema, tests: kept };
    }),
  );
  return typed.filter(({ tests }) => tests.length > 0);
}

async function verdict(validatorOf, schema) {
  try {
    const validate = await validatorOf(schema);
    return (data) => validate(JSON.stringify(data)) === undefined;
  } catch {
    return () => undefined;
  }
}

function withTypes(schema) {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return schema;
  const inner = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, within(keyword, value)]),
  );
  const types = Object.keys(about).filter((type) =>
    about[type].some((keyword) => Object.hasOwn(schema, keyword)),
  );
  return types.length === 1 && !Object.hasOwn(schema, "type") ? { type: types[0], ...inner } : inner;
}

function within(keyword, value) {
  if (single.has(keyword)) return withTypes(value);
  if (lists.has(keyword) && Array.isArray(value)) return value.map(withTypes);
  if (!maps.has(keyword)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, withTypes(schema)]));
}

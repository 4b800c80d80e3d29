import { invalidInput } from "../errors.js";

/** Says why a JSON text does not satisfy the schema; undefined when it does. */
export type Validator = (text: string) => string | undefined;

const known = new Map<string, Promise<Validator>>();
const KEPT = 64;

/**
 * A validator of a JSON Schema (draft 2020-12, formats included): the last word on everything that a grammar cannot
 * express. Made once for each schema.
 *
 * @throws LocalInferenceError `INVALID_INPUT` for what is not a schema.
 */
export function validatorOf(schema: unknown): Promise<Validator> {
  const key = JSON.stringify(schema);
  let validator = known.get(key);
  if (validator === undefined) {
    validator = compile(schema);
    if (known.size >= KEPT) known.delete(known.keys().next().value ?? "");
    known.set(key, validator);
    validator.catch(() => known.delete(key));
  }
  return validator;
}

/** Loaded with the first schema: requests without one do not pay for it. */
async function compile(schema: unknown): Promise<Validator> {
  const [{ Ajv2020 }, formats] = await Promise.all([import("ajv/dist/2020.js"), import("ajv-formats")]);
  const ajv = new Ajv2020({ strict: false, allowUnionTypes: true, logger: false });
  // The module is CommonJS; bundlers and Node disagree about where its default export is.
  const add = (formats.default as unknown as { default?: typeof formats.default }).default ?? formats.default;
  (add as unknown as (target: InstanceType<typeof Ajv2020>) => void)(ajv);
  let validate: ReturnType<typeof ajv.compile>;
  try {
    validate = ajv.compile(schema as object);
  } catch (cause) {
    throw invalidInput(`The JSON Schema is not valid: ${messageOf(cause)}.`, { cause });
  }
  return (text) => {
    const value = parsed(text);
    if (value === undefined) return "it is not JSON";
    return validate(value.json) ? undefined : ajv.errorsText(validate.errors, { dataVar: "value" });
  };
}

function parsed(text: string): { json: unknown } | undefined {
  try {
    return { json: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

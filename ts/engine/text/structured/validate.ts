import { invalidInput } from "../../../errors.js";
import { requireSound } from "./soundness.js";

/** Returns why a JSON text does not satisfy the schema; undefined when it does. */
export type Validator = (text: string) => string | undefined;

const known = new Map<string, Promise<Validator>>();
/** More than the tools of one request. */
const KEPT = 512;

/**
 * A validator of a JSON Schema, formats included, which also judges what a grammar cannot express. Made once for each
 * schema. The draft is the one that `$schema` names, or 2020-12.
 *
 * @throws LocalInferenceError `INVALID_INPUT` for a value that is not a schema, and for a schema that ajv cannot use.
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

/** Loads ajv with the first schema: requests without one do not pay for it. */
async function compile(schema: unknown): Promise<Validator> {
  requireSound(schema);
  // With its `$schema`, ajv would refuse a schema of draft 04 or 06, which it does not bring along.
  const { $schema: named, ...rest } = Object(schema) as { $schema?: unknown };
  const [Draft, formats] = await Promise.all([draftOf(String(named)), import("ajv-formats")]);
  // An object has only its own properties: what it inherits, such as `constructor`, is not in the answer.
  const ajv = new Draft({ strict: false, allowUnionTypes: true, logger: false, ownProperties: true });
  // The module is CommonJS; bundlers and Node disagree about where its default export is.
  const add = (formats.default as unknown as { default?: typeof formats.default }).default ?? formats.default;
  (add as unknown as (target: typeof ajv) => void)(ajv);
  let validate: ReturnType<typeof ajv.compile>;
  try {
    validate = ajv.compile(named === undefined ? (schema as object) : rest);
  } catch (cause) {
    throw invalidInput(`The JSON Schema is not valid: ${messageOf(cause)}.`, { cause });
  }
  return (text) => {
    const value = parsed(text);
    if (value === undefined) return "it is not JSON";
    try {
      return validate(value.json) ? undefined : ajv.errorsText(validate.errors, { dataVar: "value" });
    } catch (cause) {
      // References that lead in a circle.
      throw invalidInput(`The JSON Schema cannot be validated: ${messageOf(cause)}.`, { cause });
    }
  };
}

/** Schemas made from zod and those of MCP servers often name draft-07. */
async function draftOf(named: string) {
  if (/draft-0\d/.test(named)) return (await import("ajv")).Ajv;
  if (named.includes("2019-09")) return (await import("ajv/dist/2019.js")).Ajv2019;
  return (await import("ajv/dist/2020.js")).Ajv2020;
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

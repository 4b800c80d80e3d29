import { z } from "zod";
import { LANES, type Lane } from "../engine/text/types.js";

/** A text that is not empty. */
export const text = z.string().trim().min(1);

export function integer(least: number, most = Number.MAX_SAFE_INTEGER): z.ZodType<number, string> {
  return z
    .string()
    .trim()
    .regex(/^-?\d+$/, "must be a whole number")
    .transform(Number)
    .pipe(z.number().int().min(least).max(most));
}

/** `auto` reads as undefined: the engine decides. */
export function autoOr<T>(schema: z.ZodType<T, string>): z.ZodType<T | undefined, string> {
  return z.union([
    z
      .string()
      .trim()
      .regex(/^auto$/i, "must be auto or a value in range")
      .transform(() => undefined),
    schema,
  ]);
}

export function oneOf<const T extends readonly string[]>(values: T): z.ZodType<T[number], string> {
  return z.string().trim().toLowerCase().pipe(z.enum(values));
}

export const webAddress: z.ZodType<string, string> = z
  .string()
  .trim()
  .regex(
    /^https?:\/\/[^\s/?#@]+(\/[^\s?#@]*)?$/i,
    "must be an http or https address without user name and query",
  );

export const flag: z.ZodType<boolean, string> = oneOf([
  "true",
  "false",
  "1",
  "0",
  "yes",
  "no",
  "on",
  "off",
]).transform((word) => ["true", "1", "yes", "on"].includes(word));

/** Pairs of a model type and a lane: `TEXT_SMALL=background, OBJECT_LARGE=normal`. */
export const lanesByType: z.ZodType<Readonly<Record<string, Lane>>, string> = z
  .string()
  .transform((written) => written.split(",").map((pair) => pair.trim()))
  .pipe(
    z.array(
      z
        .string()
        .regex(
          new RegExp(`^[A-Z][A-Z_]*\\s*=\\s*(${LANES.join("|")})$`),
          `must be pairs of a model type and a lane (${LANES.join(", ")})`,
        ),
    ),
  )
  .transform((pairs) => Object.fromEntries(pairs.map((pair) => pair.split(/\s*=\s*/) as [string, Lane])));

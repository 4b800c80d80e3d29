import { z } from "zod";
import { invalidInput } from "../errors.js";
import { KV_TYPES } from "../settings/settings.js";

const kvTypes = KV_TYPES.filter((type) => type !== "auto") as [string, ...string[]];

const kvType = z
  .string()
  .trim()
  .toLowerCase()
  .pipe(
    z.enum(kvTypes, {
      error: (issue) => `must be one of ${kvTypes.join(", ")}, got ${JSON.stringify(issue.input)}`,
    }),
  );

const overridesSchema = z
  .strictObject({
    contextSize: z.int().min(256).max(16_777_216),
    cacheTypeK: kvType,
    cacheTypeV: kvType,
    gpuLayers: z.int().min(0).max(10_000),
    flashAttention: z.boolean(),
    mmap: z.boolean(),
    mlock: z.boolean(),
    useGpu: z.boolean(),
    maxThreads: z.int().min(1).max(512),
  })
  .partial();

/**
 * What one load does differently from the settings. Tokens; KV types of llama.cpp; layers; `useGpu: false` computes on
 * the CPU only. Speculative decoding follows from the model and its drafter and cannot be overridden.
 */
export type LoadOverrides = Readonly<z.infer<typeof overridesSchema>>;

/** @throws LocalInferenceError `INVALID_INPUT` that names every field that is wrong and what is allowed. */
export function parseOverrides(value: unknown): LoadOverrides {
  const parsed = overridesSchema.safeParse(value ?? {});
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) =>
    issue.code === "unrecognized_keys"
      ? `${issue.keys.join(", ")}: cannot be overridden (${Object.keys(overridesSchema.shape).join(", ")} can)`
      : `${issue.path.join(".")}: ${issue.message}`,
  );
  throw invalidInput(`Bad load overrides: ${problems.join("; ")}.`);
}

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
    kvTypeK: kvType,
    kvTypeV: kvType,
    gpuLayers: z.int().min(0).max(10_000),
    flashAttention: z.boolean(),
    useMmap: z.boolean(),
    useMlock: z.boolean(),
    useGpu: z.boolean(),
    threads: z.int().min(1).max(512),
  })
  .partial();

/**
 * What one load does differently from the settings. Tokens; KV types of llama.cpp; layers; `useGpu: false` computes on
 * the CPU only. Speculative decoding follows from the model and its drafter and cannot be overridden.
 */
export type LoadOverrides = Readonly<z.infer<typeof overridesSchema>>;

/** What elizaOS calls the same options. */
const ALIASES: ReadonlyMap<string, keyof LoadOverrides> = new Map([
  ["cacheTypeK", "kvTypeK"],
  ["cacheTypeV", "kvTypeV"],
  ["mmap", "useMmap"],
  ["mlock", "useMlock"],
  ["maxThreads", "threads"],
]);

/** @throws LocalInferenceError `INVALID_INPUT` that names every field that is wrong and what is allowed. */
export function parseOverrides(value: unknown): LoadOverrides {
  const { object, written, problems } = withoutAliases(value ?? {});
  const parsed = overridesSchema.safeParse(object);
  if (parsed.success && problems.length === 0) return parsed.data;
  const more = (parsed.error?.issues ?? []).map((issue) =>
    issue.code === "unrecognized_keys"
      ? `${issue.keys.join(", ")}: cannot be overridden (${Object.keys(overridesSchema.shape).join(", ")} can)`
      : `${issue.path.map((key) => written.get(String(key)) ?? key).join(".")}: ${issue.message}`,
  );
  throw invalidInput(`Bad load overrides: ${[...problems, ...more].join("; ")}.`);
}

/** The overrides under this package's names, and how each one was written. */
function withoutAliases(value: unknown) {
  const written = new Map<string, string>();
  const problems: string[] = [];
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { object: value, written, problems };
  const entries = Object.entries(value).map(([key, given]): [string, unknown] => {
    const name = ALIASES.get(key) ?? key;
    const other = written.get(name);
    if (other !== undefined) problems.push(`${other} and ${key} are the same option: give one`);
    written.set(name, key);
    return [name, given];
  });
  return { object: Object.fromEntries(entries), written, problems };
}

import type { CatalogEntry } from "../catalog/schema.js";
import { KV_TYPES } from "../settings/settings.js";
import type { Capability } from "./capability.js";
import type { ResolvedLoad } from "./load-types.js";
import { runtimeForTier } from "./runtime-for-tier.js";

/** Names of attention and cache formats that no decode path of llama.cpp has. */
const FOREIGN = /qjl|polar|turbo|tbq|tcq/i;
/** Ways to reuse a context that a cache with sliding windows cannot serve. */
const FORBIDDEN_FLAGS = ["cacheReuse", "kvUnified", "ngramDraft", "lookahead", "kvCache"];

/**
 * What is wrong with the load of a tier, one line each. Empty: it reports as active only what its decode path does.
 *
 * @param load The tier resolved with its drafter at hand.
 */
export function checkTier(tier: CatalogEntry, load: ResolvedLoad): string[] {
  const runtime = runtimeForTier(tier);
  if (runtime === undefined) return [`${tier.id} is no tier`];
  const { optimizations, mtp } = runtime;
  const flags = [...Object.keys(runtime), ...Object.keys(optimizations)];
  const drafter = tier.companions.drafter !== undefined;
  const { fields, capabilities, spec } = load;
  const context = spec.kind === "text" ? spec.context : undefined;
  const used = fields.drafter?.value.kind === "file" ? fields.drafter.value : undefined;
  const wrong: (string | false)[] = [
    ...FORBIDDEN_FLAGS.map((flag) => flags.includes(flag) && `${flag} must not be set`),
    optimizations.parallel !== 1 && "more than one sequence shares the sliding windows",
    drafter !== (mtp !== undefined) && "speculation and a drafter must go together",
    mtp !== undefined && (mtp.draftMin !== 1 || mtp.draftMax !== 1) && "drafts must be one token long",
    drafter !== (used !== undefined) && "the resolved load must have the drafter exactly where there is one",
    used !== undefined &&
      used.contract?.speculativeSamples !== used.draftMax &&
      "as many tokens must be verified as are drafted",
    context?.flashAttention !== "on" && "flash attention must be on",
    ...[context?.kvTypeK, context?.kvTypeV].map(
      (type) => !isStock(type) && `${type} is no KV type of llama.cpp`,
    ),
    ...capabilities.map(undue),
  ];
  return wrong.filter((line) => line !== false).map((line) => `${tier.id}: ${line}`);
}

function isStock(type: string | undefined): boolean {
  return type !== undefined && type !== "auto" && (KV_TYPES as readonly string[]).includes(type);
}

/** A format that the decode path lacks may be listed as absent, never as active. */
function undue({ id, state }: Capability): string | false {
  return state === "active" && FOREIGN.test(id) && `${id} is listed as active`;
}

import type { CatalogEntry } from "../catalog/schema.js";

/**
 * What Eliza's contract of a tier says and this engine does not act on. The load and its capabilities report it, and
 * `checkTier` checks it.
 */
export interface ContractOnly {
  readonly preferredBackend: "llama-cpp";
  /** Most copies of the sliding-window state that a conversation keeps to go back to. */
  readonly ctxCheckpoints: 1;
  /** Tokens between two copies. */
  readonly ctxCheckpointInterval: 4096;
  readonly specType: "draft-mtp";
  /** Tokens verified at once: as many as are drafted. */
  readonly speculativeSamples: number;
  /** Of the drafter. */
  readonly gpuLayers: "auto" | number;
}

/** Speculative decoding with a drafter made for the model. The contract calls it MTP, multi-token prediction. */
export interface MtpRuntime extends Pick<ContractOnly, "specType" | "gpuLayers"> {
  /** Below the folder of the bundle. */
  readonly drafterFile: string;
  /** Its name in older bundles. */
  readonly formerDrafterFile?: string;
  /** Fewest and most tokens drafted at once. More than one slows these models down. */
  readonly draftMin: number;
  readonly draftMax: number;
}

/** How a tier is run. The KV cache is llama.cpp's own. */
export interface TierRuntime extends Pick<ContractOnly, "preferredBackend"> {
  readonly optimizations: Pick<ContractOnly, "ctxCheckpoints" | "ctxCheckpointInterval"> & {
    /** Sequences side by side: the cache of sliding windows serves one. */
    readonly parallel: 1;
    readonly flashAttention: true;
  };
  /** Exactly where the bundle has a drafter. */
  readonly mtp?: MtpRuntime;
}

/** Drafting one token was 1.3 to 1.7 times as fast, two 0.9 times, and longer drafts slower still. */
const DRAFT_TOKENS = 1;

/** The runtime settings of an Eliza-1 tier; undefined for any other model. */
export function runtimeForTier(tier: CatalogEntry): TierRuntime | undefined {
  if (!tier.tier) return undefined;
  const { drafter } = tier.companions;
  const runtime: TierRuntime = {
    preferredBackend: "llama-cpp",
    optimizations: {
      parallel: 1,
      flashAttention: true,
      ctxCheckpoints: 1,
      ctxCheckpointInterval: 4096,
    },
  };
  if (drafter === undefined) return runtime;
  const former = drafter.formerFile === undefined ? {} : { formerDrafterFile: drafter.formerFile };
  return {
    ...runtime,
    mtp: {
      specType: "draft-mtp",
      drafterFile: drafter.file,
      ...former,
      draftMin: DRAFT_TOKENS,
      draftMax: DRAFT_TOKENS,
      gpuLayers: "auto",
    },
  };
}

// The addon's own declarations carry no documentation; the compiler holds the two to the same fields.

/**
 * Size, arithmetic and sharing of a context. A value out of range is refused with `INVALID_INPUT`, which names the field;
 * a context that does not fit the memory with `OUT_OF_MEMORY`, which gives the sizes.
 */
export interface ContextOptions {
  /**
   * Tokens that all requests share, 1 to 16,777,216 and at least `parallel`. Default: the largest that fits the memory, up
   * to what the model was trained with.
   */
  contextSize?: number;
  /** Element types of cached keys and values: `f32`, `f16`, `bf16`, `q8_0`, ... Default: chosen with the size. */
  kvTypeK?: string;
  kvTypeV?: string;
  /** Most tokens of one decode call, 1 to 65,536. Default 2,048. */
  batchSize?: number;
  /** Tokens evaluated at once, 1 to 65,536; a cancel waits for at most that. Default 512. */
  microBatchSize?: number;
  /** Threads that evaluate, 1 to 512. Default: the physical cores that the process may use. */
  threads?: number;
  /** Default `auto`: where the backend supports it. `off` rules out a quantised `kvTypeV`. */
  flashAttention?: "auto" | "on" | "off";
  /** Bytes of memory to leave to others. Default: by the size of the machine. */
  memoryHeadroomBytes?: number;
  /** Requests evaluated side by side, 1 to 256. Default: 4, or 2 or 1 where more would cost context size. */
  parallel?: number;
  /** Cache little more of sliding windows than their length, even where more fits. Default false: by the memory. */
  trimWindows?: boolean;
  /**
   * Bytes of memory for the prefix cache, 0 for none. Default: a sixteenth of the available memory, at most 1 GiB.
   */
  prefixCacheBytes?: number;
  /** Requests that wait in one lane, 1 to 1,048,576; more fail with `QUEUE_FULL`. Default 256. */
  queueLimit?: number;
  /** Longest wait in milliseconds of requests without one of their own, up to a day; then `QUEUE_TIMEOUT`. Default: no limit. */
  queueTimeoutMs?: number;
  /** Where KV caches of conversations are stored. Default: nowhere. */
  state?: StateFolder;
  /** GGUF file of a drafter (docs/speculative.md). Default: none. */
  drafter?: string;
  /**
   * Draft with the multi-token-prediction heads in the model's own file, if there is no `drafter`. Default false: the heads
   * take memory, and every evaluated token passes through them. `LocalModel.load` loads them for its `context`; for other
   * contexts, set `heads` of the load as well.
   */
  heads?: boolean;
  /** Fewest tokens of a draft, 1 to `draftMax`. Default 1. */
  draftMin?: number;
  /** Most tokens of a draft, 1 to 16. Default 8. */
  draftMax?: number;
  /** Draft from repetitions in the text where there is no drafter. Default false. */
  ngram?: boolean;
}

/** Stored conversations. Whoever can read the folder can read them; files are readable by their owner alone. */
export interface StateFolder {
  /** Created when it is missing. Several contexts and processes may share it. */
  folder: string;
  /** Most bytes of all files; the longest unused are removed first. Default 2 GiB. */
  bytes?: number;
  /** Milliseconds after which an unused file is removed. Default 7 days. */
  timeToLiveMs?: number;
  /** Write also while the machine runs from its battery. Default false. */
  onBattery?: boolean;
}

import { setTimeout as sleep } from "node:timers/promises";
import { abortError } from "../errors.js";

export interface RetryOptions {
  /** Attempts in a row that may fail without a byte of progress. Default 6. */
  readonly attempts: number;
  /** Milliseconds before the second attempt; doubles with each further one. Default 500. */
  readonly baseDelayMs: number;
  /** Longest wait in milliseconds. Default 30,000. */
  readonly maxDelayMs: number;
}

export const RETRY: RetryOptions = { attempts: 6, baseDelayMs: 500, maxDelayMs: 30_000 };

/** A failure that a retry may cure. */
export class TransientError extends Error {
  override name = "TransientError";
  /** `Retry-After` of the server, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, retryAfterMs?: number) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * Milliseconds to wait before attempt `attempt` (2 is the first retry): exponential, the second half of it random, so
 * that clients that failed together do not come back together. `Retry-After` counts up to the longest wait.
 */
export function delayBefore(attempt: number, options: RetryOptions, retryAfterMs?: number): number {
  const full = Math.min(options.maxDelayMs, options.baseDelayMs * 2 ** (attempt - 2));
  const backoff = full / 2 + (Math.random() * full) / 2;
  return Math.min(options.maxDelayMs, Math.max(backoff, retryAfterMs ?? 0));
}

/** Waits; an aborted signal ends the wait with an `AbortError`. */
export async function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted) throw abortError(signal);
  await sleep(milliseconds, undefined, signal === undefined ? {} : { signal }).catch(() => {
    throw abortError(signal);
  });
}

/** The value of a `Retry-After` header in milliseconds: seconds or a date. */
export function retryAfterMs(header: string | null, now = Date.now()): number | undefined {
  if (header === null) return undefined;
  const value = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isFinite(value) ? Math.max(0, value) : undefined;
}

/** Runs `work` again while it throws {@link TransientError}. The last such error is thrown as it is. */
export async function withRetries<T>(
  work: () => Promise<T>,
  options: RetryOptions,
  signal: AbortSignal | undefined,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (signal?.aborted) throw abortError(signal);
      if (!(error instanceof TransientError) || attempt >= options.attempts) throw error;
      await pause(delayBefore(attempt + 1, options, error.retryAfterMs), signal);
    }
  }
}

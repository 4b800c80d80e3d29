import { abortError, LocalInferenceError, throwIfAborted } from "../errors.js";
import type { WantedModel } from "./plan.js";
import type { PullProgress } from "./pull.js";
import { secondsLeft } from "./rate.js";
import type { InstalledModel } from "./registry.js";
import type { ModelStore } from "./store.js";

export const JOB_STATES = [
  "queued",
  "waiting",
  "downloading",
  "verifying",
  "completed",
  "failed",
  "cancelled",
] as const;
export type JobState = (typeof JOB_STATES)[number];

/** A download as the routes report it. */
export interface Job {
  readonly id: string;
  /** What was asked for. */
  readonly model: string;
  readonly state: JobState;
  readonly receivedBytes: number;
  /** 0 until the hub has answered. */
  readonly totalBytes: number;
  readonly bytesPerSecond: number;
  readonly secondsLeft?: number;
  readonly file?: string;
  readonly error?: { readonly code: string; readonly message: string; readonly hint?: string };
  readonly installed?: InstalledModel;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly endedAt?: string;
}

interface Running {
  job: Job;
  readonly controller: AbortController;
  readonly done: Promise<InstalledModel>;
}

const AT_ONCE = 2;
const KEPT = 32;

/** The downloads of one process: one for each model, two at a time, the last finished ones remembered. */
export class Jobs {
  readonly #store: ModelStore;
  readonly #jobs = new Map<string, Running>();
  readonly #listeners = new Set<(job: Job) => void>();
  readonly #queue: (() => void)[] = [];
  #active = 0;
  #count = 0;

  constructor(store: ModelStore) {
    this.#store = store;
  }

  /** Oldest first. */
  list(): Job[] {
    return [...this.#jobs.values()].map(({ job }) => job);
  }

  get(id: string): Job | undefined {
    return this.#jobs.get(id)?.job;
  }

  /** Starts a download, or returns the one of the same model that is in progress. */
  start(wanted: string | WantedModel): Job {
    const model = typeof wanted === "string" ? wanted : wanted.id;
    const same = [...this.#jobs.values()].find(({ job }) => job.model === model && !isOver(job));
    if (same !== undefined) return same.job;
    this.#count += 1;
    const id = `download-${this.#count}`;
    const startedAt = new Date().toISOString();
    const job: Job = {
      id,
      model,
      state: "queued",
      receivedBytes: 0,
      totalBytes: 0,
      bytesPerSecond: 0,
      startedAt,
    };
    const controller = new AbortController();
    const done = this.#run(id, wanted, controller.signal);
    done.catch(() => {});
    this.#jobs.set(id, { job, controller, done });
    this.#announce(job);
    return job;
  }

  /** The model of a job. @throws what the download throws. */
  result(id: string): Promise<InstalledModel> {
    const running = this.#jobs.get(id);
    return (
      running?.done ?? Promise.reject(new LocalInferenceError("INVALID_INPUT", `There is no download ${id}.`))
    );
  }

  /** Cancels a download; the bytes received so far stay for the next one. @returns false when there is nothing to cancel. */
  cancel(id: string): boolean {
    const running = this.#jobs.get(id);
    if (running === undefined || isOver(running.job)) return false;
    running.controller.abort();
    return true;
  }

  /** Calls `listener` with every change of every job. @returns a function that ends it. */
  subscribe(listener: (job: Job) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Cancels everything and waits until it has ended. */
  async close(): Promise<void> {
    for (const { controller } of this.#jobs.values()) controller.abort();
    await Promise.allSettled([...this.#jobs.values()].map(({ done }) => done));
  }

  async #run(id: string, wanted: string | WantedModel, signal: AbortSignal): Promise<InstalledModel> {
    try {
      await this.#turn(signal);
      try {
        return await this.#pull(id, wanted, signal);
      } finally {
        this.#active -= 1;
        this.#queue.shift()?.();
      }
    } catch (error) {
      const cancelled = signal.aborted;
      this.#update(id, {
        state: cancelled ? "cancelled" : "failed",
        bytesPerSecond: 0,
        endedAt: new Date().toISOString(),
        ...(cancelled ? {} : { error: shownError(error) }),
      });
      throw error;
    }
  }

  async #pull(id: string, wanted: string | WantedModel, signal: AbortSignal): Promise<InstalledModel> {
    const installed = await this.#store.pull(wanted, {
      signal,
      onPlan: ({ bytes }) => this.#update(id, { state: "downloading", totalBytes: bytes }),
      onProgress: (progress) => this.#update(id, jobProgress(progress)),
    });
    const endedAt = new Date().toISOString();
    const { bytes } = installed;
    this.#update(id, {
      state: "completed",
      installed,
      receivedBytes: bytes,
      totalBytes: bytes,
      secondsLeft: 0,
      endedAt,
    });
    return installed;
  }

  /** Waits until fewer than {@link AT_ONCE} downloads run, and counts one more. */
  async #turn(signal: AbortSignal): Promise<void> {
    // `start` lists the job first.
    await Promise.resolve();
    while (this.#active >= AT_ONCE) await this.#nextEnd(signal);
    throwIfAborted(signal);
    this.#active += 1;
  }

  /** Resolves when a download has ended and this one is the next to start. */
  #nextEnd(signal: AbortSignal): Promise<void> {
    throwIfAborted(signal);
    return new Promise((resolve, reject) => {
      const take = () => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        this.#queue.splice(this.#queue.indexOf(take), 1);
        reject(abortError(signal));
      };
      this.#queue.push(take);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  #update(id: string, change: Partial<Job>): void {
    const running = this.#jobs.get(id);
    if (running === undefined) return;
    running.job = { ...running.job, ...change };
    this.#announce(running.job);
    if (isOver(running.job)) this.#forgetOldest();
  }

  #announce(job: Job): void {
    for (const listener of this.#listeners) listener(job);
  }

  #forgetOldest(): void {
    const over = [...this.#jobs.values()].filter(({ job }) => isOver(job));
    for (const { job } of over.slice(0, Math.max(0, over.length - KEPT))) this.#jobs.delete(job.id);
  }
}

export function isOver({ state }: Job): boolean {
  return state === "completed" || state === "failed" || state === "cancelled";
}

function jobProgress(progress: PullProgress): Partial<Job> {
  const { phase, receivedBytes, totalBytes, bytesPerSecond, file } = progress;
  const left = secondsLeft(receivedBytes, totalBytes, bytesPerSecond);
  return {
    state: phase,
    receivedBytes,
    totalBytes,
    bytesPerSecond,
    file,
    ...(left === undefined ? {} : { secondsLeft: left }),
  };
}

function shownError(error: unknown): NonNullable<Job["error"]> {
  if (error instanceof LocalInferenceError) {
    const { code, message, hint } = error;
    return hint === undefined ? { code, message } : { code, message, hint };
  }
  return { code: "INTERNAL", message: error instanceof Error ? error.message : String(error) };
}

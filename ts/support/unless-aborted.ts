import { abortError } from "../errors.js";
import { quiet } from "./deferred.js";

/** Waits for a promise, or until the signal fires; the promise itself goes on. @throws an `AbortError`. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  if (signal.aborted) {
    quiet(promise);
    throw abortError(signal);
  }
  let leave: () => void = () => {};
  const aborted = new Promise<never>((_, reject) => {
    leave = () => reject(abortError(signal));
    signal.addEventListener("abort", leave, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

// What a request must give, whatever runs beside it.
//
// Batches of other sizes round differently, so tokens are compared as docs/concurrency.md says: log-probabilities within
// `TOLERANCE`, and the same tokens until the two best of the undisturbed answer are closer than twice that. Here four
// requests side by side that share nothing differ by up to 0.36 already.
import { Failure } from "./log.mjs";

const TOLERANCE = 0.5;

/** A request's tokens with their log-probabilities and those of the second best. */
export function trace(logprobs) {
  return logprobs.map(({ token, logprob, top }) => ({
    token,
    logprob,
    margin: top.length > 1 ? Math.abs(top[0].logprob - top[1].logprob) : Number.POSITIVE_INFINITY,
  }));
}

/** Throws when `got`, which may have been stopped early, is not what `alone` gave. Returns the tokens that agree. */
export function checkSame(name, alone, got) {
  for (const [index, found] of got.entries()) {
    const expected = alone[index];
    if (expected === undefined) throw new Failure(`${name}: more tokens than alone (${got.length})`);
    if (found.token !== expected.token) {
      if (expected.margin <= 2 * TOLERANCE) return index;
      throw new Failure(
        `${name}: token ${index} is ${found.token}, alone ${expected.token}, margin ${expected.margin}`,
      );
    }
    const difference = Math.abs(found.logprob - expected.logprob);
    if (difference > TOLERANCE)
      throw new Failure(`${name}: token ${index} has another probability (${difference})`);
  }
  return got.length;
}

// The rule of docs/concurrency.md for equal tokens, because logits are rounded differently in batches of other sizes.
import { Failure } from "./log.mjs";

/** Largest difference of a token's log probability. */
const tolerance = 0.25;

/**
 * Checks an answer with log probabilities (at least 2 alternatives a token) against a reference; returns the largest
 * difference and the number of tokens that were compared.
 */
export function compareTokens(what, reference, other) {
  let largest = 0;
  const length = Math.min(reference.length, other.length);
  for (let i = 0; i < length; i++) {
    const [best, second] = reference[i].top;
    if (reference[i].token !== other[i].token) {
      if (best.logprob - second.logprob < 2 * tolerance) return { largest, compared: i };
      const texts = `${JSON.stringify(other[i].text)} instead of ${JSON.stringify(reference[i].text)}`;
      throw new Failure(`${what}: token ${i} is ${texts}`);
    }
    const difference = Math.abs(reference[i].logprob - other[i].logprob);
    largest = Math.max(largest, difference);
    if (difference > tolerance) {
      throw new Failure(`${what}: the log probability of token ${i} differs by ${difference.toFixed(3)}`);
    }
  }
  return { largest, compared: length };
}

// One generation with its times, as both suites measure it.
export const msSince = (start) => performance.now() - start;

/** Runs one generation; times are in ms from the request. */
export async function timed(session, prompt, options) {
  const start = performance.now();
  const seen = { tokens: 0, firstMs: undefined, firstTokens: 0, lastMs: 0 };
  const onTokens = (count) => {
    seen.lastMs = msSince(start);
    if (seen.firstMs === undefined) {
      seen.firstMs = seen.lastMs;
      seen.firstTokens = count;
    }
    seen.tokens += count;
  };
  await session.generate(prompt, { ...options, onTokens });
  if (seen.firstMs === undefined) throw new Error("the engine generated nothing");
  return seen;
}

export async function repeat(times, body) {
  const results = [];
  for (let index = 0; index < times; index += 1) results.push(await body(index));
  return results;
}

// How long the event loop was kept from running timers.
const intervalMs = 1;

/** Runs `body` and returns its value with the longest time, in ms, that a 1 ms timer was late. */
export async function withLoopProbe(body) {
  let last = performance.now();
  let longest = 0;
  const tick = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last - intervalMs);
    last = now;
  };
  const timer = setInterval(tick, intervalMs);
  try {
    const value = await body();
    // Whatever still holds the loop when the body is over counts as well.
    tick();
    return { value, blockMs: longest };
  } finally {
    clearInterval(timer);
  }
}

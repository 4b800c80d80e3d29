// The rows of `--suite concurrency`; see rows.mjs for what a row is.

const rate = (count, goal) => ({
  id: `rate${count}`,
  label: count === 1 ? "one request" : `${count} requests at once, all together`,
  unit: "tok/s",
  better: "higher",
  ...(goal && { goal }),
});

const gain = (count, goal) => ({
  id: `gain${count}`,
  label: `${count} at once over one`,
  unit: "x",
  better: "higher",
  ...(goal && { goal }),
  from: (figures) => figures[`rate${count}`] / figures.rate1,
});

const time = (id, label, goal) => ({ id, label, unit: "ms", better: "lower", ...(goal && { goal }) });

export const rows = [
  rate(1),
  rate(2),
  rate(4),
  rate(8),
  gain(2),
  gain(4, { atLeast: 1.8 }),
  gain(8),
  time("urgentIdleMs", "urgent request, first token, idle"),
  time("urgentBesideMs", "the same beside 8 background requests", {
    atMost: ({ urgentIdleMs }) => urgentIdleMs * 1.3,
  }),
  time("cold577Ms", "first token, 577-token prompt, cold"),
  time("second577Ms", "second turn that goes on from it", { ratioAtMost: 0.8 }),
  time("cold2000Ms", "first token, 2000-token prompt, cold"),
  time("second2000Ms", "second turn that goes on from it", { ratioAtMost: 0.8 }),
  time("coldStartMs", "first token, 577-token prompt, stored afterwards"),
  time("restoredMs", "the same after a restart, from the stored state", {
    atMost: ({ coldStartMs }) => coldStartMs / 5,
  }),
];

// The rows of the table: `id` names the figure, `goal` says what this project wants of it.
// Goals: { atMost } and { atLeast } bound the figure, { ratioAtLeast } and { ratioAtMost } its ratio to the peer's.

export const rows = [
  {
    id: "initMs",
    label: "import and start of the backend",
    unit: "ms",
    better: "lower",
    goal: { atMost: 150 },
  },
  { id: "loadMs", label: "load, with a context of 2048", unit: "ms", better: "lower" },
  {
    id: "loadBlockMs",
    label: "event loop blocked in load",
    unit: "ms",
    better: "lower",
    goal: { atMost: 20 },
  },
  { id: "firstToken32Ms", label: "first token, 32-token prompt", unit: "ms", better: "lower" },
  { id: "firstToken512Ms", label: "first token, 512-token prompt", unit: "ms", better: "lower" },
  {
    id: "prefillRate",
    label: "prefill, 512 tokens",
    unit: "tok/s",
    better: "higher",
    goal: { ratioAtLeast: 1 },
  },
  {
    id: "prefillBlockMs",
    label: "event loop blocked in prefill",
    unit: "ms",
    better: "lower",
    goal: { atMost: 20 },
  },
  {
    id: "decodeRate",
    label: "decode, 128 tokens",
    unit: "tok/s",
    better: "higher",
    goal: { ratioAtLeast: 1 },
  },
  {
    id: "decodeBlockMs",
    label: "event loop blocked in decode",
    unit: "ms",
    better: "lower",
    goal: { atMost: 20 },
  },
  {
    id: "cancelMs",
    label: "cancel in a 1500-token prefill",
    unit: "ms",
    better: "lower",
    goal: { atMost: 100 },
  },
  {
    id: "afterCancelMs",
    label: "first token of the next request",
    unit: "ms",
    better: "lower",
    // "At once": no later than a request that nothing preceded, give or take the spread of such a short time.
    goal: { atMost: ({ firstToken32Ms }) => firstToken32Ms * 2 },
  },
  { id: "embedSerialRate", label: "embeddings one by one", unit: "1/s", better: "higher" },
  { id: "embedConcurrentRate", label: "embeddings, 64 at once", unit: "1/s", better: "higher" },
  {
    id: "embedGain",
    label: "64 at once over one by one",
    unit: "x",
    better: "higher",
    goal: { atLeast: 4 },
    from: (figures) => figures.embedConcurrentRate / figures.embedSerialRate,
  },
  { id: "peakMb", label: "peak resident memory, one context", unit: "MB", better: "lower" },
  { id: "closeMs", label: "close", unit: "ms", better: "lower" },
  {
    id: "afterCloseMb",
    label: "anonymous memory after close, over the start",
    unit: "MB",
    better: "lower",
    goal: { atMost: 20 },
  },
  {
    id: "reloadGrowthMb",
    label: "its growth over 20 reloads",
    unit: "MB",
    better: "lower",
    goal: { atMost: 5 },
  },
];

/** The figures of the rows, with the ones that are computed from others. */
export function withDerived(rows, figures) {
  const derived = rows.filter((row) => row.from).map((row) => [row.id, row.from(figures)]);
  return { ...figures, ...Object.fromEntries(derived) };
}

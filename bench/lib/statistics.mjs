const numbers = (values) => values.filter((value) => typeof value === "number" && Number.isFinite(value));

/** The middle value, or the mean of the two middle ones; undefined without numbers. */
export function median(values) {
  const sorted = numbers(values).sort((a, b) => a - b);
  if (sorted.length === 0) return undefined;
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The largest value; undefined without numbers. */
export function maximum(values) {
  const present = numbers(values);
  return present.length === 0 ? undefined : Math.max(...present);
}

/** The median of every key over records that need not have all of them. */
export function medians(records) {
  const keys = new Set(records.flatMap((record) => Object.keys(record)));
  return Object.fromEntries([...keys].map((key) => [key, median(records.map((record) => record[key]))]));
}

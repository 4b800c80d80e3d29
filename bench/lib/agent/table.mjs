// Medians of the dialogues, one row for each kind of room and engine.
import { median } from "../../../scripts/lib/speculation.mjs";

const columns = [
  ["turns", ({ turns }) => turns.length],
  ["prompt tokens", ({ turns }) => middle(turns, ({ calls }) => sum(calls, "promptTokens"))],
  ["evaluated", ({ turns }) => middle(turns, ({ calls }) => sum(calls, "evaluatedTokens"))],
  ["share", ({ turns }) => `${(100 * middle(turns, shareOf)).toFixed(1)} %`],
  ["calls", ({ turns }) => middle(turns, ({ calls }) => calls.length)],
  ["first text, s", ({ turns }) => seconds(turns, ({ firstMs }) => firstMs)],
  ["reply, s", ({ turns }) => seconds(turns, ({ replyMs }) => replyMs)],
  ["first turn, s", ({ first }) => seconds(first, ({ replyMs }) => replyMs)],
  ["loop delay, ms", ({ turns }) => middle(turns, ({ loopDelayMs }) => loopDelayMs).toFixed(0)],
  ["memory, MB", ({ turns }) => middle(turns, ({ memoryMb }) => memoryMb).toFixed(0)],
];

/** A Markdown table. */
export function agentTable(results) {
  const groups = Map.groupBy
    ? Map.groupBy(results, keyOf)
    : results.reduce((map, one) => map.set(keyOf(one), [...(map.get(keyOf(one)) ?? []), one]), new Map());
  const rows = [...groups].map(([key, runs]) => {
    const first = runs.map(({ figures }) => figures[0]);
    const turns = runs.flatMap(({ figures }) => figures.slice(1).filter(({ calls }) => calls.length > 0));
    return [key, ...columns.map(([, value]) => String(value({ turns, first })))];
  });
  const head = ["", ...columns.map(([name]) => name)];
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

const keyOf = ({ kind, engine }) => `${kind}, ${engine}`;
const sum = (calls, name) => calls.reduce((total, call) => total + call[name], 0);
const shareOf = ({ calls }) => sum(calls, "evaluatedTokens") / sum(calls, "promptTokens");

function middle(turns, value) {
  const values = turns.map(value).filter((one) => Number.isFinite(one));
  return values.length === 0 ? Number.NaN : median(values);
}

function seconds(turns, value) {
  return (middle(turns, value) / 1000).toFixed(2);
}

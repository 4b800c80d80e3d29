const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

export function formatNumber(value) {
  if (!isNumber(value)) return "-";
  if (Math.abs(value) >= 100) return value.toFixed(0);
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}

/** Ours over the peer's; above 1 we are better at what should be high and worse at what should be low. */
const ratioOf = (ours, peer) => (isNumber(ours) && isNumber(peer) && peer > 0 ? ours / peer : undefined);

/** The goal in words and whether it is met; `met` is undefined where it cannot be told. */
function judge(goal, value, ratio, figures) {
  if (goal === undefined) return { text: "", met: undefined };
  if (goal.ratioAtMost !== undefined) {
    const met = isNumber(ratio) ? ratio <= goal.ratioAtMost : undefined;
    return { text: `<= ${goal.ratioAtMost.toFixed(1)}x`, met };
  }
  if (goal.ratioAtLeast !== undefined) {
    return {
      text: `>= ${goal.ratioAtLeast.toFixed(1)}x`,
      met: isNumber(ratio) ? ratio >= goal.ratioAtLeast : undefined,
    };
  }
  if (goal.atLeast !== undefined) {
    return { text: `>= ${goal.atLeast}`, met: isNumber(value) ? value >= goal.atLeast : undefined };
  }
  const limit = typeof goal.atMost === "function" ? goal.atMost(figures) : goal.atMost;
  return { text: `<= ${formatNumber(limit)}`, met: isNumber(value) ? value <= limit : undefined };
}

const verdict = (met) => (met === undefined ? "" : met ? "yes" : "no");

function tableCells(rows, columns) {
  const [first, second] = columns;
  const names = columns.map(({ name }) => name);
  const ratioHeader = second ? [`${first.name} / ${second.name}`] : [];
  const header = ["metric", "unit", ...names, ...ratioHeader, "better", "goal", "met"];
  const body = rows.map((row) => {
    const values = columns.map(({ figures }) => figures[row.id]);
    const ratio = ratioOf(values[0], values[1]);
    const ratioCell = second ? [ratio === undefined ? "-" : `${ratio.toFixed(2)}x`] : [];
    const { text, met } = first.name === "ours" ? judge(row.goal, values[0], ratio, first.figures) : judge();
    return [row.label, row.unit, ...values.map(formatNumber), ...ratioCell, row.better, text, verdict(met)];
  });
  return [header, ...body];
}

/** A Markdown table; `columns` are `{ name, figures }`, ours first. Goals are judged for ours alone. */
export function markdownTable(rows, columns) {
  const cells = tableCells(rows, columns);
  const widths = cells[0].map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  const isText = (column) => ["metric", "unit", "better", "goal", "met"].includes(cells[0][column]);
  const pad = (text, column) =>
    isText(column) ? text.padEnd(widths[column]) : text.padStart(widths[column]);
  const rule = widths.map((width, column) =>
    isText(column) ? "-".repeat(width) : `${"-".repeat(width - 1)}:`,
  );
  const lines = [cells[0], rule, ...cells.slice(1)].map((row) => `| ${row.map(pad).join(" | ")} |`);
  return lines.join("\n");
}

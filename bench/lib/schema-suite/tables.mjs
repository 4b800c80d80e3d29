// What the engines' answers come to, by keyword and in total.

const empty = () => ({
  schemas: 0,
  whole: 0,
  partly: 0,
  refused: 0,
  valid: [0, 0],
  grammar: [0, 0],
  invalid: [0, 0],
});

function scoreOf(cases, answers) {
  const score = empty();
  for (const [index, { tests }] of cases.entries()) {
    const { refused, unenforced = [], accepted, validated } = answers[index];
    score.schemas += 1;
    if (refused !== undefined) {
      score.refused += 1;
      continue;
    }
    score[unenforced.length > 0 ? "partly" : "whole"] += 1;
    for (const [at, { valid }] of tests.entries()) {
      count(score.grammar, !valid && unenforced.length === 0, accepted[at]);
      count(score.valid, valid, accepted[at] && (validated?.[at] ?? true));
      count(score.invalid, !valid, accepted[at] && (validated?.[at] ?? true));
    }
  }
  return score;
}

function count(pair, judged, hit) {
  if (!judged) return;
  pair[1] += 1;
  if (hit) pair[0] += 1;
}

const of = ([hits, all]) => `${hits} of ${all}`;

const columns = [
  ["schemas", (score) => score.schemas],
  ["enforced whole", (score) => score.whole],
  ["partly, rest validated", (score) => score.partly],
  ["refused", (score) => score.refused],
  ["valid can come out", (score) => of(score.valid)],
  ["invalid admitted by a whole grammar", (score) => of(score.grammar)],
  ["**invalid can come out**", (score) => of(score.invalid)],
];

const peerColumns = [
  ["schemas", (score) => score.schemas],
  ["compiled", (score) => score.whole + score.partly],
  ["refused", (score) => score.refused],
  ["valid can come out", (score) => of(score.valid)],
  ["**invalid can come out**", (score) => of(score.invalid)],
];

/** A row for each keyword and one for all. */
export function keywordTable(cases, answers, own) {
  const used = own ? columns : peerColumns;
  const keywords = [...new Set(cases.map(({ keyword }) => keyword))];
  const rows = keywords.map((name) => row(name, used, cases, answers, ({ keyword }) => keyword === name));
  return [...headOf("keyword", used), ...rows, row("**all**", used, cases, answers)].join("\n");
}

/** One row for all. */
export function totals(cases, answers) {
  return [...headOf("", peerColumns), row("**all**", peerColumns, cases, answers)].join("\n");
}

function headOf(first, used) {
  const titles = used.map(([title]) => title).join(" | ");
  return [`| ${first} | ${titles} |`, `|---|${used.map(() => "---:").join("|")}|`];
}

function row(name, used, cases, answers, wanted = () => true) {
  const picked = cases.map((one, index) => [one, answers[index]]).filter(([one]) => wanted(one));
  const score = scoreOf(...[0, 1].map((part) => picked.map((pair) => pair[part])));
  return `| ${[name, ...used.map(([, cell]) => cell(score))].join(" | ")} |`;
}

/** Keywords and formats that are left to the validation, with the number of schemas. */
export function unenforcedLine(answers) {
  const counts = new Map();
  for (const { refused, unenforced = [] } of answers) {
    const names = refused === undefined ? new Set(unenforced.flatMap(namesOf)) : [];
    for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const sorted = [...counts].sort((a, b) => b[1] - a[1]);
  return sorted.map(([name, times]) => `${name} ${times}`).join(", ");
}

/** A warning of the grammar engine lists keywords in quotes, or begins with `oneOf`, or ends with a format's name. */
function namesOf(warning) {
  const quoted = [...warning.matchAll(/"([^"]+)"/g)].map(([, name]) => name);
  if (quoted.length > 0) return quoted;
  return [warning.startsWith("oneOf") ? "oneOf" : warning.replace(/^Unknown format: /, "format ")];
}

/** Every schema that is refused, and every instance that is judged otherwise than the suite says. */
export function exceptions(cases, answers) {
  const lines = [];
  for (const [index, { keyword, about, schema, tests }] of cases.entries()) {
    const { refused, unenforced = [], accepted, validated } = answers[index];
    const where = `${keyword}: ${about}`;
    if (refused !== undefined) lines.push(`refused | ${where} | ${refused} | ${JSON.stringify(schema)}`);
    for (const [at, { about: what, valid, data }] of tests.entries()) {
      if (refused !== undefined) continue;
      const [grammar, after] = [accepted[at], validated?.[at] ?? true];
      const kind = valid ? verdictOfValid(grammar, after) : verdictOfInvalid(grammar, after, unenforced);
      if (kind)
        lines.push(`${kind} | ${where} | ${what} | ${JSON.stringify(data)} | ${JSON.stringify(schema)}`);
    }
  }
  return lines.sort().join("\n");
}

function verdictOfValid(grammar, after) {
  if (!grammar) return "valid, not admitted by the grammar";
  return after ? undefined : "valid, refused by the validation";
}

function verdictOfInvalid(grammar, after, unenforced) {
  if (!grammar) return undefined;
  if (after) return "INVALID COMES OUT";
  return unenforced.length === 0 ? "invalid, stopped by the validation only" : undefined;
}

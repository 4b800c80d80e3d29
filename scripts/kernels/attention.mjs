// Attention of the reference: decode everything, all scores, softmax, mix.
import { encodeRow } from "./formats.mjs";
import { nearGaussians, xorshift32 } from "./numbers.mjs";
import { dot } from "./tables.mjs";

/** FNV-1a of 32 bits: enough to tell whether two implementations wrote the same bytes. */
export function hash(bytes) {
  let state = 0x811c9dc5;
  for (const byte of bytes) state = Math.imul(state ^ byte, 0x01000193) >>> 0;
  return state;
}

function softmax(scores) {
  const largest = Math.max(...scores);
  const weights = scores.map((score) => Math.exp(score - largest));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

/** The draws of a case are keys, values, queries; head after head, token after token. */
export function attention({ values: valueFormat, headLength, tokens, kvHeads, group, visible, seed }) {
  const next = xorshift32(seed);
  const rows = (format) =>
    Array.from({ length: kvHeads * tokens }, () => encodeRow(format, nearGaussians(next, headLength)));
  const keys = rows("QJL1_256");
  const values = rows(valueFormat);
  const outputs = [];
  for (let head = 0; head < kvHeads * group; head++) {
    const query = nearGaussians(next, headLength);
    const first = Math.floor(head / group) * tokens;
    const seen = Array.from({ length: visible }, (_, token) => first + token);
    const weights = softmax(seen.map((row) => dot(query, keys[row].decoded) / Math.sqrt(headLength)));
    const mixed = new Float64Array(headLength);
    seen.forEach((row, token) => {
      for (let i = 0; i < headLength; i++) mixed[i] += weights[token] * values[row].decoded[i];
    });
    outputs.push(...mixed);
  }
  return {
    keysHash: hash(keys.flatMap((row) => row.bytes)),
    valuesHash: hash(values.flatMap((row) => row.bytes)),
    outputs,
  };
}

// What the reference computes for every case, as the object that is stored in src/kernels/fixtures/reference.json.
import { attention } from "./attention.mjs";
import { attentionCases, multiBlockCases, scoreCases } from "./cases.mjs";
import { blockElements, encodeRow } from "./formats.mjs";
import { nearGaussians, xorshift32 } from "./numbers.mjs";
import { dot, rotations } from "./tables.mjs";

const hex = (bytes) => Buffer.from(bytes).toString("hex");
/** Seven digits: a thousandth of the smallest tolerance and better. */
const rounded = (values) => Array.from(values, (value) => Number(value.toPrecision(7)));

function scores({ format, elements, rows, seed }) {
  const next = xorshift32(seed);
  const keys = Array.from({ length: rows }, () => encodeRow(format, nearGaussians(next, elements)));
  const query = nearGaussians(next, elements);
  return {
    blocks: keys.map((key) => hex(key.bytes)),
    scores: rounded(keys.map((key) => dot(query, key.decoded))),
  };
}

function multiBlock({ format, blocks, queries, seed }) {
  const next = xorshift32(seed);
  const elements = blocks * blockElements(format);
  const key = encodeRow(format, nearGaussians(next, elements));
  return {
    bytes: hex(key.bytes),
    decoded: rounded(key.decoded.subarray(0, blockElements(format))),
    scores: rounded(Array.from({ length: queries }, () => dot(nearGaussians(next, elements), key.decoded))),
  };
}

/** `Q4_POLAR` with a query that the caller has rotated: H q / 128. */
function preRotated() {
  const next = xorshift32(20_240_117);
  const keys = Array.from({ length: 8 }, () => encodeRow("Q4_POLAR", nearGaussians(next, 128)));
  const query = nearGaussians(next, 128);
  return {
    format: "Q4_POLAR",
    blocks: keys.map((key) => hex(key.bytes)),
    query: rounded(rotations.polar.map((row) => dot(row, query) / Math.sqrt(128))),
    scores: rounded(keys.map((key) => dot(query, key.decoded))),
  };
}

export function reference() {
  return {
    scores: scoreCases.map((shape) => ({ ...shape, ...scores(shape) })),
    multiBlock: multiBlockCases.map((shape) => ({ ...shape, ...multiBlock(shape) })),
    preRotated: preRotated(),
    attention: attentionCases.map((shape) => {
      const { outputs, ...hashes } = attention(shape);
      return { ...shape, ...hashes, outputs: rounded(outputs) };
    }),
  };
}

/** Another libm may round the last digit of a number differently; bytes and seeds are the same everywhere. */
const isSame = (a, b) =>
  typeof a === "number" && typeof b === "number"
    ? Math.abs(a - b) <= 2e-6 * Math.max(1e-3, Math.abs(a))
    : a === b;

/** Where two results differ, as paths such as `attention.3.outputs.17`; at most three. */
export function fixtureDifferences(a, b, path = []) {
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") {
    return isSame(a, b) ? [] : [path.join(".")];
  }
  const differences = [];
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    differences.push(...fixtureDifferences(a[key], b[key], [...path, key]));
    if (differences.length >= 3) break;
  }
  return differences.slice(0, 3);
}

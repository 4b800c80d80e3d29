// Encoding and decoding of the reference, by matrices and exhaustive search: slow, and easy to compare with the formulas.
import { bf16, f16, littleEndian16 } from "./numbers.mjs";
import {
  dot,
  fourBits,
  polarLevels,
  projection,
  residualSigns,
  rotations,
  threeBits,
  trellisLevels,
} from "./tables.mjs";

const length = (x) => Math.sqrt(dot(x, x));
const multiply = (rows, x) => Float64Array.from(rows, (row) => dot(row, x));
const multiplyTransposed = (rows, x) => {
  const out = new Float64Array(rows[0].length);
  rows.forEach((row, i) => {
    for (let j = 0; j < out.length; j++) out[j] += row[j] * x[i];
  });
  return out;
};

/** The nearest level; the upper one of two that are equally near. */
function nearest(levels, value) {
  let best = 0;
  for (let code = 1; code < levels.length; code++) {
    if (Math.abs(levels[code] - value) <= Math.abs(levels[best] - value)) best = code;
  }
  return best;
}

/** Packs codes of `bits` bits, the first in the lowest bits of the first byte. */
function packBits(codes, bits, offset = 0) {
  const bytes = new Array(Math.ceil((offset + codes.length * bits) / 8)).fill(0);
  codes.forEach((code, i) => {
    for (let bit = 0; bit < bits; bit++) {
      const at = offset + i * bits + bit;
      if ((code >> bit) & 1) bytes[at >> 3] |= 1 << (at & 7);
    }
  });
  return bytes;
}

const packHalves = (codes) =>
  codes.slice(0, codes.length / 2).map((low, i) => low + 16 * codes[codes.length / 2 + i]);

/** Coordinates times `spread / scale`, or zeros for a scale of zero. */
const standardised = (coordinates, factor) =>
  coordinates.map((x) => (Number.isFinite(factor) ? x * factor : 0));

function turbo(levels, pack) {
  return {
    elements: 32,
    encode(x) {
      const coordinates = multiply(rotations.turbo, x);
      const scale = f16(length(x) / Math.sqrt(32));
      const codes = [...standardised(coordinates, 1 / scale.value)].map((z) => nearest(levels, z));
      const rotated = Float64Array.from(codes, (code) => scale.value * levels[code]);
      return {
        bytes: [...littleEndian16(scale.bits), ...pack(codes)],
        decoded: multiplyTransposed(rotations.turbo, rotated),
      };
    },
  };
}

function turboK(levels, bits) {
  const halves = (x, map) => [x.subarray(0, 128), x.subarray(128)].flatMap((half) => [...map(half)]);
  return {
    elements: 256,
    encode(x) {
      const coordinates = halves(x, (half) => multiply(rotations.dense, half));
      const norm = f16(length(x));
      const codes = standardised(coordinates, 16 / norm.value).map((z) => nearest(levels, z));
      const rotated = Float64Array.from(codes, (code) => (norm.value / 16) * levels[code]);
      return {
        bytes: [...packBits(codes, bits), ...littleEndian16(norm.bits)],
        decoded: Float64Array.from(halves(rotated, (half) => multiplyTransposed(rotations.dense, half))),
      };
    },
  };
}

/** The cheapest sequence of states: every state is tried after each of the eight it can follow. */
function viterbi(z) {
  let costs = trellisLevels.map((level) => (z[0] - level) ** 2);
  const before = [];
  for (let t = 1; t < z.length; t++) {
    const next = new Array(512).fill(Number.POSITIVE_INFINITY);
    const from = new Array(512).fill(0);
    for (let state = 0; state < 512; state++) {
      for (let symbol = 0; symbol < 8; symbol++) {
        const to = (state >> 3) + 64 * symbol;
        const cost = costs[state] + (z[t] - trellisLevels[to]) ** 2;
        if (cost < next[to]) {
          next[to] = cost;
          from[to] = state;
        }
      }
    }
    costs = next;
    before.push(from);
  }
  const states = [costs.indexOf(Math.min(...costs))];
  for (const from of before.reverse()) states.unshift(from[states[0]]);
  return states;
}

const tcq = {
  elements: 128,
  encode(x) {
    const coordinates = multiply(rotations.tcq, x);
    const norm = length(x);
    const states = viterbi(standardised(coordinates, Math.sqrt(128) / norm));
    const values = Float64Array.from(states, (state) => trellisLevels[state]);
    const scale = f16((norm * Math.sqrt(128)) / length(values));
    const symbols = states.slice(0).map((state) => state >> 6);
    const stream = packBits(symbols, 3, 6);
    stream[0] |= states[0] & 63;
    return {
      bytes: [...littleEndian16(scale.bits), ...stream, 0],
      decoded: multiplyTransposed(
        rotations.tcq,
        values.map((value) => (scale.value / Math.sqrt(128)) * value),
      ),
    };
  },
};

/** sqrt(pi/2) / 256 */
const estimate = Math.sqrt(Math.PI / 2) / 256;

const qjl = {
  elements: 128,
  encode(x) {
    const positive = [...multiplyTransposed(projection, x)].map((side) => (side >= 0 ? 1 : 0));
    const norm = bf16(length(x));
    const signs = Float64Array.from(positive, (bit) => 2 * bit - 1);
    return {
      bytes: [...packBits(positive, 1), ...littleEndian16(norm.bits)],
      decoded: multiply(projection, signs).map((value) => norm.value * estimate * value),
    };
  },
};

const polar = (withResidual) => ({
  elements: 128,
  encode(x) {
    const norm = f16(length(x));
    const z = standardised(multiply(rotations.polar, x), Math.sqrt(128) / norm.value);
    const codes = [...z].map((value) => nearest(polarLevels, value));
    const quantised = Float64Array.from(codes, (code) => polarLevels[code]);
    const bit =
      withResidual &&
      dot(
        residualSigns,
        z.map((value, i) => value - quantised[i]),
      ) >= 0
        ? 1
        : 0;
    const move = withResidual ? ((2 * bit - 1) * 0.5) / Math.sqrt(128) : 0;
    const rotated = quantised.map(
      (value, i) => (norm.value / Math.sqrt(128)) * (value + move * residualSigns[i]),
    );
    return {
      bytes: [...littleEndian16(norm.bits), ...packBits(codes, 4), bit, ...new Array(15).fill(0)],
      decoded: multiplyTransposed(rotations.polar, rotated),
    };
  },
});

const formats = {
  TBQ3_0: turbo(threeBits, (codes) => packBits(codes, 3)),
  TBQ4_0: turbo(fourBits, packHalves),
  TBQ3_K: turboK(threeBits, 3),
  TBQ4_K: turboK(fourBits, 4),
  TBQ3_TCQ: tcq,
  QJL1_256: qjl,
  Q4_POLAR: polar(false),
  "Q4_POLAR+residual": polar(true),
};

export const formatNames = Object.keys(formats);
export const blockElements = (name) => formats[name].elements;

/** A row of whole blocks: its bytes, and what they decode to. The QJL estimate is linear, so it decodes as well. */
export function encodeRow(name, row) {
  const { elements, encode } = formats[name];
  const bytes = [];
  const decoded = new Float64Array(row.length);
  for (let at = 0; at < row.length; at += elements) {
    const block = encode(row.subarray(at, at + elements));
    bytes.push(...block.bytes);
    decoded.set(block.decoded, at);
  }
  return { bytes, decoded };
}

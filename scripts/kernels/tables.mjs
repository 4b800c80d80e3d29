// Codebooks and rotations of the reference, each in its most literal form.
import { readFileSync } from "node:fs";
import { fromRoot } from "../lib/paths.mjs";
import { gaussians, seededSigns, xorshift32 } from "./numbers.mjs";

const density = (x) => Math.exp((-x * x) / 2);

/** Integral by Simpson's rule, with parts of at most 0.005. */
function integral(f, from, to) {
  const parts = Math.max(2, 2 * Math.ceil((to - from) / 0.01));
  const width = (to - from) / parts;
  let sum = f(from) + f(to);
  for (let i = 1; i < parts; i++) sum += f(from + i * width) * (i % 2 === 0 ? 2 : 4);
  return (sum * width) / 3;
}

const centroid = (from, to) => integral((x) => x * density(x), from, to) / integral(density, from, to);

/** Steps of Lloyd for the normal distribution; beyond 12 nothing is left of it. */
function lloyd(start, steps) {
  let levels = start;
  for (let step = 0; step < steps; step++) {
    const bounds = levels.slice(1).map((level, i) => (levels[i] + level) / 2);
    levels = levels.map((_, i) => centroid(bounds[i - 1] ?? -12, bounds[i] ?? 12));
  }
  return levels;
}

/** The points that have (i + 1/2)/n of the distribution below them. */
function quantiles(n) {
  const half = integral(density, 0, 12);
  return Array.from({ length: n }, (_, i) => {
    let [low, high] = [-12, 12];
    for (let step = 0; step < 60; step++) {
      const middle = (low + high) / 2;
      const part = integral(density, 0, Math.abs(middle)) / (2 * half);
      const share = 0.5 + Math.sign(middle) * part;
      if (share < (i + 0.5) / n) low = middle;
      else high = middle;
    }
    return low;
  });
}

export const threeBits = lloyd(quantiles(8), 400);
export const fourBits = lloyd(quantiles(16), 200);
export const polarLevels = lloyd(
  Array.from({ length: 16 }, (_, i) => -3.75 + 0.5 * i),
  100,
);

/** The trained table is data that both implementations read. */
export const trellisLevels = (() => {
  const bytes = readFileSync(fromRoot("src/kernels/data/trellis-codebook.f32"));
  return Array.from({ length: 512 }, (_, i) => bytes.readFloatLE(4 * i));
})();

const parity = (n) => {
  let bit = 0;
  for (let rest = n; rest > 0; rest &= rest - 1) bit ^= 1;
  return bit;
};

/** Rows of an orthonormal matrix. */
const matrix = (n, entry) =>
  Array.from({ length: n }, (_, i) => Float64Array.from({ length: n }, (_, j) => entry(i, j)));

const hadamard = (n) => (i, j) => (parity(i & j) === 0 ? 1 : -1) / Math.sqrt(n);

const signs32 = [..."+-++-+--++-+--+--++-+--++-+--+-+"].map((symbol) => (symbol === "+" ? 1 : -1));
const [tcqBefore, tcqAfter] = [0x7463_715f_696en, 0x7463_715f_6f75_74n].map((seed) => seededSigns(seed, 128));

/** What a block is multiplied with before its coordinates are quantised. */
export const rotations = {
  turbo: matrix(32, (i, j) => hadamard(32)(i, j) * signs32[j]),
  polar: matrix(128, hadamard(128)),
  tcq: matrix(128, (i, j) => tcqAfter[i] * hadamard(128)(i, j) * tcqBefore[j]),
  dense: denseRotation(128),
};

/** Columns of a normal matrix made orthonormal one after the other (Gram and Schmidt, twice for accuracy). */
function denseRotation(n) {
  const normal = gaussians(0x517cc1b727220a95n, n * n);
  const columns = [];
  for (let j = 0; j < n; j++) {
    const column = Float64Array.from({ length: n }, (_, i) => normal[i * n + j]);
    for (const other of [...columns, ...columns]) {
      const along = dot(column, other);
      for (let i = 0; i < n; i++) column[i] -= along * other[i];
    }
    const length = Math.sqrt(dot(column, column));
    columns.push(column.map((x) => x / length));
  }
  return matrix(n, (i, j) => Math.fround(columns[j][i]));
}

/** 128 rows of 256: row i says how element i enters each projection. */
export const projection = (() => {
  const values = Float64Array.from(gaussians(42n ^ 0xc0ffee1234567890n, 128 * 256), Math.fround);
  return Array.from({ length: 128 }, (_, i) => values.subarray(256 * i, 256 * (i + 1)));
})();

export const residualSigns = (() => {
  const next = xorshift32(42);
  return Array.from({ length: 128 }, () => (next() % 2 === 1 ? 1 : -1));
})();

export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

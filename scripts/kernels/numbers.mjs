// Seeded numbers and short floats of the reference. Plain f64; shares nothing with src/kernels.

const MASK_64 = (1n << 64n) - 1n;

/** SplitMix64: a function that gives the next 64 bits. */
function splitMix64(seed) {
  let state = BigInt(seed) & MASK_64;
  return () => {
    state = (state + 0x9e3779b97f4a7c15n) & MASK_64;
    let z = state;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK_64;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK_64;
    return z ^ (z >> 31n);
  };
}

/** `count` signs: -1 where the highest bit is set. */
export function seededSigns(seed, count) {
  const next = splitMix64(seed);
  return Array.from({ length: count }, () => (next() >> 63n === 0n ? 1 : -1));
}

/** `count` values of N(0, 1), by Box and Muller, the cosine first. */
export function gaussians(seed, count) {
  const next = splitMix64(seed);
  const unit = () => Number(next() >> 11n) * 2 ** -53;
  const values = new Float64Array(count);
  for (let i = 0; i < count; i += 2) {
    const radius = Math.sqrt(-2 * Math.log(1 - unit()));
    const angle = 2 * Math.PI * unit();
    values[i] = radius * Math.cos(angle);
    if (i + 1 < count) values[i + 1] = radius * Math.sin(angle);
  }
  return values;
}

/** The next 32 bits of Marsaglia's xorshift (13, 17, 5). */
export function xorshift32(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state ^ (state << 13)) >>> 0;
    state = (state ^ (state >>> 17)) >>> 0;
    state = (state ^ (state << 5)) >>> 0;
    return state;
  };
}

/** The inputs of the cases: the sum of twelve uniform numbers of 20 bits, less 6, exact in f32. */
export function nearGaussians(next, count) {
  return Float64Array.from({ length: count }, () => {
    let sum = 0;
    for (let i = 0; i < 12; i++) sum += next() >>> 12;
    return sum / 2 ** 20 - 6;
  });
}

/** Rounds to the nearest multiple of a power of two, ties to even. */
function roundTo(value, unit) {
  const scaled = value / unit;
  const floor = Math.floor(scaled);
  const rest = scaled - floor;
  const up = rest > 0.5 || (rest === 0.5 && floor % 2 !== 0);
  return (up ? floor + 1 : floor) * unit;
}

const exponentOf = (value) => {
  let exponent = Math.floor(Math.log2(value));
  // log2 may be one off next to a power of two.
  if (2 ** exponent > value) exponent -= 1;
  if (2 ** (exponent + 1) <= value) exponent += 1;
  return exponent;
};

/** A positive number as `{ value, bits }` of a format with so many bits of exponent and fraction. */
function short(value, exponentBits, fractionBits) {
  const bias = 2 ** (exponentBits - 1) - 1;
  if (value === 0) return { value: 0, bits: 0 };
  const unit = 2 ** (Math.max(exponentOf(value), 1 - bias) - fractionBits);
  const rounded = roundTo(value, unit);
  if (rounded === 0) return { value: 0, bits: 0 };
  const exponent = Math.max(exponentOf(rounded), 1 - bias);
  const significand = rounded / 2 ** (exponent - fractionBits);
  const isNormal = significand >= 2 ** fractionBits;
  const field = isNormal ? exponent + bias : 0;
  const fraction = isNormal ? significand - 2 ** fractionBits : significand;
  return { value: rounded, bits: field * 2 ** fractionBits + fraction };
}

export const f16 = (value) => short(value, 5, 10);
export const bf16 = (value) => short(value, 8, 7);

export const littleEndian16 = (bits) => [bits & 255, bits >> 8];

// Which shapes the kernels are compared on. The counts are those of the kernels' makers, and more.
import { blockElements, formatNames } from "./formats.mjs";

const headLengths = [128, 256, 512];
const tokenCounts = [64, 128, 256, 512];
const valueFormats = ["TBQ3_0", "Q4_POLAR"];

/** Neighbouring seeds of a xorshift begin alike; these do not. */
const seeds = (() => {
  let count = 0;
  return () => Math.imul(++count, 0x9e3779b9) >>> 0;
})();

/** 8 keys and a query for each format and head length that is whole blocks. */
export const scoreCases = formatNames.flatMap((format) =>
  headLengths
    .filter((elements) => elements % blockElements(format) === 0)
    .map((elements) => ({ format, elements, rows: 8, seed: seeds() })),
);

/** One key of several blocks, and 8 queries. */
export const multiBlockCases = formatNames.flatMap((format) =>
  [1, 2, 4, 8].map((blocks) => ({ format, blocks, queries: 8, seed: seeds() })),
);

const attentionCase = (gate, values, shape) => ({ gate, values, seed: seeds(), ...shape });

/** 15 heads of 128: 1,920 outputs for each format of the values. */
const fused = [
  { tokens: 64, kvHeads: 1, group: 1 },
  { tokens: 128, kvHeads: 1, group: 2 },
  { tokens: 256, kvHeads: 1, group: 4 },
  { tokens: 512, kvHeads: 2, group: 4 },
];

/** Every number of tokens with every grouping. */
const combinations = tokenCounts.flatMap((tokens) =>
  [1, 2, 4].map((group) => ({ tokens, kvHeads: 1, group })),
);
const already = (shape) =>
  fused.some(({ tokens, group }) => tokens === shape.tokens && group === shape.group);

/** 12 heads of 128 that see a part of the tokens: 1,536 outputs. */
const prefixes = { 64: 1, 128: 77, 256: 200, 512: 389 };
const causal = tokenCounts.flatMap((tokens) =>
  [1, 2].map((group) => ({ tokens, kvHeads: 1, group, visible: prefixes[tokens] })),
);

const ofHeadLength = (headLength) => [
  ...tokenCounts.map((tokens) => ({ gate: "fused", tokens, kvHeads: 1, group: 2, headLength })),
  { gate: "fused-causal", tokens: 128, kvHeads: 1, group: 2, visible: 77, headLength },
];

export const attentionCases = valueFormats
  .flatMap((values) => [
    ...fused.map((shape) => attentionCase("fused", values, shape)),
    ...combinations
      .filter((shape) => !already(shape))
      .map((shape) => attentionCase("fused-combinations", values, shape)),
    ...causal.map((shape) => attentionCase("fused-causal", values, shape)),
    ...[256, 512].flatMap(ofHeadLength).map(({ gate, ...shape }) => attentionCase(gate, values, shape)),
  ])
  .map((shape) => ({ headLength: 128, visible: shape.tokens, ...shape }));

// Pairs of a model and a drafter, with texts to continue, for the benchmarks of speculative decoding.
import { Failure } from "../../scripts/lib/log.mjs";
import { developmentFile, syntheticFile } from "../../scripts/lib/speculation.mjs";

const code = `<|im_start|>user
Write a Python class for a binary search tree with insert, delete, contains, in-order iteration and tests.<|im_end|>
<|im_start|>assistant
`;
const prose = `<|im_start|>user
Tell a story about a lighthouse keeper who finds a letter in a bottle.<|im_end|>
<|im_start|>assistant
`;

const synthetic = (size, type) =>
  ["100", "80", "50", "0", "mixed"].map((name) => ({
    name: `synthetic (${type}), ${name === "mixed" ? "changing text" : `${name} %`}`,
    kind: "draft-mtp",
    target: () => syntheticFile(size, "target.gguf"),
    drafter: () => syntheticFile("large", `drafter-${name}.gguf`),
    prompt: "hello w003",
  }));

const qwen = [
  ["code", code],
  ["prose", prose],
].map(([name, prompt]) => ({
  name: `Qwen2.5-Coder 0.5B -> 1.5B, ${name}`,
  kind: "draft-simple",
  target: () => developmentFile("qwen2.5-coder-1.5b"),
  drafter: () => developmentFile("qwen2.5-coder-0.5b"),
  prompt,
  options: { parseSpecial: true },
}));

const known = {
  synthetic: synthetic("large", "Q8_0"),
  "synthetic-f16": synthetic("large-f16", "F16"),
  qwen,
};

/** All pairs, as `--pairs` takes them. */
export const allPairs = Object.keys(known).join(",");

/** Those whose name has `only` in it, as `{ name, kind, target(), drafter(), prompt, options }`; `kind` is llama.cpp's name of the way to draft. */
export function speculationCases(pairs, only = "") {
  return pairs
    .split(",")
    .filter(Boolean)
    .flatMap((name) => {
      if (known[name]) return known[name];
      throw new Failure(`there is no pair "${name}" (known: ${allPairs})`);
    })
    .filter(({ name }) => name.includes(only));
}

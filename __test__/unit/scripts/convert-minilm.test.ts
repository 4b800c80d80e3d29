import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fromRoot } from "../../../scripts/lib/paths.mjs";
import { readGguf } from "../../helpers/read-gguf.js";

const hidden = 4;
const vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing"];
const config = {
  vocab_size: vocabulary.length,
  hidden_size: hidden,
  intermediate_size: 8,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  max_position_embeddings: 16,
  type_vocab_size: 2,
  layer_norm_eps: 1e-12,
};
const layer = "encoder.layer.0";
const shapes: Record<string, number[]> = {
  "embeddings.word_embeddings.weight": [vocabulary.length, hidden],
  "embeddings.position_embeddings.weight": [16, hidden],
  "embeddings.token_type_embeddings.weight": [2, hidden],
  "embeddings.LayerNorm.weight": [hidden],
  [`${layer}.attention.self.query.weight`]: [hidden, hidden],
  [`${layer}.attention.output.LayerNorm.bias`]: [hidden],
  [`${layer}.intermediate.dense.weight`]: [8, hidden],
  [`${layer}.output.dense.weight`]: [hidden, 8],
  "pooler.dense.weight": [hidden, hidden],
};

/** Weights 1, 1.5, 2, ...: each of them is exact in F16. */
function safetensors(): Buffer {
  const header: Record<string, unknown> = { __metadata__: { format: "pt" } };
  const data: Buffer[] = [];
  let offset = 0;
  for (const [name, shape] of Object.entries(shapes)) {
    const values = Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, index) => 1 + index / 2);
    data.push(Buffer.from(values.buffer));
    header[name] = { dtype: "F32", shape, data_offsets: [offset, offset + values.byteLength] };
    offset += values.byteLength;
  }
  const text = Buffer.from(JSON.stringify(header));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([size, text, ...data]);
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "convert-minilm-"));
  writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  writeFileSync(join(folder, "vocab.txt"), `${vocabulary.join("\n")}\n`);
  writeFileSync(join(folder, "model.safetensors"), safetensors());
});
afterAll(() => rmSync(folder, { recursive: true }));

function convert(name: string): Buffer {
  const script = fromRoot("scripts/convert-minilm.py");
  const result = spawnSync("python3", [script, folder, join(folder, name)], { encoding: "utf8" });
  expect(result.stderr).toBe("");
  return readFileSync(join(folder, name));
}

test("the header describes a BERT encoder with mean pooling", () => {
  const { metadata } = readGguf(convert("out.gguf"));
  expect(metadata).toMatchObject({
    "general.architecture": "bert",
    "bert.block_count": 1,
    "bert.context_length": 16,
    "bert.embedding_length": hidden,
    "bert.attention.causal": false,
    "bert.pooling_type": 1,
    "tokenizer.ggml.model": "bert",
    "tokenizer.ggml.cls_token_id": 2,
    "tokenizer.ggml.seperator_token_id": 3,
  });
  expect(metadata["bert.attention.layer_norm_epsilon"]).toBeCloseTo(1e-12, 15);
});

test("a token that starts a word gets the phantom space, its continuation loses the hashes", () => {
  const { metadata } = readGguf(convert("out.gguf"));
  const tokens = metadata["tokenizer.ggml.tokens"];
  expect(tokens).toEqual(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "\u2581play", "ing"]);
  expect(metadata["tokenizer.ggml.token_type"]).toEqual([3, 2, 3, 3, 3, 1, 1]);
});

test("matrices become F16, tables that are added and vectors stay F32, the pooler is left out", () => {
  const { tensors } = readGguf(convert("out.gguf"));
  const [f32, f16] = [0, 1];
  expect(Object.fromEntries(tensors.map(({ name, shape, type }) => [name, [shape, type]]))).toEqual({
    "token_embd.weight": [[hidden, vocabulary.length], f16],
    "position_embd.weight": [[hidden, 16], f32],
    "token_types.weight": [[hidden, 2], f32],
    "token_embd_norm.weight": [[hidden], f32],
    "blk.0.attn_q.weight": [[hidden, hidden], f16],
    "blk.0.attn_output_norm.bias": [[hidden], f32],
    "blk.0.ffn_up.weight": [[hidden, 8], f16],
    "blk.0.ffn_down.weight": [[8, hidden], f16],
  });
});

test("weights keep their values, at aligned offsets", () => {
  const file = convert("out.gguf");
  const { tensors, dataOffset } = readGguf(file);
  const start = (name: string) => {
    const offset = tensors.find((tensor) => tensor.name === name)?.offset ?? Number.NaN;
    expect(offset % 32).toBe(0);
    return dataOffset + offset;
  };
  // 1.0 and 1.5 in half precision
  expect(file.readUInt32LE(start("blk.0.attn_q.weight"))).toBe(0x3e003c00);
  expect(file.readFloatLE(start("token_embd_norm.weight") + 4)).toBe(1.5);
});

test("the same input gives the same bytes", () => {
  expect(convert("a.gguf").equals(convert("b.gguf"))).toBe(true);
});

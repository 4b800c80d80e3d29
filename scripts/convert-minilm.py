"""all-MiniLM-L6-v2 (safetensors, WordPiece) -> one GGUF file for llama.cpp; Python's standard library only.

usage: convert-minilm.py FOLDER OUTPUT, FOLDER holding config.json, vocab.txt and model.safetensors.

Matrices become F16; vectors and the position and token type tables, which are added and not multiplied, stay
F32. The output depends on the input alone: the same bytes on every machine.
"""

import json
import struct
import sys
from pathlib import Path

ALIGNMENT = 32
# gguf.h: type of a metadata value, by its struct code.
VALUE_TYPES = {"I": 4, "i": 5, "f": 6, "?": 7}
STRING, ARRAY = 8, 9
# ggml.h: type of a tensor.
F32, F16 = 0, 1
MOSTLY_F16 = 1
POOLING_MEAN = 1
TOKEN_NORMAL, TOKEN_UNKNOWN, TOKEN_CONTROL = 1, 2, 3

GLOBAL_NAMES = {
    "embeddings.word_embeddings": "token_embd",
    "embeddings.position_embeddings": "position_embd",
    "embeddings.token_type_embeddings": "token_types",
    "embeddings.LayerNorm": "token_embd_norm",
}
LAYER_NAMES = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}
KEPT_F32 = ("position_embd.weight", "token_types.weight")


def gguf_string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


class Metadata:
    """GGUF key/value pairs in the order in which they are added."""

    def __init__(self):
        self.count = 0
        self.data = bytearray()

    def _key(self, key, kind):
        self.count += 1
        self.data += gguf_string(key) + struct.pack("<I", kind)

    def scalar(self, key, code, value):
        self._key(key, VALUE_TYPES[code])
        self.data += struct.pack("<" + code, value)

    def string(self, key, value):
        self._key(key, STRING)
        self.data += gguf_string(value)

    def strings(self, key, values):
        self._key(key, ARRAY)
        self.data += struct.pack("<IQ", STRING, len(values))
        for value in values:
            self.data += gguf_string(value)

    def integers(self, key, values):
        self._key(key, ARRAY)
        self.data += struct.pack(f"<IQ{len(values)}i", VALUE_TYPES["i"], len(values), *values)


def phantom_space(token, kind):
    """WordPiece marks the continuation of a word (##); llama.cpp marks its start (a phantom space)."""
    if kind in (TOKEN_CONTROL, TOKEN_UNKNOWN):
        return token
    return token[2:] if token.startswith("##") else "\u2581" + token


def add_vocabulary(metadata, vocabulary, token_types):
    special = {token: vocabulary.index(token) for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")}
    kinds = [TOKEN_CONTROL if token in special else TOKEN_NORMAL for token in vocabulary]
    kinds[special["[UNK]"]] = TOKEN_UNKNOWN
    metadata.string("tokenizer.ggml.model", "bert")
    metadata.strings("tokenizer.ggml.tokens", [phantom_space(*pair) for pair in zip(vocabulary, kinds)])
    metadata.integers("tokenizer.ggml.token_type", kinds)
    metadata.scalar("tokenizer.ggml.token_type_count", "I", token_types)
    for name, token in (
        ("bos", "[CLS]"),
        ("cls", "[CLS]"),
        ("seperator", "[SEP]"),  # spelled so in llama-arch.cpp
        ("padding", "[PAD]"),
        ("unknown", "[UNK]"),
        ("mask", "[MASK]"),
    ):
        metadata.scalar(f"tokenizer.ggml.{name}_token_id", "I", special[token])


def describe(config, vocabulary):
    metadata = Metadata()
    metadata.string("general.architecture", "bert")
    metadata.string("general.type", "model")
    metadata.string("general.name", "all-MiniLM-L6-v2")
    metadata.string("general.license", "apache-2.0")
    metadata.scalar("general.file_type", "I", MOSTLY_F16)
    metadata.scalar("general.quantization_version", "I", 2)
    metadata.scalar("bert.block_count", "I", config["num_hidden_layers"])
    metadata.scalar("bert.context_length", "I", config["max_position_embeddings"])
    metadata.scalar("bert.embedding_length", "I", config["hidden_size"])
    metadata.scalar("bert.feed_forward_length", "I", config["intermediate_size"])
    metadata.scalar("bert.attention.head_count", "I", config["num_attention_heads"])
    metadata.scalar("bert.attention.layer_norm_epsilon", "f", config["layer_norm_eps"])
    metadata.scalar("bert.attention.causal", "?", False)
    metadata.scalar("bert.pooling_type", "I", POOLING_MEAN)
    add_vocabulary(metadata, vocabulary, config["type_vocab_size"])
    return metadata


def read_safetensors(path):
    """Yields (name, shape, little-endian F32 bytes) of every floating-point tensor, in the file's order."""
    with path.open("rb") as file:
        (header_size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(header_size))
        header.pop("__metadata__", None)
        for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
            if entry["dtype"] != "F32":
                continue
            start, end = entry["data_offsets"]
            file.seek(8 + header_size + start)
            yield name, entry["shape"], file.read(end - start)


def gguf_name(name):
    """llama.cpp's name of a tensor, or None for the pooler, which mean pooling does not use."""
    stem, kind = name.rsplit(".", 1)
    if stem in GLOBAL_NAMES:
        return f"{GLOBAL_NAMES[stem]}.{kind}"
    if stem.startswith("pooler."):
        return None
    _, _, layer, part = stem.split(".", 3)
    return f"blk.{layer}.{LAYER_NAMES[part]}.{kind}"


def to_f16(data):
    """Rounds to the nearest half, ties to even; a value beyond the range of F16 raises OverflowError."""
    count = len(data) // 4
    return struct.pack(f"<{count}e", *struct.unpack(f"<{count}f", data))


def convert_tensors(path):
    for name, shape, data in read_safetensors(path):
        target = gguf_name(name)
        if target is None:
            continue
        if len(shape) == 2 and target not in KEPT_F32:
            yield target, shape, F16, to_f16(data)
        else:
            yield target, shape, F32, data


def padding(size):
    return b"\0" * (-size % ALIGNMENT)


def write_gguf(path, metadata, tensors):
    infos = bytearray()
    offset = 0
    for name, shape, kind, data in tensors:
        # ggml counts dimensions from the innermost.
        infos += gguf_string(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        infos += struct.pack("<IQ", kind, offset)
        offset += len(data) + len(padding(len(data)))
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), metadata.count) + metadata.data + infos
    with path.open("wb") as file:
        file.write(head + padding(len(head)))
        for _, _, _, data in tensors:
            file.write(data + padding(len(data)))


def main():
    folder, output = map(Path, sys.argv[1:])
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
    if vocabulary[-1] == "":
        vocabulary.pop()
    if len(vocabulary) != config["vocab_size"]:
        sys.exit(f"vocab.txt has {len(vocabulary)} tokens, config.json says {config['vocab_size']}")
    write_gguf(output, describe(config, vocabulary), list(convert_tensors(folder / "model.safetensors")))


if __name__ == "__main__":
    main()

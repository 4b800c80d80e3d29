"""A Gemma 4 target and its `gemma4-assistant` drafters whose tokens are known.

Every token t embeds as row class(t) of a Hadamard matrix, and the head turns that row into the token that follows the
class. All layers are computed; a gain of 0 on their post-norms keeps their result out of the residual stream, so that
the next token depends on the last one alone. A gain above 0 lets them in: the head then prefers four successors alike,
and what attention makes of the whole history decides among them.
"""

import math
from dataclasses import dataclass, replace

from gguf_file import F16, F32, Q8_0, GgufFile
from weights import Noise, constant, packed, sign

# Height of the logit of the right token; the softcap leaves 17.5 of it.
LOGIT, SOFTCAP = 20.0, 30.0
# What may follow class c of a model with history: c + step, modulo the cycle. The first one is the plain successor.
SUCCESSORS = (1, 17, 43, 71)


@dataclass(frozen=True)
class Size:
    """Shape of a target and of its drafters."""

    width: int
    layers: int
    pattern: tuple  # whether a layer slides, repeated
    window: int
    shared: int
    heads: int
    kv_heads: int
    head: int  # of the layers that see everything
    head_sliding: int
    feed_forward: int
    per_layer: int
    context: int
    kind: int
    drafter_width: int
    drafter_feed_forward: int


SMALL = Size(256, 6, (True, False), 32, 2, 4, 1, 128, 64, 256, 16, 4096, F32, 128, 128)
LARGE = Size(1024, 24, (True,) * 5 + (False,), 512, 6, 8, 2, 128, 128, 3072, 32, 32768, Q8_0, 256, 512)
LARGE_F16 = replace(LARGE, kind=F16)
# Four layers of a drafter; the last one sees everything, as in the published ones.
DRAFTER_PATTERN = (True, True, True, False)


def embedding(size, number):
    scale = 1 / math.sqrt(size.width)
    return [scale * sign(number, column) for column in range(size.width)]


def by_class(vocabulary, make):
    """A row for each token, made once for each class."""
    rows = {}
    for number in vocabulary.class_of:
        if number not in rows:
            rows[number] = make(number)
        yield rows[number]


def attention_keys(file, size, layers, pattern, width, feed_forward):
    file.scalar(".context_length", "I", size.context)
    file.scalar(".block_count", "I", layers)
    file.scalar(".embedding_length", "I", width)
    file.scalar(".feed_forward_length", "I", feed_forward)
    file.scalar(".attention.head_count", "I", size.heads)
    file.scalar(".attention.head_count_kv", "I", size.kv_heads)
    for suffix, head in (("", size.head), ("_swa", size.head_sliding)):
        file.scalar(f".attention.key_length{suffix}", "I", head)
        file.scalar(f".attention.value_length{suffix}", "I", head)
        file.scalar(f".rope.dimension_count{suffix}", "I", head)
    file.scalar(".attention.layer_norm_rms_epsilon", "f", 1e-6)
    file.scalar(".attention.sliding_window", "I", size.window)
    file.array(".attention.sliding_window_pattern", "?", pattern)
    file.scalar(".rope.freq_base", "f", 1e6)
    file.scalar(".rope.freq_base_swa", "f", 1e4)


def layer_tensors(file, noise, size, kind, index, sliding, width, feed_forward, gain):
    """What a layer of the target and one of a drafter have in common."""
    name, head = f"blk.{index}.", size.head_sliding if sliding else size.head

    def matrix(part, columns, rows):
        file.tensor(f"{name}{part}.weight", (columns, rows), kind, noise.matrix(kind, columns, rows))

    def vector(part, value, count):
        file.tensor(f"{name}{part}.weight", (count,), F32, constant(value, count))

    vector("attn_norm", 1.0, width)
    matrix("attn_q", width, head * size.heads)
    vector("attn_q_norm", 1.0, head)
    matrix("attn_output", head * size.heads, width)
    vector("post_attention_norm", gain, width)
    vector("layer_output_scale", 1.0, 1)
    vector("ffn_norm", 1.0, width)
    matrix("ffn_gate", width, feed_forward)
    matrix("ffn_up", width, feed_forward)
    matrix("ffn_down", feed_forward, width)
    vector("post_ffw_norm", gain, width)
    return matrix, vector, head


def target(path, vocabulary, size, seed, gain=0.0):
    file, noise = GgufFile("gemma4", "synthetic target"), Noise(seed, pooled=size.kind == F16)
    pattern = [size.pattern[index % len(size.pattern)] for index in range(size.layers)]
    attention_keys(file, size, size.layers, pattern, size.width, size.feed_forward)
    file.scalar(".attention.shared_kv_layers", "I", size.shared)
    file.scalar(".embedding_length_per_layer_input", "I", size.per_layer)
    file.scalar(".final_logit_softcapping", "f", SOFTCAP)
    vocabulary.write(file)
    tokens, across = len(vocabulary.tokens), size.per_layer * size.layers
    kind = size.kind
    embeddings = by_class(vocabulary, lambda number: packed(kind, embedding(size, number)))
    file.tensor("token_embd.weight", (size.width, tokens), kind, embeddings)
    file.tensor("output.weight", (size.width, tokens), kind, head_rows(vocabulary, size, gain > 0))
    file.tensor("output_norm.weight", (size.width,), F32, constant(1.0, size.width))
    file.tensor("rope_freqs.weight", (size.head // 2,), F32, constant(1.0, size.head // 2))
    file.tensor("per_layer_token_embd.weight", (across, tokens), kind, noise.matrix(kind, across, tokens))
    projection = noise.matrix(kind, size.width, across)
    file.tensor("per_layer_model_proj.weight", (size.width, across), kind, projection)
    file.tensor("per_layer_proj_norm.weight", (size.per_layer,), F32, constant(1.0, size.per_layer))
    for index, sliding in enumerate(pattern):
        shape = (index, sliding, size.width, size.feed_forward, gain)
        matrix, vector, head = layer_tensors(file, noise, size, kind, *shape)
        if index < size.layers - size.shared:
            matrix("attn_k", size.width, head * size.kv_heads)
            vector("attn_k_norm", 1.0, head)
            matrix("attn_v", size.width, head * size.kv_heads)
        matrix("inp_gate", size.width, size.per_layer)
        matrix("proj", size.per_layer, size.width)
        vector("post_norm", gain, size.width)
    file.write(path)


def head_rows(vocabulary, size, history):
    """Rows of the output matrix: the sum of the classes that the token follows."""
    before = {}
    for number in range(vocabulary.classes):
        if history and number < vocabulary.cycle:
            followers = [vocabulary.words[(number + step) % vocabulary.cycle] for step in SUCCESSORS]
        else:
            followers = [vocabulary.next_word(number)]
        for token in followers:
            before.setdefault(token, []).append(number)
    height = LOGIT / size.width
    for token in range(len(vocabulary.tokens)):
        rows = [[height * sign(number, column) for column in range(size.width)] for number in before.get(token, [])]
        yield packed(size.kind, [sum(values) for values in zip(*rows)] if rows else [0.0] * size.width)


def agrees(number, percent):
    """Whether a drafter of `percent` agreement is right after class `number`: a fixed, irregular choice."""
    return ((number + 1) * 2654435761 % (1 << 32) >> 16) % 100 < percent


def drafter(path, vocabulary, size, seed, right, carry=False, history=False, foreign=None):
    """A drafter that knows the successor of class c where `right(c)`, and names another word elsewhere.

    It reads the class of the last token, or with `carry` only the hidden state, from which it must count on: then its
    drafts are right only if the hidden states are handed over and rolled back correctly. `foreign` is the width of the
    target that it was made for, when that is another one.
    """
    file, noise = GgufFile("gemma4-assistant", "synthetic drafter"), Noise(seed)
    width, backbone = size.drafter_width, foreign or size.width
    attention_keys(file, size, len(DRAFTER_PATTERN), DRAFTER_PATTERN, width, size.drafter_feed_forward)
    file.scalar(".embedding_length_out", "I", backbone)
    file.scalar(".nextn_predict_layers", "I", len(DRAFTER_PATTERN))
    vocabulary.write(file)
    tokens = len(vocabulary.tokens)
    file.tensor("token_embd.weight", (width, tokens), F16, guesses(vocabulary, width, right, carry, history))
    file.tensor("output_norm.weight", (width,), F32, constant(1.0, width))
    file.tensor("rope_freqs.weight", (size.head // 2,), F32, constant(1.0, size.head // 2))
    file.tensor("nextn.pre_projection.weight", (2 * backbone, width), F16, reading(vocabulary, width, backbone, carry))
    file.tensor("nextn.post_projection.weight", (width, backbone), F16, counting(vocabulary, width, backbone))
    for index, sliding in enumerate(DRAFTER_PATTERN):
        layer_tensors(file, noise, size, F16, index, sliding, width, size.drafter_feed_forward, 0.0)
    file.write(path)


def reading(vocabulary, width, backbone, carry):
    """Turns the last token's embedding (the first half), or the hidden state before it, into its class."""
    zeros = [0.0] * backbone
    for number in range(width):
        row = [sign(number, column) / backbone for column in range(backbone)] if number < vocabulary.classes else zeros
        yield packed(F16, zeros + row if carry else row + zeros)


def counting(vocabulary, width, backbone):
    """The hidden state of the next class: what the target would have given."""
    unit = 1 / math.sqrt(width)
    for column in range(backbone):
        rows = (sign((number + 1) % vocabulary.cycle, column) * unit for number in range(vocabulary.classes))
        row = list(rows)
        yield packed(F16, row + [0.0] * (width - len(row)))


def guesses(vocabulary, width, right, carry, history):
    """Rows of the drafter's head: the classes after which it names the token."""
    after = {}
    for number in range(vocabulary.classes):
        # The hidden state before the last token lags one class behind it.
        last = (number + 1) % vocabulary.cycle if carry else number
        good = vocabulary.next_word(last)
        if history and last < vocabulary.cycle:
            named = [vocabulary.words[(last + step) % vocabulary.cycle] for step in SUCCESSORS]
        else:
            named = [good if right(last) else vocabulary.words[(last + 7) % vocabulary.cycle]]
        for token in named:
            after.setdefault(token, []).append(number)
    for token in range(len(vocabulary.tokens)):
        row = [0.0] * width
        for number in after.get(token, []):
            row[number] = 1.0
        yield packed(F16, row)

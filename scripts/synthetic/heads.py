"""Models (`hy_v3`, dense layers only) with multi-token-prediction heads of their own, whose tokens are known.

The words are those of the other synthetic models: the head of the trunk turns the class of the last token into the one
that follows. A layer gets its weight in the residual stream from the last matrix of each of its halves: zero for a next
token that depends on the last one alone, above that the whole history decides among four successors.
"""

from gguf_file import F16, F32, GgufFile
from models import LOGIT, SUCCESSORS
from weights import Noise, constant, packed, sign

WIDTH, LAYERS, HEADS, KV_HEADS, HEAD, FEED_FORWARD, CONTEXT = 128, 2, 2, 1, 64, 128, 4096
# Weight of the queries: with it attention picks few tokens, so that each of them matters.
SHARP = 4.0


def _keys(file, vocabulary, layers, heads):
    for key, value in (
        ("context_length", CONTEXT),
        ("block_count", layers + heads),
        ("nextn_predict_layers", heads),
        ("embedding_length", WIDTH),
        ("feed_forward_length", FEED_FORWARD),
        ("expert_feed_forward_length", FEED_FORWARD),
        ("attention.head_count", HEADS),
        ("attention.head_count_kv", KV_HEADS),
        ("attention.key_length", HEAD),
        ("attention.value_length", HEAD),
        ("rope.dimension_count", HEAD),
    ):
        file.scalar(f".{key}", "I", value)
    file.scalar(".attention.layer_norm_rms_epsilon", "f", 1e-6)
    file.scalar(".rope.freq_base", "f", 1e4)
    vocabulary.write(file)


def _table(vocabulary, named):
    """Rows of a head: the sum of the classes after which it names the token."""
    before = {}
    for number in range(vocabulary.classes):
        for token in named(number):
            before.setdefault(token, []).append(number)
    height = LOGIT / WIDTH
    for token in range(len(vocabulary.tokens)):
        rows = [[height * sign(number, column) for column in range(WIDTH)] for number in before.get(token, [])]
        yield packed(F16, [sum(values) for values in zip(*rows)] if rows else [0.0] * WIDTH)


def _block(file, noise, index, gain):
    name = f"blk.{index}."

    def matrix(part, columns, rows, scale=1.0):
        chunks = noise.matrix(F16, columns, rows, scale)
        file.tensor(f"{name}{part}.weight", (columns, rows), F16, chunks)

    def vector(part, value, count):
        file.tensor(f"{name}{part}.weight", (count,), F32, constant(value, count))

    vector("attn_norm", 1.0, WIDTH)
    matrix("attn_q", WIDTH, HEAD * HEADS)
    matrix("attn_k", WIDTH, HEAD * KV_HEADS)
    matrix("attn_v", WIDTH, HEAD * KV_HEADS)
    matrix("attn_output", HEAD * HEADS, WIDTH, gain)
    vector("attn_q_norm", SHARP, HEAD)
    vector("attn_k_norm", 1.0, HEAD)
    vector("ffn_norm", 1.0, WIDTH)
    matrix("ffn_gate", WIDTH, FEED_FORWARD)
    matrix("ffn_up", WIDTH, FEED_FORWARD)
    matrix("ffn_down", FEED_FORWARD, WIDTH, gain)
    return vector


def _reading(vocabulary, carry):
    """Keeps the last token's class (the first half), or with `carry` counts on from the hidden state before it."""
    zeros = [0.0] * WIDTH
    if not carry:
        for row in range(WIDTH):
            yield packed(F16, [1.0 if column == row else 0.0 for column in range(WIDTH)] + zeros)
        return
    for row in range(WIDTH):
        follows = [sign((number + 1) % vocabulary.cycle, row) / WIDTH for number in range(vocabulary.cycle)]
        values = [
            sum(unit * sign(number, column) for number, unit in enumerate(follows)) for column in range(WIDTH)
        ]
        yield packed(F16, zeros + values)


def own_heads(path, vocabulary, seed, right, carry=False, gain=0.0, heads=1, tensors=True):
    """A model whose heads know the successor of class c where `right(c)`, and name another word elsewhere.

    They read the class of the last token, or with `carry` only the hidden state, from which they must count on. With a
    `gain` they name four successors alike, as the trunk does. Without `tensors` they are announced and missing.
    """
    file, noise = GgufFile("hy_v3", "synthetic model with heads"), Noise(seed)
    _keys(file, vocabulary, LAYERS, heads)
    tokens = len(vocabulary.tokens)

    def successors(number):
        if gain > 0 and number < vocabulary.cycle:
            return [vocabulary.words[(number + step) % vocabulary.cycle] for step in SUCCESSORS]
        return [vocabulary.next_word(number)]

    def guesses(number):
        return successors(number) if right(number) else [vocabulary.words[(number + 7) % vocabulary.cycle]]

    embedding = [packed(F16, [float(sign(number, column)) for column in range(WIDTH)]) for number in range(WIDTH)]
    rows = (embedding[number] for number in vocabulary.class_of)
    file.tensor("token_embd.weight", (WIDTH, tokens), F16, rows)
    file.tensor("output.weight", (WIDTH, tokens), F16, _table(vocabulary, successors))
    file.tensor("output_norm.weight", (WIDTH,), F32, constant(1.0, WIDTH))
    for index in range(LAYERS):
        _block(file, noise, index, gain)
    for index in range(LAYERS, LAYERS + heads if tensors else LAYERS):
        vector, name = _block(file, noise, index, gain), f"blk.{index}.nextn."
        file.tensor(f"{name}eh_proj.weight", (2 * WIDTH, WIDTH), F16, _reading(vocabulary, carry))
        for part in ("enorm", "hnorm", "shared_head_norm"):
            vector(f"nextn.{part}", 1.0, WIDTH)
        file.tensor(f"{name}shared_head_head.weight", (WIDTH, tokens), F16, _table(vocabulary, guesses))
    file.write(path)

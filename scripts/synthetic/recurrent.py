"""A Mamba model (recurrent state only) and a Jamba model (recurrent and attention layers) with random weights.

Their next token depends on the whole history: a state that was restored, shared or cut back wrongly changes the text.
"""

from array import array

from gguf_file import F32, GgufFile
from weights import Noise, constant

WIDTH, STATE, KERNEL, RANK, FEED_FORWARD, CONTEXT = 64, 16, 4, 4, 128, 4096
INNER = 2 * WIDTH
HEADS, KV_HEADS = 4, 2


def _matrix(file, noise, name, columns, rows):
    file.tensor(f"{name}.weight", (columns, rows), F32, noise.matrix(F32, columns, rows))


def _vector(file, name, value, count):
    file.tensor(name, (count,), F32, constant(value, count))


def _keys(file, layers, vocabulary):
    file.scalar(".context_length", "I", CONTEXT)
    file.scalar(".block_count", "I", layers)
    file.scalar(".embedding_length", "I", WIDTH)
    file.scalar(".ssm.conv_kernel", "I", KERNEL)
    file.scalar(".ssm.inner_size", "I", INNER)
    file.scalar(".ssm.state_size", "I", STATE)
    file.scalar(".ssm.time_step_rank", "I", RANK)
    file.scalar(".attention.layer_norm_rms_epsilon", "f", 1e-6)
    vocabulary.write(file)


def _ends(file, noise, vocabulary):
    tokens = len(vocabulary.tokens)
    _matrix(file, noise, "token_embd", WIDTH, tokens)
    _vector(file, "output_norm.weight", 4.0, WIDTH)
    _matrix(file, noise, "output", WIDTH, tokens)


def _recurrent_layer(file, noise, name, norms):
    _matrix(file, noise, f"{name}ssm_in", WIDTH, 2 * INNER)
    _matrix(file, noise, f"{name}ssm_conv1d", KERNEL, INNER)
    _vector(file, f"{name}ssm_conv1d.bias", 0.0, INNER)
    _matrix(file, noise, f"{name}ssm_x", INNER, RANK + 2 * STATE)
    _matrix(file, noise, f"{name}ssm_dt", RANK, INNER)
    # A small step: what was read many tokens ago still counts.
    _vector(file, f"{name}ssm_dt.bias", -3.0, INNER)
    decay = array("f", [-float(index + 1) for index in range(STATE)]).tobytes()
    file.tensor(f"{name}ssm_a", (STATE, INNER), F32, [decay] * INNER)
    _vector(file, f"{name}ssm_d", 1.0, INNER)
    _matrix(file, noise, f"{name}ssm_out", INNER, WIDTH)
    if norms:
        _vector(file, f"{name}ssm_dt_norm.weight", 1.0, RANK)
        _vector(file, f"{name}ssm_b_norm.weight", 1.0, STATE)
        _vector(file, f"{name}ssm_c_norm.weight", 1.0, STATE)


def mamba(path, vocabulary, seed, layers=3):
    file, noise = GgufFile("mamba", "synthetic mamba"), Noise(seed)
    _keys(file, layers, vocabulary)
    file.scalar(".feed_forward_length", "I", 0)
    file.scalar(".attention.head_count", "I", 0)
    _ends(file, noise, vocabulary)
    for index in range(layers):
        _vector(file, f"blk.{index}.attn_norm.weight", 1.0, WIDTH)
        _recurrent_layer(file, noise, f"blk.{index}.", norms=False)
    file.write(path)


def jamba(path, vocabulary, seed, attention=(False, True, False, True)):
    file, noise = GgufFile("jamba", "synthetic jamba"), Noise(seed)
    _keys(file, len(attention), vocabulary)
    file.scalar(".feed_forward_length", "I", FEED_FORWARD)
    file.scalar(".attention.head_count", "I", HEADS)
    file.array(".attention.head_count_kv", "I", [KV_HEADS if has else 0 for has in attention])
    _ends(file, noise, vocabulary)
    for index, has in enumerate(attention):
        name = f"blk.{index}."
        _vector(file, f"{name}attn_norm.weight", 1.0, WIDTH)
        if has:
            across = WIDTH // HEADS * KV_HEADS
            for part, rows in (("attn_q", WIDTH), ("attn_k", across), ("attn_v", across), ("attn_output", WIDTH)):
                _matrix(file, noise, f"{name}{part}", WIDTH, rows)
        else:
            _recurrent_layer(file, noise, name, norms=True)
        _vector(file, f"{name}ffn_norm.weight", 1.0, WIDTH)
        _matrix(file, noise, f"{name}ffn_gate", WIDTH, FEED_FORWARD)
        _matrix(file, noise, f"{name}ffn_up", WIDTH, FEED_FORWARD)
        _matrix(file, noise, f"{name}ffn_down", FEED_FORWARD, WIDTH)
    file.write(path)

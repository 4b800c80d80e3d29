"""Small models of other architectures with multi-token-prediction heads, with random weights.

Their next token depends on the whole history. Their heads are hardly ever right: what they are for is to be evaluated, taken
back and cut with the sliding windows of the trunk.
"""

from gguf_file import F32, GgufFile
from weights import Noise, constant

WIDTH, LAYERS, HEADS, KV_HEADS, HEAD, FEED_FORWARD, EXPERTS, WINDOW = 64, 4, 2, 1, 32, 64, 2, 32


def _keys(file, vocabulary, heads):
    layers = LAYERS + heads
    for key, value in (
        ("context_length", 4096),
        ("block_count", layers),
        ("nextn_predict_layers", heads),
        ("embedding_length", WIDTH),
        ("feed_forward_length", FEED_FORWARD),
        ("expert_feed_forward_length", FEED_FORWARD),
        ("expert_count", EXPERTS),
        ("expert_used_count", 1),
        ("expert_shared_count", 1),
        ("expert_shared_feed_forward_length", FEED_FORWARD),
        ("leading_dense_block_count", LAYERS),
        ("attention.head_count", HEADS),
        ("attention.head_count_kv", KV_HEADS),
        ("attention.key_length", HEAD),
        ("attention.value_length", HEAD),
        ("rope.dimension_count", HEAD),
    ):
        file.scalar(f".{key}", "I", value)
    file.scalar(".attention.layer_norm_rms_epsilon", "f", 1e-6)
    if file.architecture != "glm4moe":
        file.scalar(".attention.sliding_window", "I", WINDOW)
        pattern = [index % 2 == 0 for index in range(LAYERS)] + [file.architecture != "cohere2moe"] * heads
        file.array(".attention.sliding_window_pattern", "?", pattern)
    if file.architecture == "cohere2moe":
        file.scalar(".logit_scale", "f", 1.0)
    vocabulary.write(file)


def foreign_heads(path, vocabulary, architecture, seed, heads=1):
    file, noise = GgufFile(architecture, f"synthetic {architecture} with heads"), Noise(seed)
    _keys(file, vocabulary, heads)
    tokens = len(vocabulary.tokens)

    def matrix(name, columns, rows, *experts):
        count = rows * (experts[0] if experts else 1)
        file.tensor(f"{name}.weight", (columns, rows, *experts), F32, noise.matrix(F32, columns, count))

    def vector(name, value, count):
        file.tensor(f"{name}.weight", (count,), F32, constant(value, count))

    def feed_forward(name, suffix="", *experts):
        matrix(f"{name}ffn_gate{suffix}", WIDTH, FEED_FORWARD, *experts)
        matrix(f"{name}ffn_up{suffix}", WIDTH, FEED_FORWARD, *experts)
        matrix(f"{name}ffn_down{suffix}", FEED_FORWARD, WIDTH, *experts)

    matrix("token_embd", WIDTH, tokens)
    vector("output_norm", 4.0, WIDTH)
    matrix("output", WIDTH, tokens)
    for index in range(LAYERS + heads):
        name = f"blk.{index}."
        vector(f"{name}attn_norm", 1.0, WIDTH)
        if architecture == "mimo2":
            matrix(f"{name}attn_qkv", WIDTH, HEAD * (HEADS + 2 * KV_HEADS))
        else:
            for part, rows in (("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS)):
                matrix(f"{name}attn_{part}", WIDTH, HEAD * rows)
        matrix(f"{name}attn_output", HEAD * HEADS, WIDTH)
        # One norm for both halves of a layer.
        if architecture != "cohere2moe":
            vector(f"{name}{'post_attention_norm' if architecture == 'glm4moe' else 'ffn_norm'}", 1.0, WIDTH)
        if index >= LAYERS and architecture in ("glm4moe", "cohere2moe"):
            matrix(f"{name}ffn_gate_inp", WIDTH, EXPERTS)
            feed_forward(name, "_exps", EXPERTS)
            feed_forward(name, "_shexp")
            if architecture == "glm4moe":
                file.tensor(f"{name}exp_probs_b.bias", (EXPERTS,), F32, constant(0.0, EXPERTS))
        else:
            feed_forward(name)
        if index >= LAYERS:
            matrix(f"{name}nextn.eh_proj", 2 * WIDTH, WIDTH)
            vector(f"{name}nextn.enorm", 1.0, WIDTH)
            vector(f"{name}nextn.hnorm", 1.0, WIDTH)
    file.write(path)

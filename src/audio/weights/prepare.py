"""Turns published ONNX files into the weights that this crate is built with.

    python3 prepare.py silero    silero_vad.onnx                            silero-v6.safetensors
    python3 prepare.py embedding melspectrogram.onnx embedding_model.onnx   speech-embedding.safetensors

The Fourier bases of both networks are left out: the script checks that they are windowed Fourier transforms, which the
crate computes with a fast one. Needs numpy and onnx.
"""

import json
import struct
import sys

import numpy as np
import onnx
from onnx import numpy_helper


def constants(graph, found):
    """Every constant of a graph and of the graphs inside it, by name."""
    for initializer in graph.initializer:
        found[initializer.name] = numpy_helper.to_array(initializer)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                constants(attribute.g, found)
            elif node.op_type == "Constant" and attribute.name == "value":
                found[node.output[0]] = numpy_helper.to_array(attribute.t)
    return found


def load(path):
    return constants(onnx.load(path).graph, {})


def check_fourier(real, imaginary, window):
    """The bases are `window` times the cosines and minus the sines of a Fourier transform of its length."""
    length = len(window)
    angle = 2 * np.pi * np.outer(np.arange(length // 2 + 1), np.arange(length)) / length
    worst = max(np.abs(real - window * np.cos(angle)).max(), np.abs(imaginary + window * np.sin(angle)).max())
    if worst > 1e-6:
        sys.exit(f"the file's Fourier basis is another one (off by {worst})")


def hann(length):
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length)


def silero(path):
    """Silero VAD v5 or v6: the network for 16 kHz, which is the first branch of the file's outermost condition."""
    prefix = "If_0_then_branch__Inline_0__"
    found = {name.removeprefix(prefix): value for name, value in load(path).items() if name.startswith(prefix)}
    basis = found["stft.forward_basis_buffer"][:, 0]
    check_fourier(basis[:129], basis[129:], hann(256))
    tensors = {}
    for layer in range(4):
        for part in ("weight", "bias"):
            tensors[f"encoder.{layer}.{part}"] = found[f"encoder.{layer}.reparam_conv.{part}"]
    tensors["lstm.input"] = found["decoder.rnn.weight_ih"]
    tensors["lstm.state"] = found["decoder.rnn.weight_hh"]
    tensors["lstm.bias"] = found["decoder.rnn.bias_ih"] + found["decoder.rnn.bias_hh"]
    tensors["output.weight"] = found["decoder.decoder.2.weight"].reshape(128)
    tensors["output.bias"] = found["decoder.decoder.2.bias"]
    return tensors


def embedding(mel_path, embedding_path):
    """The mel spectrogram and Google's speech embedding as openWakeWord uses them."""
    found = load(mel_path)
    window = np.zeros(512)
    window[56:456] = hann(400)
    check_fourier(found["0.stft.conv_real.weight"][:, 0], found["0.stft.conv_imag.weight"][:, 0], window)
    tensors = {"mel": found["1.melW"]}
    graph = onnx.load(embedding_path).graph
    found = constants(graph, {})
    layers = [node for node in graph.node if node.op_type == "Conv"]
    for index, node in enumerate(layers):
        tensors[f"layer.{index}.weight"] = found[node.input[1]]
        if len(node.input) > 2:
            tensors[f"layer.{index}.bias"] = found[node.input[2]]
    return tensors


def write(path, tensors):
    """The safetensors format: the length of a JSON header, the header, the numbers."""
    header, offset, data = {}, 0, []
    for name, value in tensors.items():
        array = np.ascontiguousarray(value, dtype="<f4")
        end = offset + array.nbytes
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [offset, end]}
        data.append(array.tobytes())
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(data))


if __name__ == "__main__":
    makers = {"silero": (silero, 1), "embedding": (embedding, 2)}
    maker, count = makers.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if maker is None or len(sys.argv) != count + 3:
        sys.exit(__doc__)
    write(sys.argv[-1], maker(*sys.argv[2:-1]))

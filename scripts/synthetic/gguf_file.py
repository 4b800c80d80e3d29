"""Writes GGUF files with Python's standard library: the output depends on the input alone, byte for byte."""

import struct

ALIGNMENT = 32
# gguf.h: type of a metadata value, by its struct code.
VALUE_TYPES = {"I": 4, "i": 5, "f": 6, "?": 7}
STRING, ARRAY = 8, 9
# ggml.h: type of a tensor.
F32, F16, Q8_0 = 0, 1, 8
# Elements and bytes of a block of each type.
BLOCKS = {F32: (1, 4), F16: (1, 2), Q8_0: (32, 34)}


def _string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


class GgufFile:
    """Metadata and tensors in the order in which they are added."""

    def __init__(self, architecture, name):
        self.architecture = architecture
        self.pairs = 0
        self.metadata = bytearray()
        self.tensors = []
        self.string("general.architecture", architecture)
        self.string("general.type", "model")
        self.string("general.name", name)

    def _key(self, key, kind):
        # A leading dot stands for the architecture.
        key = self.architecture + key if key.startswith(".") else key
        self.pairs += 1
        self.metadata += _string(key) + struct.pack("<I", kind)

    def scalar(self, key, code, value):
        self._key(key, VALUE_TYPES[code])
        self.metadata += struct.pack("<" + code, value)

    def string(self, key, value):
        self._key(key, STRING)
        self.metadata += _string(value)

    def strings(self, key, values):
        self._key(key, ARRAY)
        self.metadata += struct.pack("<IQ", STRING, len(values))
        for value in values:
            self.metadata += _string(value)

    def array(self, key, code, values):
        self._key(key, ARRAY)
        self.metadata += struct.pack(f"<IQ{len(values)}{code}", VALUE_TYPES[code], len(values), *values)

    def tensor(self, name, shape, kind, chunks):
        """Adds a tensor; `shape` is in ggml's order, the row length first; `chunks` yields its bytes."""
        self.tensors.append((name, shape, kind, chunks))

    def write(self, path):
        infos, offset = bytearray(), 0
        for name, shape, kind, _ in self.tensors:
            infos += _string(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
            infos += struct.pack("<IQ", kind, offset)
            offset = _aligned(offset + _size(shape, kind))
        with open(path, "wb") as file:
            file.write(struct.pack("<4sIQQ", b"GGUF", 3, len(self.tensors), self.pairs))
            file.write(self.metadata + infos)
            _pad(file)
            for name, shape, kind, chunks in self.tensors:
                start = file.tell()
                for chunk in chunks:
                    file.write(chunk)
                if file.tell() - start != _size(shape, kind):
                    raise ValueError(f"{name}: {file.tell() - start} bytes for shape {shape}")
                _pad(file)


def _size(shape, kind):
    elements, size = BLOCKS[kind]
    count = 1
    for length in shape:
        count *= length
    return count // elements * size


def _aligned(offset):
    return -(-offset // ALIGNMENT) * ALIGNMENT


def _pad(file):
    file.write(b"\0" * (_aligned(file.tell()) - file.tell()))

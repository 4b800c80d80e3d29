"""Bytes of the tensors: exact structure where the behaviour comes from, seeded noise where only the cost matters."""

import math
import random
import struct
from array import array

from gguf_file import F16, F32, Q8_0


def sign(row, column):
    """Entry of the Hadamard matrix whose rows are orthogonal: 1 or -1."""
    return -1 if (row & column).bit_count() & 1 else 1


def packed(kind, values):
    """A row of numbers. As Q8_0 each block must hold one magnitude (and zeros), which is then stored exactly."""
    if kind == F32:
        return array("f", values).tobytes()
    if kind == F16:
        return struct.pack(f"<{len(values)}e", *values)
    blocks = bytearray()
    for start in range(0, len(values), 32):
        block = values[start : start + 32]
        scale = max(abs(value) for value in block)
        units = [round(value / scale) if scale else 0 for value in block]
        blocks += struct.pack("<e32b", scale, *units)
    return bytes(blocks)


class Noise:
    """Random weights. The large ones repeat one pool of blocks: they are read and multiplied like any others."""

    def __init__(self, seed, pooled=False):
        self.random = random.Random(seed)
        self.pooled = pooled
        self.pools = {}

    def matrix(self, kind, columns, rows, gain=1.0):
        """Weights with a standard deviation of about `gain` / sqrt(columns), row by row."""
        spread = gain * math.sqrt(3.0 / columns)
        if kind != Q8_0 and not self.pooled:
            for _ in range(rows):
                yield packed(kind, [self.random.uniform(-spread, spread) for _ in range(columns)])
            return
        pool, unit, size = self._blocks(kind, spread, columns)
        for _ in range(rows):
            start = unit * self.random.randrange((len(pool) - size) // unit)
            yield pool[start : start + size]

    def _blocks(self, kind, spread, columns):
        """A pool, the bytes of its unit, and those of a row."""
        if kind == Q8_0:
            return self._pool(spread / 127), 34, columns // 32 * 34
        if spread not in self.pools:
            values = [self.random.uniform(-spread, spread) for _ in range(1 << 19)]
            self.pools[spread] = packed(kind, values)
        unit = len(self.pools[spread]) >> 19
        return self.pools[spread], unit, columns * unit

    def _pool(self, scale):
        if scale not in self.pools:
            head, within = struct.pack("<e", scale), bytes.maketrans(b"\x80", b"\x81")
            blocks = (head + self.random.randbytes(32).translate(within) for _ in range(1 << 15))
            self.pools[scale] = b"".join(blocks)
        return self.pools[scale]


def constant(value, count):
    return [array("f", [value] * count).tobytes()]

"""usage: generate.py small|large|large-f16|recurrent|heads FOLDER

Writes the synthetic models (README.md) into FOLDER: the same bytes on every machine.
"""

import sys
from pathlib import Path

from foreign_heads import foreign_heads
from heads import own_heads
from models import LARGE, LARGE_F16, SMALL, agrees, drafter, target
from recurrent import jamba, mamba
from vocabulary import Vocabulary


def agreement(percent):
    return lambda number: agrees(number, percent)


def small(folder):
    vocabulary, foreign = Vocabulary(112, 16), Vocabulary(112, 16, prefix="x")
    larger = Vocabulary(112, 16, size=len(vocabulary.tokens) + 8)
    target(folder / "target.gguf", vocabulary, SMALL, seed=1)
    target(folder / "history.gguf", vocabulary, SMALL, seed=2, gain=0.12)
    for percent in (100, 80, 50, 0):
        drafter(folder / f"drafter-{percent}.gguf", vocabulary, SMALL, 3, agreement(percent))
    drafter(folder / "drafter-mixed.gguf", vocabulary, SMALL, 3, lambda number: number < 56)
    drafter(folder / "drafter-carry.gguf", vocabulary, SMALL, 3, agreement(100), carry=True)
    drafter(folder / "drafter-history.gguf", vocabulary, SMALL, 3, agreement(100), history=True)
    drafter(folder / "drafter-foreign-words.gguf", foreign, SMALL, 3, agreement(100))
    drafter(folder / "drafter-larger-vocabulary.gguf", larger, SMALL, 3, agreement(100))
    drafter(folder / "drafter-other-width.gguf", vocabulary, SMALL, 3, agreement(100), foreign=512)


def large(folder):
    vocabulary = Vocabulary(240, 0, size=32768)
    target(folder / "target.gguf", vocabulary, LARGE, seed=1)
    for percent in (100, 80, 50, 0):
        drafter(folder / f"drafter-{percent}.gguf", vocabulary, LARGE, 3, agreement(percent))
    # Two kinds of text: right everywhere in one half of the cycle, nowhere in the other.
    drafter(folder / "drafter-mixed.gguf", vocabulary, LARGE, 3, lambda number: number < 120)


def large_f16(folder):
    """The large target once more; the drafters are those of the other one."""
    target(folder / "target.gguf", Vocabulary(240, 0, size=32768), LARGE_F16, seed=1)


def recurrent(folder):
    vocabulary = Vocabulary(112, 16)
    mamba(folder / "mamba.gguf", vocabulary, seed=5)
    jamba(folder / "jamba.gguf", vocabulary, seed=6)


def heads(folder):
    vocabulary = Vocabulary(112, 16)
    for percent in (100, 80):
        own_heads(folder / f"heads-{percent}.gguf", vocabulary, 7, agreement(percent))
    own_heads(folder / "heads-carry.gguf", vocabulary, 7, agreement(100), carry=True)
    own_heads(folder / "heads-history.gguf", vocabulary, 8, agreement(100), gain=0.3)
    own_heads(folder / "heads-two.gguf", vocabulary, 7, agreement(80), heads=2)
    own_heads(folder / "heads-missing.gguf", vocabulary, 7, agreement(100), tensors=False)
    for architecture, count in (("cohere2moe", 1), ("glm4moe", 1), ("mimo2", 3), ("step35", 3)):
        foreign_heads(folder / f"{architecture}.gguf", vocabulary, architecture, 10, count)


SETS = {"small": small, "large": large, "large-f16": large_f16, "recurrent": recurrent, "heads": heads}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in SETS:
        sys.exit(__doc__.strip())
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    SETS[sys.argv[1]](folder)


if __name__ == "__main__":
    main()

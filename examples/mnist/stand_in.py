"""Files of the form of MNIST, whose host is gone, with ten noisy patterns: python examples/mnist/stand_in.py FOLDER"""

import gzip
import random
import struct
import sys
from pathlib import Path

SIDE = 28


def write(folder: Path, kind: str, count: int, seed: int) -> None:
    """Images and labels, in the form of MNIST."""
    patterns = [random.Random(digit).randbytes(SIDE * SIDE) for digit in range(10)]
    chance = random.Random(seed)
    labels = bytes(chance.randrange(10) for _ in range(count))
    images = b"".join(
        bytes(
            (point * 3 + noise) // 4
            for point, noise in zip(patterns[label], chance.randbytes(SIDE * SIDE), strict=True)
        )
        for label in labels
    )
    (folder / f"{kind}-images-idx3-ubyte.gz").write_bytes(
        gzip.compress(struct.pack(">IIII", 2051, count, SIDE, SIDE) + images)
    )
    (folder / f"{kind}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(struct.pack(">II", 2049, count) + labels))


def write_all(folder: str) -> None:
    write(Path(folder), "train", 1000, seed=1)
    write(Path(folder), "t10k", 200, seed=2)


if __name__ == "__main__":
    write_all(sys.argv[1])

"""Reads the files of MNIST: gzip around big-endian numbers and bytes."""

import gzip
import struct

import numpy as np


def load_data(filename, label=False):
    """Images as rows of bytes, or labels as a column."""
    with gzip.open(filename) as file:
        file.read(4)
        (count,) = struct.unpack(">I", file.read(4))
        if label:
            return np.frombuffer(file.read(count), dtype=np.uint8).reshape(count, 1)
        rows, columns = struct.unpack(">II", file.read(8))
        return np.frombuffer(file.read(count * rows * columns), dtype=np.uint8).reshape(count, rows * columns)

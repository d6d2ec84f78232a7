"""Pictures compared block by block, so that one wrong card is seen that a mean over the whole picture would hide."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

#: Blocks whose mean absolute difference, of 255, stays below this look alike. The least that a wrong rank makes on the
#: smallest cards is 2.6; Pillow 10.4, 11.3 and 13.0 draw the same to the last bit.
ALIKE = 2.0


def greatest_difference(one: npt.NDArray[Any], other: npt.NDArray[Any], size: int = 16) -> float:
    """Return the greatest mean absolute difference of any block of `size` by `size` pixels, of 255."""
    assert one.shape == other.shape
    height, width, _ = one.shape
    assert height % size == width % size == 0
    differences = np.abs(one.astype(np.int16) - other.astype(np.int16))
    blocks = differences.reshape(height // size, size, width // size, size, 3)
    return float(blocks.mean(axis=(1, 3, 4)).max())

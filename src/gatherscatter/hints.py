"""What is probably meant by indices that are out of range; said only when the numbers leave no other reading."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter.sentences import format_sentence

Hint = tuple[str, dict[str, int]]
"""The name of a sentence, which is empty where nothing is certain, and the numbers that the core has found for it."""


def find_hint(tuples: np.ndarray, first_axis: int, shape: tuple[int, ...], negative: bool) -> str:
    """A hint for index tuples into the axes of ``shape`` from ``first_axis`` on; empty when nothing is certain."""
    hint = _core.find_index_hint(tuples, shape, first_axis, negative)
    return word_hint(hint, shape[first_axis : first_axis + tuples.shape[-1]], tuples.dtype)


def word_hint(hint: Hint, sizes: tuple[int, ...], dtype: np.dtype[Any]) -> str:
    """The sentence of a hint for indices into axes of these ``sizes``."""
    name, numbers = hint
    if not name:
        return ""
    joined = ", ".join(map(str, sizes)) if len(set(sizes)) > 1 else str(sizes[0])
    rest = f"{numbers['meant']:+d}" if "meant" in numbers else ""
    return format_sentence("hints", name, sizes=joined, type=dtype, rest=rest, **numbers)

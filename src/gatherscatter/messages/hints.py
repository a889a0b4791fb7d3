"""Hints about the probable cause of indices that are out of range. There is no hint if the cause is not certain."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter.messages.sentences import format_sentence

Hint = tuple[str, dict[str, int]]
"""The name of a sentence and its numbers, as the core returns them. The name is empty if nothing is certain."""


def find_hint(tuples: np.ndarray, first_axis: int, shape: tuple[int, ...], negative: bool) -> str:
    """A hint for index tuples into the axes of ``shape`` from ``first_axis`` on, or "" if nothing is certain."""
    hint = _core.find_index_hint(tuples, shape, first_axis, negative)
    return word_hint(hint, shape[first_axis : first_axis + tuples.shape[-1]], tuples.dtype)


def word_hint(hint: Hint, sizes: tuple[int, ...], dtype: np.dtype[Any]) -> str:
    """Write a hint about indices into axes of these ``sizes``."""
    name, numbers = hint
    if not name:
        return ""
    joined = ", ".join(map(str, sizes)) if len(set(sizes)) > 1 else str(sizes[0])
    rest = f"{numbers['meant']:+d}" if "meant" in numbers else ""
    return format_sentence("hints", name, sizes=joined, type=dtype, rest=rest, **numbers)

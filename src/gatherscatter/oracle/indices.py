"""The rules for indices and axes: docs/specification.md, 2.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gatherscatter.oracle.element_types import Coordinates, zero_of


class IndexRule(NamedTuple):
    """The rule for index values of a call: docs/specification.md, 2.1."""

    mode: str
    negative: str = "end"
    fill_value: Any = None  # of a gather; None: zero

    def element(self, dtype: np.dtype) -> Any:
        """The element of a gather's result that no element of data goes to."""
        return zero_of(dtype) if self.fill_value is None else self.fill_value


# The rules of the op versions, by their codes in section 1.
N, P, Z = IndexRule("raise"), IndexRule("raise", "error"), IndexRule("fill")
RULES = {"negative": N, "nonnegative": P, "zeros": Z}


def resolve(i: int, s: int, rule: IndexRule) -> int | None:
    """The position of index value `i` on an axis of size `s`. None means that it names nothing."""
    if i < 0 and rule.negative == "skip":
        return None
    if i < 0 and rule.negative == "error":
        raise IndexError(i)
    if rule.mode in ("wrap", "clip"):
        if s == 0:
            raise IndexError(i)
        return i % s if rule.mode == "wrap" else min(max(i, 0), s - 1)
    if i < 0:
        i += s
    if 0 <= i < s:
        return i
    if rule.mode in ("fill", "drop"):
        return None
    raise IndexError(i)


def resolve_all(indices: np.ndarray, size_at: Callable[[Coordinates], int], rule: IndexRule) -> dict[Coordinates, Any]:
    """Check every index before any element moves, even if nothing would be copied (O19)."""
    positions = {}
    for p in np.ndindex(indices.shape):
        try:
            positions[p] = resolve(int(indices[p]), size_at(p), rule)
        except IndexError as error:
            raise at_position(error, p) from None
    return positions


def at_position(error: IndexError, p: Coordinates) -> IndexError:
    """Add the coordinates of the bad index to the error."""
    error.position = p  # type: ignore[attr-defined]
    return error


def norm_axis(a: int, r: int) -> int:
    require(r >= 1 and -r <= a < r)
    return a + r if a < 0 else a


def require(condition: bool) -> None:
    if not condition:
        raise ValueError


def axis_input(axis: np.ndarray) -> int:
    require(axis.ndim <= 1 and axis.size == 1)  # a scalar or one element (V16, V29)
    return int(axis.reshape(())[()])

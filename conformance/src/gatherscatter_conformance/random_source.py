"""The source of decisions for random calls: Hypothesis, which can shrink them, or bytes.

Bytes are fast, and a fuzzer can change them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Choices(Protocol):
    """A source of decisions. The first option of each is the plainest."""

    def integer(self, low: int, high: int) -> int:
        """Return a number from `low` to `high`, both included."""
        ...

    def pick(self, options: Sequence[Any]) -> Any:
        """Return one of the options."""
        ...

    def raw(self, size: int) -> bytes:
        """Return `size` bytes of any value."""
        ...


class HypothesisChoices:
    """Decisions of Hypothesis."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        from hypothesis import strategies

        self._draw, self._strategies = draw, strategies

    def integer(self, low: int, high: int) -> int:
        return int(self._draw(self._strategies.integers(low, high)))

    def pick(self, options: Sequence[Any]) -> Any:
        return self._draw(self._strategies.sampled_from(options))

    def raw(self, size: int) -> bytes:
        return bytes(self._draw(self._strategies.binary(min_size=size, max_size=size)))


class ByteChoices:
    """Decisions read from bytes: one byte each, or two if there are more than 256 options.

    After the end, all decisions are the plainest. So every string of bytes gives a case.
    """

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def integer(self, low: int, high: int) -> int:
        count = high - low + 1
        return low + int.from_bytes(self.raw(1 if count <= 256 else 2), "little") % count

    def pick(self, options: Sequence[Any]) -> Any:
        return options[self.integer(0, len(options) - 1)]

    def raw(self, size: int) -> bytes:
        start, self._at = self._at, self._at + size
        return self._data[start : self._at].ljust(size, b"\0")

"""Texts from files, shapes, times and tables as all tools show them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def printable(text: str) -> str:
    """Text from a file as it may go to a terminal: control characters are shown as escapes, never obeyed."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", lambda m: repr(m[0])[1:-1], text)


def shape_text(shape: Sequence[int | str | None] | None) -> str:
    """A shape as Python writes it, ``?`` for an unknown size.

    >>> shape_text(("batch", 3)), shape_text((None,)), shape_text(())
    ('(batch, 3)', '(?,)', '()')
    """
    if shape is None:
        return "unknown rank"
    sizes = ["?" if size is None else str(size) for size in shape]
    return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"


def seconds_text(seconds: float) -> str:
    """Seconds in a unit that fits.

    >>> seconds_text(0.0123), seconds_text(4.56e-6)
    ('12.3 ms', '4.56 µs')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; vertical bars and line ends within cells are escaped.

    >>> print(markdown_table(["name", "type"], [["x", "int | float"]]))
    | name | type |
    |---|---|
    | x | int \\| float |
    """
    first, *others = ("| " + " | ".join(map(_escape_cell, row)) + " |" for row in (head, *rows))
    return "\n".join([first, "|" + "---|" * len(head), *others])


def _escape_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")

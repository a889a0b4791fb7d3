"""Format texts from files, shapes, counts, times and tables, for all tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def printable(text: str) -> str:
    """Make text from a file safe for a terminal: control characters become escapes."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", lambda m: repr(m[0])[1:-1], text)


def quote(text: str) -> str:
    """Return a text of a file in quotes. Control characters are escaped, and long text is cut.

    >>> quote("a\\nb")
    "'a\\\\nb'"
    """
    return repr(text if len(text) <= 80 else text[:77] + "...")


def quote_if_needed(text: str) -> str:
    """Return a text of a file, with quotes only if it needs them."""
    return text if re.fullmatch(r"[\w.-]{1,80}", text) else quote(text)


def one_line(message: object) -> str:
    """Return the message of an exception on one line."""
    return " ".join(str(message).split())


def shape_text(shape: Sequence[int | str | None] | None) -> str:
    """Format a shape as Python does, with ``?`` for an unknown size.

    >>> shape_text(("batch", 3)), shape_text((None,)), shape_text(())
    ('(batch, 3)', '(?,)', '()')
    """
    if shape is None:
        return "unknown rank"
    sizes = ["?" if size is None else str(size) for size in shape]
    return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"


def count_text(number: int, noun: str) -> str:
    """Format a number of things.

    >>> count_text(1, "node"), count_text(2500, "case"), count_text(2, "index")
    ('1 node', '2,500 cases', '2 indices')
    """
    return f"{number:,} {noun if number == 1 else 'indices' if noun == 'index' else noun + 's'}"


def rounded_text(number: float, digits: int) -> str:
    """Format a number with this number of significant digits, without an exponent below a million.

    >>> rounded_text(213.4, 2), rounded_text(0.5678, 2)
    ('210', '0.57')
    """
    return f"{float(f'{number:.{digits}g}'):g}"


def bytes_text(count: int) -> str:
    """Format a number of bytes in a suitable unit.

    >>> bytes_text(512), bytes_text(3 << 30)
    ('512 bytes', '3.0 GiB')
    """
    if count < 1 << 10:
        return f"{count} bytes"
    power = min((count.bit_length() - 1) // 10, 8)
    return f"{count / (1 << 10 * power):.1f} {'KMGTPEZY'[power - 1]}iB"


def seconds_text(seconds: float) -> str:
    """Format seconds in a suitable unit.

    >>> seconds_text(0.0123), seconds_text(4.56e-6)
    ('12.3 ms', '4.56 µs')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{rounded_text(seconds / size, 3)} {unit}"
    return f"{rounded_text(seconds / 1e-9, 3)} ns"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Format a table in Markdown. Vertical bars and line ends within cells are escaped.

    >>> print(markdown_table(["name", "type"], [["x", "int | float"]]))
    | name | type |
    |---|---|
    | x | int \\| float |
    """
    first, *others = ("| " + " | ".join(map(_escape_cell, row)) + " |" for row in (head, *rows))
    return "\n".join([first, "|" + "---|" * len(head), *others])


def _escape_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")

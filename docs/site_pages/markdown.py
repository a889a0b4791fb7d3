"""Small pieces of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; bars and line ends within cells are escaped."""
    lines = [_row(head), _row(["---"] * len(head)), *(_row(row) for row in rows)]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def plain(text: str) -> str:
    """Text in which nothing is markup but code between backticks."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one that has no partner
        return _escaped(text)
    return "`".join(part if n % 2 else _escaped(part) for n, part in enumerate(parts))


def _escaped(text: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>$#" else letter for letter in text)


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\u4e00-\u9fff\- ]", "", heading.strip().lower()).replace(" ", "-")


def session(call: str, answer: np.ndarray, before: str = "") -> str:
    """A call and its answer as a session of Python; an answer with empty lines is given as lists."""
    shown = repr(answer)
    if "\n\n" in shown:
        call, shown = f"{call}.tolist()", repr(answer.tolist())
    return f"```python\n{before}>>> {call}\n{shown}\n\n```"

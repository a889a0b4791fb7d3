"""Tables, shapes and array previews as the commands print them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import numpy as np

from gatherscatter.text import printable

if TYPE_CHECKING:
    from rich.console import Console

UNLIMITED = 100_000  # columns: output into a file or a pipe is never folded
PREVIEW_ELEMENTS = 120  # an array of up to so many elements is shown whole
PREVIEW_LINES = 24
PREVIEW_CHARACTERS = 10_000  # strings have no length limit of their own


def console() -> Console:
    """A console that takes text literally: a tensor called ``[red]x`` is printed with that name."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else UNLIMITED
    return Console(highlight=False, markup=False, emoji=False, width=width)


def print_table(headers: Sequence[str] | None, rows: Sequence[Sequence[str]]) -> None:
    """Print rows, columns as wide as their text, below headers if there are any."""
    from rich import box
    from rich.table import Table

    style = box.SIMPLE_HEAD if headers else None
    table = Table(box=style, show_edge=False, pad_edge=False, header_style="bold", show_header=headers is not None)
    for number, header in enumerate(headers or [""] * len(rows[0])):
        table.add_column(header, overflow="fold", no_wrap=number == 0)
    for row in rows:
        table.add_row(*(printable(cell) for cell in row))
    screen = console()
    if screen.is_terminal:
        screen.print(table)
        return
    with screen.capture() as capture:
        screen.print(table)
    click.echo("\n".join(line.rstrip() for line in capture.get().splitlines()))  # no padding into a file


def type_text(array: object) -> str:
    """The element type in the words of the specifications, NumPy's word for a type they don't know."""
    from gatherscatter.arrays.convert import element_type

    if not isinstance(array, np.ndarray):
        return type(array).__name__  # an ONNX sequence is a list
    try:
        return element_type(array.dtype)
    except (TypeError, ValueError, LookupError):
        return str(array.dtype)


def preview(array: object) -> str:
    """A compact text of the values: small arrays whole, large ones by their corners."""
    if not isinstance(array, np.ndarray):
        return printable(repr(array))[:PREVIEW_CHARACTERS]
    edges = 3 if array.ndim <= 2 else 2
    width = console().width if sys.stdout.isatty() else 100
    text = np.array2string(array, threshold=PREVIEW_ELEMENTS, edgeitems=edges, max_line_width=width, separator=", ")
    lines = [printable(line) for line in text.splitlines() if line.strip()]
    if len(lines) > PREVIEW_LINES:
        half = PREVIEW_LINES // 2
        lines = [*lines[:half], " ...", *lines[-half:]]
    return "\n".join(lines)[:PREVIEW_CHARACTERS]

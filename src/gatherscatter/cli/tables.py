"""Print tables and array previews."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import numpy as np

from gatherscatter.cli.terminal import console, print_wrapped, style
from gatherscatter.messages.text import printable
from gatherscatter.pages.palette import Marked

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PREVIEW_ELEMENTS = 120  # larger arrays are abbreviated
PREVIEW_LINES = 24
PREVIEW_CHARACTERS = 10_000  # an element that is a string can have any length


def print_table(headers: Sequence[str] | None, rows: Sequence[Sequence[str | Marked]]) -> None:
    """Print rows, below headers if given. On a narrow terminal each row becomes a block of lines."""
    from rich import box
    from rich.table import Table

    form = box.SIMPLE_HEAD if headers else None
    table = Table(box=form, show_edge=False, pad_edge=False, header_style="bold", show_header=headers is not None)
    screen = console()
    for header in headers or [""] * len(rows[0]):
        table.add_column(header)
    for row in rows:
        table.add_row(*(style(screen, cell) for cell in row))
    print_fitted(screen, table)


def print_fitted(screen: Console, table: Table) -> None:
    """Print a table without breaking words. Output to a file has no trailing spaces."""
    if not screen.is_terminal:
        with screen.capture() as capture:
            screen.print(table)
        click.echo("\n".join(line.rstrip() for line in capture.get().splitlines()))
    elif _fit_columns(screen, table):
        screen.print(table)
    else:
        _print_blocks(screen, table)


def _fit_columns(screen: Console, table: Table) -> bool:
    """Set column widths at which the table fits and no word is broken. Return False if there are none."""
    from rich.measure import Measurement

    cells = [[column.header, *column.cells] for column in table.columns]
    measures = [[Measurement.get(screen, screen.options, cell) for cell in column] for column in cells]
    widths = [max(one.maximum for one in column) for column in measures]
    words = [max(one.minimum for one in column) for column in measures]
    gap = 2 if table.box is None else 3
    available = screen.width - gap * (len(widths) - 1)
    if sum(words) > available:
        return False
    while sum(widths) > available:
        widest = max((n for n, width in enumerate(widths) if width > words[n]), key=widths.__getitem__)
        widths[widest] -= 1
    for column, width in zip(table.columns, widths, strict=True):
        column.width = width
    return True


def _print_blocks(screen: Console, table: Table) -> None:
    """Print a block of lines for each row: the first cell, then ``header: cell`` for each other cell."""
    from rich.text import Text

    headers = [f"{column.header}: " if column.header else "" for column in table.columns]
    for number, row in enumerate(zip(*(column.cells for column in table.columns), strict=True)):
        if number and len(row) > 2:
            screen.print()
        for n, (header, cell) in enumerate(zip(headers, row, strict=True)):
            text = cell if isinstance(cell, Text) else Text(str(cell))
            if text.plain or not n:
                print_wrapped(screen, Text.assemble("  " if n else "", (header, "bold"), text))


def type_text(array: object) -> str:
    """Return the element type as the specifications name it, or NumPy's name for a type that they lack."""
    from gatherscatter.arrays.convert import element_type

    if not isinstance(array, np.ndarray):
        return type(array).__name__  # an ONNX sequence is a list
    try:
        return element_type(array.dtype)
    except (TypeError, ValueError, LookupError):
        return str(array.dtype)


def preview(array: object) -> str:
    """Return the values as a compact text. Large arrays are reduced to their corners."""
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

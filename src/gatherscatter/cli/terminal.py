"""Print lines: on a terminal wrapped at words, with signs and colours for verdicts; elsewhere as plain text."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from gatherscatter.messages.text import printable
from gatherscatter.pages.palette import Marked

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

UNLIMITED = 100_000  # columns: output into a file or a pipe is never wrapped
STYLES = {"danger": "bold red", "wrong": "red", "lax": "yellow", "right": "green", "none": "dim"}  # by tone


def console(*, stderr: bool = False) -> Console:
    """Return a console that prints text literally, so that a tensor called ``[red]x`` keeps its name."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else UNLIMITED
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, width=width)


def say(*parts: str | Marked) -> None:
    """Print one line of output."""
    screen = console()
    if not screen.is_terminal:
        click.echo("".join(printable(part if isinstance(part, str) else part.text) for part in parts))
        return
    from rich.text import Text

    print_wrapped(screen, Text.assemble(*(style(screen, part) for part in parts)))


def say_error(program: str, text: str) -> None:
    """Print an error of a program on stderr, as one line unless the terminal is narrower."""
    if not (sys.stderr.isatty() or os.environ.get("FORCE_COLOR")):
        print(f"{program}: error: {text}", file=sys.stderr)
        return
    from rich.text import Text

    print_wrapped(console(stderr=True), Text.assemble(f"{program}: ", ("error:", "bold red"), f" {text}"))


def say_interrupted(program: str, notes: Iterable[str]) -> None:
    """Print on stderr that Ctrl-C ended a program, and the notes about results that are kept."""
    if sys.stderr.isatty():
        print(file=sys.stderr)  # end the line on which the terminal shows ^C
    print("; ".join([f"{program}: interrupted", *notes]), file=sys.stderr)


def style(screen: Console, part: str | Marked) -> Text:
    """Return a part of a line as a styled text, with a sign if the screen can show it."""
    from rich.text import Text

    if isinstance(part, str):
        return Text(printable(part))
    if not screen.is_terminal:
        return Text(printable(part.text))
    sign = part.look.sign if _can_show(screen, part.look.sign) else ""
    return Text(f"{sign} {printable(part.text)}" if sign else printable(part.text), STYLES[part.look.tone])


def _can_show(screen: Console, text: str) -> bool:
    try:
        text.encode(screen.encoding)
    except UnicodeEncodeError:
        return False
    return True


def print_wrapped(screen: Console, text: Text) -> None:
    """Print a line, wrapped at the width of the screen. A word that is longer than that is not broken."""
    for line in _wrap(screen, text):
        screen.print(line, soft_wrap=True)


def _wrap(screen: Console, text: Text) -> Iterator[Text]:
    from rich.text import Text

    if text.cell_len <= screen.width:
        yield text
        return
    indent = len(text.plain) - len(text.plain.lstrip(" "))
    rest = text[indent:]
    for number, line in enumerate(rest.divide(_line_starts(rest.plain, screen.width - indent - 2))):
        line.rstrip()
        yield Text(" " * (indent + 2 if number else indent)) + line


def _line_starts(text: str, width: int) -> Iterator[int]:
    """Yield the positions where lines start, from the second line on. Words are separated by spaces."""
    from rich.cells import cell_len

    used = 0
    for word in re.finditer(r"\S+\s*", text):
        if used and used + cell_len(word[0].rstrip()) > width:
            yield word.start()
            used = 0
        used += cell_len(word[0])

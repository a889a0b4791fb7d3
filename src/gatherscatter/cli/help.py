"""Help pages: commands in sections, with no word broken on a narrow terminal."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence

import click


class HelpFormatter(click.HelpFormatter):
    """Help as wide as the terminal, up to 78 columns."""

    def __init__(self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None) -> None:
        super().__init__(indent_increment, width, max_width)
        self.width = min(self.width, shutil.get_terminal_size().columns - 2)

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 34, col_spacing: int = 2) -> None:
        """Write names and descriptions. Descriptions are below the names where a column would break a word."""
        rows = list(rows)
        names = min(max(len(name) for name, _ in rows), col_max, self.width * 9 // 20)
        longest = max((len(word) for _, text in rows for word in text.split()), default=0)
        if longest <= self.width - names - col_spacing - 2:
            super().write_dl(rows, names, col_spacing)
            return
        for name, text in rows:
            self.write(f"{'':{self.current_indent}}{name}\n")
            with self.indentation(), self.indentation():
                self.write_text(text)


class HelpContext(click.Context):
    """The context of a command, with help in this format."""

    formatter_class = HelpFormatter


class BaseCommand(click.Command):
    """A command with help in this format."""

    context_class = HelpContext


class BaseGroup(click.Group):
    """A group of commands with help in this format."""

    context_class = HelpContext
    command_class = BaseCommand


def write_commands(
    formatter: click.HelpFormatter, title: str, commands: Sequence[click.Command], width: int = 0
) -> None:
    """Write a section of commands. Their names are in a column of at least this width."""
    limit = formatter.width - max(width, *(len(str(one.name)) for one in commands)) - 6
    with formatter.section(title):
        formatter.write_dl([(str(one.name).ljust(width), one.get_short_help_str(limit)) for one in commands])

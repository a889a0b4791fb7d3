"""What ``gatherscatter conform`` is told: files and times that are looked at before a long run, not after it."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click


class NewFile(click.Path):
    """A file that can be written, or made in its folder."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, writable=True, path_type=Path)

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """The path, if there is a folder for it."""
        folder = Path(value).absolute().parent
        if not folder.is_dir():
            self.fail(f"there is no folder {folder}", parameter, context)
        if not os.access(folder, os.W_OK | os.X_OK):
            self.fail(f"folder {folder} can't be written to", parameter, context)
        return super().convert(value, parameter, context)


class Duration(click.FloatRange):
    """A time that ends."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """The number, if it is one."""
        number = super().convert(value, parameter, context)
        if not math.isfinite(number):
            self.fail(f"{value} is no time", parameter, context)
        return number


def read_others(files: Sequence[Path]) -> list[dict[str, Any]]:
    """The reports to add, of the corpus that is here."""
    from gatherscatter.conformance.report import read_json

    try:
        return [read_json(file, same_corpus=True) for file in files]
    except ValueError as error:
        raise click.UsageError(f"--add: {error}") from error

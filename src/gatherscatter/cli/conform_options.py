"""Options of ``gatherscatter conform`` that are checked before a long run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click


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

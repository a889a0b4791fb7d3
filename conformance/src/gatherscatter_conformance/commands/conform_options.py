"""Options of ``gatherscatter conform`` that are checked before a long run."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from gatherscatter_conformance.case import Case


class Duration(click.FloatRange):
    """A finite number of seconds or minutes."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """Return the number. Fail if it is not finite."""
        number = super().convert(value, parameter, context)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", parameter, context)
        return number


def read_report(option: str, file: Path) -> dict[str, Any]:
    """Read the report that an option names. Raise a usage error if it is about another corpus."""
    from gatherscatter_conformance.report_files import read_json

    try:
        return read_json(file, same_corpus=True, whole=option == "--resume")
    except ValueError as error:
        raise click.UsageError(f"{option}: {error}") from error


def find_what_is_left(report: dict[str, Any]) -> tuple[list[str], list[Case], dict[str, Any]]:
    """Return the runtimes and cases of a report, and the part of it that is valid for the installed releases."""
    from gatherscatter_conformance import corpus
    from gatherscatter_conformance.run import check_runtime
    from gatherscatter_conformance.runtimes import find

    names = [info["name"] for info in report["runtimes"]]
    for name in names:
        check_runtime(name)
    kept = [info for info in report["runtimes"] if find(info["name"]).version() == info["version"]]
    results = {info["name"]: report["results"][info["name"]] for info in kept}
    try:
        cases = [corpus.case(case["id"]) for case in report["cases"]]
    except LookupError as error:
        raise click.UsageError(f"--resume: {error.args[0]}; a search can't be resumed") from error
    return names, cases, report | {"runtimes": kept, "results": results}

"""Options that select cases of the corpus. Several commands share them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gatherscatter.cli.choices import Choice, OperatorPattern

if TYPE_CHECKING:
    from gatherscatter_conformance.case import Case

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def _kinds() -> Iterable[str]:
    from gatherscatter_conformance.corpus import KINDS

    return KINDS


def _types() -> Iterable[str]:
    from gatherscatter.specs import ops

    return dict.fromkeys(name for row in ops() for name in row.element_types)


def _reductions() -> Iterable[str]:
    from gatherscatter.specs import ops

    choices = (one.choices for row in ops() for one in row.attributes if one.name == "reduction")
    return dict.fromkeys(name for names in choices for name in names or ())


def _rules() -> Iterable[str]:
    from gatherscatter_conformance.rules import RULES

    return RULES


FILTERS = (
    click.option(
        "--op",
        "ops",
        metavar="GLOB",
        type=OperatorPattern(),
        multiple=True,
        help="Select op versions or operators: onnx.ScatterND-18, 'onnx.Scatter*' (repeatable).",
    ),
    click.option(
        "--kind", "kinds", metavar="KIND", type=Choice("kind", _kinds), multiple=True,
        help="Select kinds of cases: repeated, negative (repeatable).",
    ),
    click.option(
        "--type", "types", metavar="TYPE", type=Choice("element type", _types), multiple=True,
        help="Select element types of data: float32, string (repeatable).",
    ),
    click.option(
        "--reduction", "reductions", metavar="NAME", type=Choice("reduction", _reductions), multiple=True,
        help="Select reductions: none, add, mean (repeatable).",
    ),
    click.option(
        "--rule", "rules", metavar="RULE", type=Choice("rule", _rules), multiple=True,
        help="Select cases that check this rule of docs/rulings.md or docs/specification.md: O3, V10, 2.6 "
        "(repeatable).",
    ),
    click.option(
        "--case", "patterns", metavar="GLOB", multiple=True,
        help="Select cases by id: 'onnx/*/bfloat16/*' (repeatable). 'gatherscatter corpus list' prints the ids.",
    ),
)  # fmt: skip
NAMES = ("ops", "kinds", "types", "reductions", "rules", "patterns")


def filter_options(command: Decorated) -> Decorated:
    """Add the options to a command. Each can be repeated; a case then has to match one of the values."""
    for option in reversed(FILTERS):
        command = option(command)
    return command


def choose_cases(
    ops: tuple[str, ...],
    kinds: tuple[str, ...],
    types: tuple[str, ...],
    reductions: tuple[str, ...],
    rules: tuple[str, ...],
    patterns: tuple[str, ...],
) -> list[Case]:
    """Return the cases that match all options. Raise a usage error if there are none."""
    from gatherscatter_conformance import corpus

    def fits(case: Case) -> bool:
        return (
            _matches(ops, case.op, case.op.rpartition("-")[0])
            and _matches(patterns, case.id)
            and (not kinds or case.kind in kinds)
            and (not types or case.type in types)
            and (not reductions or case.reduction in reductions)
            and (not rules or any(rule in rules for rule in case.rules))
        )

    cases = [case for case in corpus.cases() if fits(case)]
    if not cases:
        raise click.UsageError(
            "no case matches all of these options; 'gatherscatter corpus list' prints the ids of all cases"
        )
    return cases


def _matches(patterns: tuple[str, ...], *names: str) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns for name in names)

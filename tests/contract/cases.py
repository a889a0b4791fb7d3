"""The cases of the promises about values and gradients."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from gatherscatter import oracle
from gatherscatter.messages.choices import NEGATIVE
from gatherscatter.operation import FUNCTIONS
from gatherscatter_conformance import random_calls
from tests.contract.adapter import Adapter
from tests.contract.calls import WIDTHS, Case, choices, make
from tests.contract.matrix import SCATTERS


def list_value_cases(adapter: Adapter, function: str, elements: tuple[str, ...]) -> list[Case]:
    """Return cases with every element type in every width, mode and reduction that there is."""
    cases = []
    for n, element in enumerate(elements):
        ways = list(_list_ways(function, element))
        for m in range(max(len(WIDTHS), len(ways))):
            options = dict(ways[m % len(ways)])
            if function in FUNCTIONS:
                modes = choices(function, "mode")
                options["mode"] = modes[(n + 2 * m) % len(modes) if len(ways) > 1 else (n + m) % len(modes)]
                options["negative"] = NEGATIVE[(n + m) % len(NEGATIVE)]
            warns = options.get("reductions") == "mean"  # of infinite complex numbers: see test_values.py
            width, turn = WIDTHS[(n + m) % len(WIDTHS)], 7 * n + 5 * m
            case = Case(function, element, width, turn, tuple(options.items()))
            cases.append(case._replace(tame=warns or adapter.rounds(make(case))))
    return [case for case in cases if not adapter.find_gap_of_call(make(case), case.element)]


def _list_ways(function: str, element: str) -> Iterator[dict[str, Any]]:
    name = oracle.element_type(random_calls.dtype_of(element.rpartition(" ")[2]))
    if function in SCATTERS or function == "prepare.scatter":
        yield {}
        for reduction, include_self in itertools.product(choices("scatter_nd", "reduction")[1:], (True, False)):
            if oracle.is_reducible(reduction, name):
                yield {"reduction": reduction, "include_self": include_self}
    elif function in ("gather_reduce", "prepare.propagate"):
        for reduction in choices("gather_reduce", "reduction"):
            if oracle.is_reducible(reduction, name):
                yield {"reduction": reduction}
    elif function == "prepare.reduce":
        for reduction in ("sum", "mul", "min", "max", "mean"):
            if oracle.is_reducible(reduction.replace("sum", "add"), name) and (reduction, name in oracle.INTEGERS) != (
                "mean",
                True,
            ):
                yield {"reductions": reduction}
    elif function == "tensor_scatter":
        yield from ({"mode": mode} for mode in ("linear", "circular"))
    else:
        yield {}

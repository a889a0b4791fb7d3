"""The promises: for which functions, adapters, element types and widths each is tested, and why not for others."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from gatherscatter import oracle
from gatherscatter.operation import FUNCTIONS, Kernel
from gatherscatter.oracle.quantized import CODES, SCALES
from gatherscatter_conformance import random_calls
from tests.contract.adapter import Adapter
from tests.contract.adapters import ADAPTERS
from tests.contract.calls import DRAWS, ELEMENTS, WIDTHS, Case, choices, make

GATHERS = ("gather", "gather_elements", "gather_nd")
SCATTERS = ("scatter_update", "scatter_elements", "scatter_nd")
TABLES = tuple(f"{code} of {scale}" for code in CODES for scale in SCALES)


class Promise(NamedTuple):
    """A promise of docs/guarantees.md about calls.

    Attributes
    ----------
    elements : the element types for a function
    parameter : the parameter that a function needs for the promise
    """

    name: str
    functions: tuple[str, ...]
    elements: Callable[[str], tuple[str, ...]]
    widths: tuple[int, ...] = WIDTHS
    parameter: str = ""

    def find_hole(self, adapter: Adapter, function: str) -> str:
        """Return why the promise is not tested for a function: "" if it is."""
        if reason := adapter.find_gap(function, "", self.name, *filter(None, [self.parameter])):
            return reason
        if self.parameter and function in FUNCTIONS and self.parameter not in _parameters(function):
            return f"{function} has no parameter {self.parameter}"
        return "" if self.find_elements(adapter, function) else "no element type"

    def find_elements(self, adapter: Adapter, function: str) -> tuple[str, ...]:
        """Return the element types for which the promise is tested."""
        return tuple(each for each in self.elements(function) if not find_missing_type(adapter, function, each))

    def find_pairs(self) -> Iterator[tuple[Adapter, str]]:
        """Return each adapter and function for which the promise is tested."""
        for adapter, function in itertools.product(ADAPTERS.values(), self.functions):
            if not self.find_hole(adapter, function):
                yield adapter, function

    @property
    def each(self) -> pytest.MarkDecorator:
        """Parametrise a test over adapters and functions."""
        pairs = []
        for adapter, function in self.find_pairs():
            marks = [pytest.mark.skipif(not is_installed(adapter), reason=f"needs {adapter.library}")]
            if (bug := _find_bug(self.name, adapter.name, function)) is not None:
                marks.append(pytest.mark.xfail(strict=True, reason=bug))
            pairs.append(pytest.param(adapter, function, id=f"{adapter.name}, {function}", marks=marks))
        return pytest.mark.parametrize(("adapter", "function"), pairs)


BUGS = {
    ("", "torch device", "tensor_scatter"): "a KeyError unless axis, mode and num_threads are given",
    ("layouts", "Dask", "aggregate"): "lazy labels in the other byte order are an internal TypeError",
    **dict.fromkeys(
        (("objects", "torch", "aggregate"), ("objects", "JAX", "aggregate")), "masks and units are lost in silence"
    ),
    ("errors", "JAX jit", "aggregate"): "the error names gather_reduce and segment_ids",
}
"""Known bugs, by promise (or all), adapter and function."""


def _find_bug(promise: str, adapter: str, function: str) -> str | None:
    return BUGS.get((promise, adapter, function)) or BUGS.get(("", adapter, function))


def is_installed(adapter: Adapter) -> bool:
    return importlib.util.find_spec(adapter.library.partition(".")[0]) is not None


def find_missing_type(adapter: Adapter, function: str, element: str) -> str:
    """Return why an adapter has no elements of a type in a function: "" if it has."""
    return adapter.find_gap(function, element, *(["scales"] if " of " in element else []))


def _parameters(function: str) -> tuple[str, ...]:
    return tuple(each.name for each in FUNCTIONS[Kernel(function)].parameters)


def domain(function: str) -> tuple[str, ...]:
    """Return the element types of a function."""
    if function == "gather_quantized":
        return TABLES
    if function == "gather_reduce":
        return (*random_calls.REDUCED, *TABLES[::4])
    if function == "gather_tree":
        return random_calls.TREE_TYPES
    if function == "aggregate":
        return ("bool", *oracle.INTEGERS, *oracle.FLOATS)
    if function in ("prepare.sum", "prepare.reduce", "prepare.propagate"):
        return random_calls.REDUCED
    return ELEMENTS


def some(*elements: str) -> Callable[[str], tuple[str, ...]]:
    """Return these element types for all functions, and some of tables."""
    return lambda function: TABLES[::4] if function == "gather_quantized" else elements


FUNCTION_NAMES = tuple(DRAWS)
MOVES = tuple(name for name in FUNCTION_NAMES if name != "aggregate")
CAST = (*SCATTERS, "gather_reduce", "tensor_scatter")
THREADED = tuple(name for name in FUNCTION_NAMES if name != "gather_tree")
PREPARED = tuple(f"prepare.{method}" for method in ("gather", "scatter", "sum", "propagate"))

VALUES = Promise("values", MOVES, domain)
STATISTICS = Promise("statistics", ("aggregate",), domain)
SUMS = Promise("sums", (*SCATTERS, "gather_reduce"), some(*oracle.FLOATS), parameter="accumulate")
CASTS = Promise("casts", CAST, some(*random_calls.REDUCED), (3,))
LAYOUTS = Promise("layouts", FUNCTION_NAMES, some("float32", "bfloat16", "int64"), (0, 1, 3, 33))
EMPTY = Promise("empty", FUNCTION_NAMES, some("float32", "bfloat16", "int64"), (3,))
OBJECTS = Promise("objects", FUNCTION_NAMES, some("float32"), (3,))
ERRORS = Promise("errors", FUNCTION_NAMES, some("float32"), (3,))
OUT = Promise("out", (*map(str, FUNCTIONS), "tensor_scatter", "prepare.gather"), some("int32", "float32", "bfloat16"),
              (1, 3, 33, 8), parameter="out")  # fmt: skip
THREADS = Promise("threads", THREADED, some("float32", "float16"), (33,), parameter="num_threads")
GRADIENTS = Promise("gradients", (*GATHERS, *SCATTERS, "gather_reduce", *PREPARED), some(*oracle.FLOATS))
PROMISES = (VALUES, STATISTICS, SUMS, CASTS, LAYOUTS, EMPTY, OBJECTS, ERRORS, OUT, THREADS, GRADIENTS)


# ----------------------------------------------------------------------------------------------------------- cases


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

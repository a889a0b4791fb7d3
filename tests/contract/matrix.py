"""The promises: for which functions, adapters, element types and widths each is tested, and why not for others."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from gatherscatter import oracle
from gatherscatter.operation import FUNCTIONS, Kernel
from gatherscatter.oracle.quantized import CODES, SCALES
from gatherscatter_conformance import random_calls
from tests.contract.adapter import Adapter
from tests.contract.adapters import ADAPTERS
from tests.contract.calls import DRAWS, ELEMENTS, WIDTHS

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
        if reason := adapter.find_gap(function, "", *self.name.split(" of "), *filter(None, [self.parameter])):
            return reason
        if self.parameter and function in FUNCTIONS and self.parameter not in _parameters(function):
            return f"{function} has no parameter {self.parameter}"
        reasons = [find_missing_type(adapter, function, element) for element in self.elements(function)]
        return reasons[0] if all(reasons) else ""

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
ERRORS = Promise("errors", FUNCTION_NAMES, some("float32", "float64"), (3,))
OUT = Promise("out", (*map(str, FUNCTIONS), "tensor_scatter", "prepare.gather"), some("int32", "float32", "bfloat16"),
              (1, 3, 33, 8), parameter="out")  # fmt: skip
THREADS = Promise("threads", THREADED, some("float32", "float16"), (33,), parameter="num_threads")
GRADIENTS = Promise("gradients", (*GATHERS, *SCATTERS, "gather_reduce", *PREPARED), some(*oracle.FLOATS))
HALVES = Promise("gradients of halves", (*GATHERS, "gather_reduce", "prepare.gather"), some(*oracle.HALVES), (8,))
PROMISES = (VALUES, STATISTICS, SUMS, CASTS, LAYOUTS, EMPTY, OBJECTS, ERRORS, OUT, THREADS, GRADIENTS, HALVES)


# ---------------------------------------------------------------------------------------------------------- tables


def format_matrix() -> str:
    """Return the tables of promises, element types and parameters, by adapters, with the reasons for all holes."""
    notes: dict[str, str] = {}
    adapters = [each for each in ADAPTERS.values() if is_installed(each)]

    def show(reasons: list[str]) -> str:
        """Return how many of some things are tested, and the marks of the reasons for the others."""
        marks = [notes.setdefault(reason, _mark(len(notes))) for reason in dict.fromkeys(filter(None, reasons))]
        tested = reasons.count("")
        return f"{tested}/{len(reasons)}" if tested == len(reasons) else f"{tested}/{len(reasons)} {','.join(marks)}"

    lines = ["functions for which a promise is tested, of all functions that it is about; widths of rows"]
    rows = [["", *(each.name for each in adapters), "widths"]]
    for promise in PROMISES:
        cells = [show([promise.find_hole(adapter, each) for each in promise.functions]) for adapter in adapters]
        rows.append([promise.name, *cells, " ".join(map(str, promise.widths))])
    lines += _align(rows)
    lines += ["", "functions for which an element type is tested in values"]
    rows = [["", *(each.name for each in adapters)]]
    for element in ELEMENTS:
        functions = [each for each in VALUES.functions if element in domain(each)]
        found = [[VALUES.find_hole(a, f) or find_missing_type(a, f, element) for f in functions] for a in adapters]
        rows.append([element, *map(show, found)])
    lines += _align(rows)
    lines += ["", "functions in which a parameter of the table FUNCTIONS is tested"]
    rows = [["", *(each.name for each in adapters)]]
    for name in dict.fromkeys(name for function in FUNCTIONS for name in _parameters(function)):
        functions = [str(each) for each in FUNCTIONS if name in _parameters(each)]
        rows.append([name, *(show([a.find_gap(f, "", "values", name) for f in functions]) for a in adapters)])
    lines += _align(rows)
    values = [
        f"{each.name}: {name}, {reason}" for each in adapters for name, reason in each.lacks.items() if "=" in name
    ]
    bugs = [": ".join(filter(None, (*key, bug))) for key, bug in BUGS.items()]
    marked = [f"{mark}  {reason}" for reason, mark in notes.items()]
    return "\n".join([*lines, "", *marked, "", "values of parameters", *values, "", "known bugs", *bugs])


def _mark(number: int) -> str:
    first, second = divmod(number, 26)
    return (chr(96 + first) if first else "") + chr(97 + second)


def _align(rows: list[list[str]]) -> list[str]:
    sizes = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(size) for cell, size in zip(row, sizes, strict=True)).rstrip() for row in rows]

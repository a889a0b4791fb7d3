"""A way to call the functions: it gives arrays of its library to them, and takes their results."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter import oracle
from gatherscatter_conformance.random_calls import TEXT
from tests.contract.calls import Call
from tests.support import judge

FOUR_BITS = ("int4", "uint4", "float4_e2m1fn")
TABLES = tuple(f"gather_reduce.{name}" for name in ("scales", "zero_points", "quantize_axis", "block_size", "bits"))
COMPOSED = "statistics are made of other functions"
NO_PREPARED = "prepared indices are of the package itself"
NO_TEXT = dict.fromkeys(TEXT, "no text")


class Adapter:
    """A way to call the functions.

    Attributes
    ----------
    library : the package that must be installed
    module : the module with the functions
    lacks : the reasons for all that is not tested, by the name of a promise, function, parameter, value or element
        type, such as "out", "accumulate=exact" and "text"; also with a function or an element type before it, such as
        "gather_reduce.out" and "object.mode=fill"
    errors : the classes of an error about an index
    step : only one of this number of cases is tested without the mark `full`, because calls take long
    """

    name: ClassVar[str]
    library: ClassVar[str] = "numpy"
    module: ClassVar[str] = "gatherscatter"
    lacks: ClassVar[dict[str, str]] = {}
    errors: ClassVar[tuple[type[Exception], ...]] = (IndexError,)
    step: ClassVar[int] = 1

    def __str__(self) -> str:
        return self.name

    def find(self, function: str) -> Any:
        """Return the function, or None."""
        if function.startswith("prepare."):
            return self._call_prepared(function) if hasattr(self._module, "prepare") else None
        return getattr(self._module, function, None)

    @property
    def _module(self) -> Any:
        return importlib.import_module(self.module)

    def parameters(self, function: str) -> set[str]:
        """Return the names of the parameters that a function has here."""
        return set(inspect.signature(self.find(function)).parameters)

    def find_gap(self, function: str, element: str, *names: str) -> str:
        """Return why one of these is not tested here: "" if all are."""
        owners = (function.partition(".")[0], function, *element.split(" of "))
        keys = (*owners, *names, *(f"{owner}.{name}" for owner in owners for name in names))
        return next((self.lacks[key] for key in keys if key in self.lacks), "")

    def find_gap_of_call(self, call: Call, element: str) -> str:
        """Return why a call is not tested here: "" if it is."""
        values = (f"{name}={value}" for name, value in call.options.items())
        return self.find_gap(call.function, element, *call.inputs, *call.options, *values)

    def rounds(self, call: Call) -> bool:
        """Whether sums are those of another order, so that they are equal up to rounding only."""
        return False

    def context(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def give(self, array: np.ndarray) -> Any:
        return array

    def take(self, result: Any) -> np.ndarray:
        assert type(result) is np.ndarray
        return result

    def call(self, call: Call, **objects: Any) -> Any:
        """Return the result of a call as an array of the library. ``objects`` are passed without conversion."""
        inputs = {name: self.give(value) for name, value in call.inputs.items()}
        return self.find(call.function)(**inputs | objects, **call.options)

    def run(self, call: Call, **objects: Any) -> np.ndarray:
        """Return the result of a call as an array of NumPy."""
        with self.context():
            return self.take(self.call(call, **objects))

    def run_all(self, calls: Sequence[Call]) -> list[Any]:
        """Return the result of each call, or its error."""
        with self.context():
            return [judge.outcome(lambda call=call: self.take(self.call(call))) for call in calls]

    def call_into(self, call: Call, out: np.ndarray | None) -> tuple[Exception | None, np.ndarray]:
        """Call with ``out=``, or with None write to the first input. Return the error, and what ``out`` then holds."""
        inputs = {name: self.give(value) for name, value in call.inputs.items()}
        target = next(iter(inputs.values())) if out is None else self.give(out)
        made = judge.outcome(self.find(call.function), **inputs, **call.options, out=target)
        assert isinstance(made, Exception) or made is target
        return made if isinstance(made, Exception) else None, self.take(target)

    def differentiate(self, calls: Sequence[Call], cotangents: Sequence[np.ndarray]) -> list[dict[str, np.ndarray]]:
        """Return the gradients of the inputs of each call."""
        raise NotImplementedError

    def disguise(self, kind: str, array: np.ndarray) -> Any:
        """Return an object of another class with the same values, or None."""
        return None

    def describe_fault(self, call: Call, name: str, position: tuple[int, ...], value: Any) -> str:
        """Return what an error says about an index that is out of range."""
        return f"{call.function.partition('.')[0]}: {name}[{', '.join(map(str, position))}] = {value} is out of range"

    def _call_prepared(self, function: str) -> Any:
        prepare, method = self._module.prepare, function.partition(".")[2]

        def call(indices: Any, shape: Any, axis: int | None = None, **given: Any) -> Any:
            made = getattr(prepare(indices, shape, axis=axis), method)(**given)
            return made[0] if method == "reduce" else made

        names = ("shape", "axis", *inspect.signature(getattr(gs.Prepared, method)).parameters)
        call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in ("indices", *names) if name != "self"]
        )
        return call


class Named(np.ndarray):
    """A subclass that changes nothing."""


def disguise_array(kind: str, array: np.ndarray) -> Any:
    """Return an object of NumPy or of a library of units."""
    if kind in ("masked", "a mask without masked values"):
        return np.ma.array(array, mask=np.full(array.shape, kind == "masked"))
    if kind == "units":
        units: Any = pytest.importorskip("astropy.units")
        return array * units.m if array.dtype.kind in "if" else None
    if kind == "a matrix":
        return np.asmatrix(array) if array.ndim == 2 else None
    return (
        array.view({"a subclass": Named, "records": np.recarray}[kind]) if kind in ("a subclass", "records") else None
    )


class NumPy(Adapter):
    name = "NumPy"
    lacks: ClassVar = {"gradients": "NumPy has no gradients"}

    def disguise(self, kind: str, array: np.ndarray) -> Any:
        return disguise_array(kind, array)


class Lists(Adapter):
    name = "lists"
    _HELD = ("bool", "int64", "float64", "complex128")
    lacks: ClassVar = {
        **dict.fromkeys((*oracle.T24, *TEXT), "Python has no numbers of this type"),
        **dict.fromkeys(("out", "layouts", "objects"), "a list is not an array"),
        "casts": "Python's numbers have no type",
        "gradients": "lists have no gradients",
    }
    for _name in _HELD:
        del lacks[_name]

    def give(self, array: np.ndarray) -> Any:
        return array.tolist() if array.size else array

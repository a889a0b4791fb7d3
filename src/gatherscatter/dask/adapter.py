"""The adapter for Dask. It runs calls lazily."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from dask.array import Array

from gatherscatter.arrays.adapters import Adapter, Arrays
from gatherscatter.dask import aggregate, array_functions, gather_reduce, tensor_scatter, versions
from gatherscatter.errors import OpTypeError, make_choice_error
from gatherscatter.messages.choices import BAG_REDUCTIONS
from gatherscatter.operation import BY_INDEX, FUNCTIONS, Kernel, TableLayout


def _call(function: Callable[..., Array]) -> Callable[[str, Arrays, dict[str, Any]], Array]:
    return lambda op, arrays, options: function(**arrays, **options)


def _gather_reduce(op: str, arrays: Arrays, options: dict[str, Any]) -> Array:
    if arrays.get("scales") is not None:  # quantized tables are in memory
        for name, value in arrays.items():
            if isinstance(value, Array):
                DASK.take(op, name, value)
    known = FUNCTIONS[Kernel.GATHER_REDUCE].parameters
    reduction = options.get("reduction", "add")
    if isinstance(reduction, str) and reduction not in BAG_REDUCTIONS:
        raise make_choice_error(op, "reduction", reduction, BAG_REDUCTIONS, "")
    without = ("scales", "zero_points", *TableLayout._fields)
    given = {each.name for each in known if each.name not in without}
    return gather_reduce(**{name: value for name, value in (arrays | options).items() if name in given})


def _aggregate(op: str, arrays: Arrays, options: dict[str, Any]) -> Array:
    """Run `aggregate`. Options that it does not have are refused, unless they are None."""
    known = inspect.signature(aggregate).parameters
    return aggregate(**arrays, **{name: value for name, value in options.items() if name in known or value is not None})


def _call_version(op: str, arrays: Arrays, options: dict[str, Any]) -> Array:
    attributes, accumulate = options["attributes"], options["accumulate"]
    return versions.call(options["row"], tuple(arrays.values()), attributes, accumulate)


class DaskAdapter(Adapter):
    """Dask arrays. Functions that are not lazy do not compute them, because they may not fit in memory."""

    name = "a Dask array"
    converter = "np.asarray"
    lazy = True
    functions: ClassVar = {
        **{kernel: _call(getattr(array_functions, kernel)) for kernel in BY_INDEX},
        "gather_reduce": _gather_reduce,
        "tensor_scatter": _call(tensor_scatter),
        "aggregate": _aggregate,
        "op version": _call_version,
    }

    def accepts(self, value: Any) -> bool:
        return isinstance(value, Array)

    def take(self, op: str, name: str, value: Any) -> np.ndarray:
        raise OpTypeError(f"{op}: {name} is a Dask array, and this is not lazy; use .compute()", op=op, input=name)


DASK = DaskAdapter()

"""Apache Arrow's ``take``: elements, and rows as values of fixed size."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

from benchmarks.case import BenchCase
from benchmarks.contenders.contender import Contender, TimedCall

_NUMBERS = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


class PyArrowContender(Contender):
    """``pyarrow.compute.take`` with its check of indices. It uses one thread."""

    name = "pyarrow"

    def __init__(self, threads: int) -> None:
        self._arrow: Any = import_module("pyarrow")
        self._compute: Any = import_module("pyarrow.compute")

    def calls(self, case: BenchCase) -> Mapping[str, TimedCall]:
        """Return gathers along the first axis into a new array. Rows are copied as bytes."""
        workload = case.workload
        plain = workload.form == "gather" and workload.axis == 0 and not workload.batch_dims and not workload.out
        if not plain or not case.data.flags.c_contiguous or workload.distribution == "negatives":
            return {}
        width = prod(workload.data[1:]) * workload.itemsize
        indices = self._arrow.array(case.indices.reshape(-1))
        numbers = workload.data[1:] == () and case.data.dtype.name in _NUMBERS
        kind = self._arrow.from_numpy_dtype(case.data.dtype) if numbers else self._arrow.binary(width)
        data = self._arrow.Array.from_buffers(kind, len(case.data), [None, self._arrow.py_buffer(case.data)])

        def result(taken: Any) -> np.ndarray:
            values: np.ndarray = np.frombuffer(taken.buffers()[1], case.data.dtype, prod(workload.slots))
            return values.reshape(workload.slots)

        return {"take": TimedCall(lambda: self._compute.take(data, indices), result)}

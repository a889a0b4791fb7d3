"""The interface of a contender: a library with one or more ways to do a workload."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from benchmarks.case import BenchCase
from benchmarks.quantized import QuantizedTable
from benchmarks.workload import ModelRun


def _to_array(result: Any) -> np.ndarray:
    return np.asarray(result)


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class TimedCall:
    """One way to do a workload. ``run`` is timed, and returns when the result is ready."""

    run: Callable[[], Any]
    result: Callable[[Any], Any] = _to_array  # converts the value of ``run`` to an array; of a model, to a list of them
    reset: Callable[[], None] = _nothing  # undoes calls that work in place
    compiles: bool = False  # its first run compiles, and is not timed


class Contender:
    """A library. Arrays are passed to it before the clock starts, without copying if the library can."""

    name: str  # that of its distribution

    def __init__(self, threads: int) -> None:
        """Import the library, and set its number of threads."""

    def version(self) -> str:
        """Return the version of the library."""
        return version(self.name)

    def prepare(self) -> None:
        """Prepare a timed call. This is called before each one, while the clock is stopped."""

    def calls(self, case: BenchCase) -> Mapping[str, TimedCall]:
        """Return all fair ways to do the workload, by name. Empty if the library has none."""
        return {}

    def statistic_calls(self, case: BenchCase) -> Mapping[str, TimedCall]:
        """Return all fair ways to compute the statistic ``reduction`` of ``case.new``, by the labels ``case.indices``.

        Results of groups have the shape of data. Groups without members can have any result.
        """
        return {}

    def table_calls(self, case: BenchCase, table: QuantizedTable) -> Mapping[str, TimedCall]:
        """Return all fair ways to do the workload from the codes of a quantized table, not from ``case.data``."""
        return {}

    def model_calls(self, case: BenchCase, run: ModelRun) -> Mapping[str, TimedCall]:
        """Return all fair ways to run the model, which is loaded before the clock starts."""
        return {}


def find_calls(contender: Contender, case: BenchCase) -> Mapping[str, TimedCall]:
    """Return the ways of a contender to do a workload.

    If the workload is given as tensors, libraries that take arrays convert them, and their result.
    """
    calls = _find_calls(contender, case)
    if case.workload.entry != "torch" or contender.name == "torch" or contender.name.startswith("gatherscatter"):
        return calls
    return {way: _convert_tensors(call, case) for way, call in calls.items()}


def _convert_tensors(call: TimedCall, case: BenchCase) -> TimedCall:
    """Return the call with the time of the conversions. The call itself has the same arrays already."""
    torch = import_module("torch")
    arrays = (case.data, case.indices, case.updates, case.bags, case.weights)
    tensors = [torch.from_numpy(array) for array in arrays if array is not None]

    def run() -> Any:
        for tensor in tensors:
            tensor.numpy()
        result = call.result(call.run())
        return torch.from_numpy(result if result.flags.writeable else result.copy())  # those of JAX are read-only

    return replace(call, run=run, result=_to_array)


def _find_calls(contender: Contender, case: BenchCase) -> Mapping[str, TimedCall]:
    if case.workload.is_statistic:
        return contender.statistic_calls(case)
    if case.run:
        return contender.model_calls(case, case.run)
    return contender.calls(case) if case.table is None else contender.table_calls(case, case.table)


def make_in_place_call(case: BenchCase, change: Callable[[np.ndarray], object]) -> TimedCall:
    """Return a call that writes into the shared copy of data."""
    target = case.target

    def again() -> np.ndarray:
        change(target)
        return target

    def reset() -> None:
        np.copyto(target, case.data)

    return TimedCall(again, reset=reset)


def make_copying_call(case: BenchCase, change: Callable[[np.ndarray], object]) -> TimedCall:
    """Return a call that changes a new copy of data."""

    def run() -> np.ndarray:
        result = case.data.copy(order="C")
        change(result)
        return result

    return TimedCall(run)

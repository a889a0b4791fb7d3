"""What a contender is: a library with one or more ways to do a workload."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gatherscatter.bench.case import BenchCase


def _to_array(result: Any) -> np.ndarray:
    return np.asarray(result)


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class TimedCall:
    """One way to do a workload. ``run`` is what is timed; it ends when the result is there."""

    run: Callable[[], Any]
    result: Callable[[Any], np.ndarray] = _to_array  # what ``run`` returned, as a NumPy array
    reset: Callable[[], None] = _nothing  # undoes calls that worked in place
    compiles: bool = False  # in its first run, which is not timed


class Contender(Protocol):
    """A library. Arrays are handed over before the clock starts, and shared where the library can."""

    name: str

    def version(self) -> str:
        """The version of the library."""
        ...

    def calls(self, case: BenchCase) -> Mapping[str, TimedCall]:
        """All honest ways to do the workload, by name; none if the library has none."""
        ...

    def prepare(self) -> None:
        """Called before each timed call, outside the clock."""
        ...


def make_in_place_call(case: BenchCase, change: Callable[[np.ndarray], object]) -> TimedCall:
    """A call that writes into the copy of data which is there for that."""
    target = case.target

    def again() -> np.ndarray:
        change(target)
        return target

    def reset() -> None:
        np.copyto(target, case.data)

    return TimedCall(again, reset=reset)


def make_copying_call(case: BenchCase, change: Callable[[np.ndarray], object]) -> TimedCall:
    """A call that changes a new copy of data."""

    def run() -> np.ndarray:
        result = case.data.copy(order="C")
        change(result)
        return result

    return TimedCall(run)

"""What a contender is: a library with one or more ways to do a workload."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gatherscatter.bench.case import Case


def _same(result: Any) -> np.ndarray:
    return np.asarray(result)


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class Call:
    """One way to do a workload. ``run`` is what is timed; it ends when the result is there."""

    run: Callable[[], Any]
    result: Callable[[Any], np.ndarray] = _same  # what ``run`` returned, as a NumPy array
    reset: Callable[[], None] = _nothing  # undoes calls that worked in place


class Contender(Protocol):
    """A library. Arrays are handed over before the clock starts, and shared where the library can."""

    name: str

    def version(self) -> str:
        """The version of the library."""
        ...

    def calls(self, case: Case) -> Mapping[str, Call]:
        """All honest ways to do the workload, by name; none if the library has none."""
        ...

    def prepare(self) -> None:
        """Called before each timed call, outside the clock."""
        ...


def in_place(case: Case, run: Callable[[np.ndarray], object]) -> Call:
    """A call that writes into the copy of data which is there for that."""
    target = case.target

    def again() -> np.ndarray:
        run(target)
        return target

    def reset() -> None:
        np.copyto(target, case.data)

    return Call(again, reset=reset)

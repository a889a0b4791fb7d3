"""Statistics of groups: a column of values and rows of 64, from few groups to millions, sorted or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.workload import Workload

_MEMBERS = 2_000_000
_FUNCTIONS = ("sum", "mean", "std", "max", "first", "last", "argmax", "len", "nansum", "nanmean", "nanstd", "median")


def _columns() -> Iterator[Workload]:
    for func in _FUNCTIONS:
        yield _row(f"{func}-100000", func, 100_000)
    for func in ("sum", "mean", "std", "max", "first"):
        yield _row(f"{func}-1000", func, 1000)
        yield _row(f"{func}-100000-sorted", func, 100_000, distribution="sorted")
        if func != "first":
            yield _row(f"{func}-3000000", func, 3_000_000, members=6_000_000)
    yield _row("cumsum-100000", "cumsum", 100_000)
    yield _row("mean-float32", "mean", 100_000, dtype="float32")
    yield _row("sum-int64", "sum", 100_000, dtype="int64")
    yield _row("std-zipf", "std", 100_000, distribution="zipf", parameter=1.1)


def _tables() -> Iterator[Workload]:
    for func in ("sum", "mean", "std", "max"):
        yield _row(f"{func}-rows", func, 5000, members=100_000, columns=(64,))
    yield _row("nanmean-rows", "nanmean", 5000, members=100_000, columns=(64,))


def _row(
    name: str, func: str, groups: int, members: int = _MEMBERS, columns: tuple[int, ...] = (), **others: Any
) -> Workload:
    others = {"dtype": "float64"} | others
    notes = [others[key] for key in ("dtype", "distribution") if key in others and others[key] != "float64"]
    text = f"{func} of {members} {'rows of 64' if columns else 'values'} in {groups} groups"
    text += f" ({', '.join(notes)})" if notes else ""
    return Workload(
        f"statistics/{name}", text, (groups, *columns), (members,), form="aggregate", reduction=func, **others
    )


ROWS: tuple[Workload, ...] = (*_columns(), *_tables())

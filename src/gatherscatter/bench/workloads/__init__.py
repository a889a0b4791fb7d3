"""The table of workloads: every row of the benchmark, in the order in which it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatch

from gatherscatter.bench.workload import Workload
from gatherscatter.bench.workloads import applications, grid, main_table, science, sizes, spatter, tiny

WORKLOADS: tuple[Workload, ...] = (
    *main_table.ROWS,
    *grid.ROWS,
    *sizes.ROWS,
    *spatter.ROWS,
    *applications.ROWS,
    *science.ROWS,
    *tiny.ROWS,
)


def select(patterns: Sequence[str] = (), *, quick: bool = False, huge: bool = False) -> list[Workload]:
    """The rows whose id or group matches one of the patterns (shell style; none: all of them).

    >>> [row.id for row in select(["tiny/take"])]
    ['tiny/take']

    Raises
    ------
    LookupError
        No row matches.
    """
    rows = [
        row
        for row in WORKLOADS
        if (row.quick or not quick) and (huge or not row.huge) and (not patterns or _matches(row, patterns))
    ]
    if not rows:
        raise LookupError(f"no workload matches {', '.join(patterns)}: --list shows them all")
    return rows


def _matches(row: Workload, patterns: Sequence[str]) -> bool:
    return any(fnmatch(row.id, pattern) or fnmatch(row.group, pattern) for pattern in patterns)

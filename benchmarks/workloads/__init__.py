"""The table of workloads: every row of the benchmark, in the order of the tables."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatch

from benchmarks.workload import Workload
from benchmarks.workloads import (
    applications,
    bags,
    conversions,
    grid,
    main_table,
    published_models,
    quantized,
    science,
    sets,
    sizes,
    spatter,
    statistics,
    tiny,
)

WORKLOADS: tuple[Workload, ...] = (
    *main_table.ROWS,
    *grid.ROWS,
    *sizes.ROWS,
    *spatter.ROWS,
    *applications.ROWS,
    *bags.ROWS,
    *quantized.ROWS,
    *statistics.ROWS,
    *science.ROWS,
    *tiny.ROWS,
    *conversions.ROWS,
    *published_models.ROWS,
)
SETS = {
    "quick": sets.expand_patterns(sets.QUICK),
    "default": sets.expand_patterns(sets.DEFAULT),
    "all": ["*"],
}
_LIST = "'python -m benchmarks --list --all' lists all workloads"


def select(patterns: Sequence[str] = (), *, among: str = "all", huge: bool = False) -> list[Workload]:
    """Return the rows of a set whose id or group matches one of the patterns.

    Parameters
    ----------
    patterns : in the style of a shell; none: every row of the set
    among : "quick", "default" or "all"
    huge : whether rows of 4 GB may be among them

    Raises
    ------
    LookupError
        No row matches.

    Examples
    --------
    >>> [row.id for row in select(["tiny/take"])]
    ['tiny/take']
    """
    rows = [
        row
        for row in WORKLOADS
        if _matches(row, SETS[among]) and (huge or not row.huge) and (not patterns or _matches(row, patterns))
    ]
    if not rows:
        raise LookupError(f"no workload matches {', '.join(patterns)}; {_LIST}")
    return rows


def select_by_id(ids: Sequence[str]) -> list[Workload]:
    """Return the rows with these ids, in the order of the ids.

    Raises
    ------
    LookupError
        There is no row of that id.
    """
    rows = {row.id: row for row in WORKLOADS}
    if unknown := [name for name in ids if name not in rows]:
        raise LookupError(f"no workload is called {', '.join(unknown)}; {_LIST}")
    return [rows[name] for name in ids]


def _matches(row: Workload, patterns: Sequence[str]) -> bool:
    return any(fnmatch(row.id, pattern) or fnmatch(row.group, pattern) for pattern in patterns)

"""The same call from one cache line to gigabytes. The cost must grow in proportion, without cliffs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from benchmarks.workload import Workload

LIMIT = 1 << 28  # bytes of data without --huge
_MOST = 1 << 24  # elements read or written
SERIES = ("take", "rows", "add", "add-rows")


def _rows() -> Iterator[Workload]:
    for exponent in (6, 9, 12, 14, 16, 18, 20, 22, 24, 26, 28, 32):
        size = 1 << exponent
        n, text = size // 4, _text(size)
        huge = size > LIMIT
        row = Workload(f"sizes/take-{size}", "sizes", f"gather elements, {text}", "gather", (n,), (n,), huge=huge)
        yield replace(row, indices=(min(n, _MOST),))
        lines = max(n // 64, 1)
        yield replace(
            row, id=f"sizes/rows-{size}", title=f"gather rows of 64, {text}", data=(lines, min(n, 64)), indices=(lines,)
        )
        add = replace(row, form="scatter_update", reduction="add", out=True, indices=(min(n, _MOST),))
        yield replace(add, id=f"sizes/add-{size}", title=f"scatter add in place, {text}")
        yield replace(
            add,
            id=f"sizes/add-rows-{size}",
            title=f"scatter add rows of 64 in place, {text}",
            data=(lines, min(n, 64)),
            indices=(min(lines, LIMIT // 512),),
        )


def _text(size: int) -> str:
    for unit in ("B", "KB", "MB"):
        if size < 1024:
            return f"{size} {unit}"
        size //= 1024
    return f"{size} GB"


ROWS: tuple[Workload, ...] = tuple(_rows())

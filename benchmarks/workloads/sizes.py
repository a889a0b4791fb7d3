"""The same call from one cache line to gigabytes. The cost must grow in proportion, without cliffs."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.workload import Workload, add

_LIMIT = 1 << 28  # bytes of data without --huge
_MOST = 1 << 24  # elements read or written


def _rows() -> Iterator[Workload]:
    for exponent in (6, 9, 12, 14, 16, 18, 20, 22, 24, 26, 28, 32):
        size = 1 << exponent
        n, text, huge = size // 4, _text(size), size > _LIMIT
        some, lines = min(n, _MOST), max(n // 64, 1)
        table, few = (lines, min(n, 64)), min(lines, _LIMIT // 512)
        yield Workload(f"sizes/take-{size}", f"gather elements, {text}", (n,), (some,), huge=huge)
        yield Workload(f"sizes/rows-{size}", f"gather rows of 64, {text}", table, (lines,), huge=huge)
        yield add(f"sizes/add-{size}", f"scatter add in place, {text}", (n,), (some,), out=True, huge=huge)
        text = f"scatter add rows of 64 in place, {text}"
        yield add(f"sizes/add-rows-{size}", text, table, (few,), out=True, huge=huge)


def _text(size: int) -> str:
    for unit in ("B", "KB", "MB"):
        if size < 1024:
            return f"{size} {unit}"
        size //= 1024
    return f"{size} GB"


ROWS: tuple[Workload, ...] = tuple(_rows())

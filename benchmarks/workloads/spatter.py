"""Patterns of the Spatter benchmark's standard suite: index = pattern + delta * i, elements of 8 bytes.

Counts are divided so that a machine with two cores runs each in a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.workload import Workload, pattern_size

_ELEMENTS = 4_000_000  # moved per call, at most
_MOST_DATA = 64_000_000


def _stride(step: int, length: int = 16) -> tuple[int, ...]:
    return tuple(step * i for i in range(length))


_AMG = (1333, 0, 1, 2, 36, 37, 38, 72, 73, 74, 1296, 1297, 1298, 1332, 1334, 1368)
_PAIRS = (2, 484, 482, 0, 4, 486, 484, 2, 6, 488, 486, 4, 8, 490, 488, 6)
_LAPLACE_2D = (0, 99, 100, 101, 200)
_LAPLACE_3D = (0, 9900, 9999, 10_000, 10_001, 10_100, 20_000)

# name, pattern, delta, count in the suite, gather or scatter
_SUITE: tuple[tuple[str, tuple[int, ...], int, int, str], ...] = (
    *((f"uniform-{s}", _stride(s, 8), 8 * s, 31_250_000 // s, "gather") for s in (1, 2, 4, 8, 16, 32, 64, 128)),
    *((f"uniform-{s}", _stride(s, 8), 8 * s, 31_250_000 // s, "scatter") for s in (1, 4, 16, 128)),
    ("lulesh-0", _stride(24), 0, 577_806, "scatter"),
    ("lulesh-1", _stride(8), 1, 167_805, "scatter"),
    ("lulesh", _stride(24), 8, 96_360, "gather"),
    ("amg", _AMG, 1, 1_454_647, "gather"),
    ("nekbone-3", _stride(6), 3, 982_980, "gather"),
    ("nekbone-8", _stride(6), 8, 982_980, "gather"),
    ("pennant-4", _stride(4), 2, 83_333_333, "gather"),
    ("pennant-pairs", _PAIRS, 2, 83_333_333, "gather"),
    ("pennant-jumps", tuple(i // 4 for i in range(16)), 388_848, 642, "gather"),
    ("pennant-overlap", _stride(4), 1, 125_000_000, "scatter"),
    ("runs-jump", (0, 1, 2, 3, 35, 36, 37, 38), 8, 4_194_304, "gather"),
    ("laplace-2d", _LAPLACE_2D, 1, 4_194_304, "gather"),
    ("laplace-3d", _LAPLACE_3D, 1, 4_194_304, "gather"),
)


def _rows() -> Iterator[Workload]:
    for name, pattern, delta, suite_count, kind in _SUITE:
        count = min(suite_count, _ELEMENTS // len(pattern))
        if delta:
            count = min(count, _MOST_DATA // delta)
        elements = count * len(pattern)
        for how in ("none",) if kind == "gather" else ("none", "add"):
            word = {"gather": "gather", "scatter": "set" if how == "none" else "add"}[kind]
            yield Workload(
                f"spatter/{word}-{name}",
                f"{word} {name}, {round(elements / 1e3)}k float64",
                (pattern_size(pattern, delta, elements),),
                (elements,),
                "pattern",
                form="gather" if kind == "gather" else "scatter_update",
                pattern=pattern,
                delta=delta,
                dtype="float64",
                reduction=how,
                out=True,  # as in Spatter, whose buffers are allocated once
            )


ROWS: tuple[Workload, ...] = tuple(_rows())

"""The main workloads: large, common calls of the peers."""

from __future__ import annotations

from benchmarks.workload import Workload, add, add_elements, elements, put_tuples, tuples

_M = 1 << 20
_BIG = (4096, 4096)
_SET_ROWS = "scatter_nd set 200k rows into 500kx64"

ROWS: tuple[Workload, ...] = (
    Workload("main/rows", "gather 1M rows of 64 from 1M", (1_000_000, 64), (1_000_000,)),
    Workload("main/rows-out", "gather 1M rows of 64 from 1M, out=", (1_000_000, 64), (1_000_000,), out=True),
    Workload("main/random", "gather 16M elements of 16M", (16 * _M,), (16 * _M,)),
    Workload("main/random-out", "gather 16M elements of 16M, out=", (16 * _M,), (16 * _M,), out=True),
    elements("main/elements-0", "gather_elements 4096², axis 0", _BIG, _BIG),
    elements("main/elements-1", "gather_elements 4096², axis 1", _BIG, _BIG, axis=1),
    elements("main/elements-1-out", "gather_elements 4096², axis 1, out=", _BIG, _BIG, axis=1, out=True),
    tuples("main/pairs", "gather_nd [512,512,64], 500k pairs", (512, 512, 64), (500_000, 2)),
    tuples("main/triples", "gather_nd 256³, 4M triples", (256, 256, 256), (4_000_000, 3)),
    put_tuples("main/set-rows", _SET_ROWS, (500_000, 64), (200_000, 1), "permutation"),
    put_tuples(
        "main/set-rows-in-place", f"{_SET_ROWS}, in place", (500_000, 64), (200_000, 1), "permutation", out=True
    ),
    *(
        add(f"main/add-{name}", f"scatter add 8M into {name}", (size,), (8_000_000,))
        for name, size in (("1k", 1000), ("1M", 1_000_000), ("16M", 16_000_000))
    ),
    add("main/add-rows", "scatter add 1M rowsx64 into 100k", (100_000, 64), (1_000_000,)),
    add("main/add-rows-in-place", "scatter add 1M rowsx64 into 100k, in place", (100_000, 64), (1_000_000,), out=True),
    *(
        add_elements(f"main/add-elements-{axis}", f"scatter_elements add 4096², axis {axis}", _BIG, _BIG, axis=axis)
        for axis in (0, 1)
    ),
)

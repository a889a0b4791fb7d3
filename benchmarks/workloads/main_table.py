"""The main workloads: large, common calls of the peers."""

from __future__ import annotations

from functools import partial

from benchmarks.workload import Workload

_M = 1 << 20
_row = partial(Workload, group="main")

ROWS: tuple[Workload, ...] = (
    _row(
        id="main/rows",
        title="gather 1M rows of 64 from 1M",
        form="gather",
        data=(1_000_000, 64),
        indices=(1_000_000,),
    ),
    _row(
        id="main/rows-out",
        title="gather 1M rows of 64 from 1M, out=",
        form="gather",
        data=(1_000_000, 64),
        indices=(1_000_000,),
        out=True,
    ),
    _row(
        id="main/random",
        title="gather 16M elements of 16M",
        form="gather",
        data=(16 * _M,),
        indices=(16 * _M,),
    ),
    _row(
        id="main/random-out",
        title="gather 16M elements of 16M, out=",
        form="gather",
        data=(16 * _M,),
        indices=(16 * _M,),
        out=True,
    ),
    _row(
        id="main/elements-0",
        title="gather_elements 4096², axis 0",
        form="gather_elements",
        data=(4096, 4096),
        indices=(4096, 4096),
    ),
    _row(
        id="main/elements-1",
        title="gather_elements 4096², axis 1",
        form="gather_elements",
        data=(4096, 4096),
        indices=(4096, 4096),
        axis=1,
    ),
    _row(
        id="main/elements-1-out",
        title="gather_elements 4096², axis 1, out=",
        form="gather_elements",
        data=(4096, 4096),
        indices=(4096, 4096),
        axis=1,
        out=True,
    ),
    _row(
        id="main/pairs",
        title="gather_nd [512,512,64], 500k pairs",
        form="gather_nd",
        data=(512, 512, 64),
        indices=(500_000, 2),
    ),
    _row(
        id="main/triples",
        title="gather_nd 256³, 4M triples",
        form="gather_nd",
        data=(256, 256, 256),
        indices=(4_000_000, 3),
    ),
    _row(
        id="main/set-rows",
        title="scatter_nd set 200k rows into 500kx64",
        form="scatter_nd",
        data=(500_000, 64),
        indices=(200_000, 1),
        distribution="permutation",
    ),
    _row(
        id="main/set-rows-in-place",
        title="scatter_nd set 200k rows into 500kx64, in place",
        form="scatter_nd",
        data=(500_000, 64),
        indices=(200_000, 1),
        distribution="permutation",
        out=True,
    ),
    *(
        _row(
            id=f"main/add-{name}",
            title=f"scatter add 8M into {name}",
            form="scatter_update",
            data=(size,),
            indices=(8_000_000,),
            reduction="add",
        )
        for name, size in (("1k", 1000), ("1M", 1_000_000), ("16M", 16_000_000))
    ),
    _row(
        id="main/add-rows",
        title="scatter add 1M rowsx64 into 100k",
        form="scatter_update",
        data=(100_000, 64),
        indices=(1_000_000,),
        reduction="add",
    ),
    _row(
        id="main/add-rows-in-place",
        title="scatter add 1M rowsx64 into 100k, in place",
        form="scatter_update",
        data=(100_000, 64),
        indices=(1_000_000,),
        reduction="add",
        out=True,
    ),
    *(
        _row(
            id=f"main/add-elements-{axis}",
            title=f"scatter_elements add 4096², axis {axis}",
            form="scatter_elements",
            data=(4096, 4096),
            indices=(4096, 4096),
            axis=axis,
            reduction="add",
        )
        for axis in (0, 1)
    ),
)

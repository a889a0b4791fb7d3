"""One thing changed at a time: element and index types, distributions, axes, reductions, layouts, numbers of slots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from benchmarks.workload import Workload

_M = 1_000_000
_SIZES = {"uint8": 1, "float16": 2, "float32": 4, "float64": 8, "complex128": 16}


def _types() -> Iterator[Workload]:
    """Element types of 1, 2, 4, 8 and 16 bytes, index types."""
    for dtype, size in _SIZES.items():
        of = f"{size}-byte elements"
        row = Workload(f"types/take-{dtype}", "types", f"gather 4M of 4M, {of}", "gather", (4 * _M,), (4 * _M,))
        yield replace(row, dtype=dtype)
        yield Workload(
            f"types/rows-{dtype}",
            "types",
            f"gather 400k rows of 32 from 1M, {of}",
            "gather",
            (_M, 32),
            (400_000,),
            dtype=dtype,
        )
        yield Workload(
            f"types/set-{dtype}",
            "types",
            f"scatter set 2M unique into 4M, {of}",
            "scatter_update",
            (4 * _M,),
            (2 * _M,),
            "permutation",
            dtype=dtype,
        )
    for index in ("int32", "uint32", "uint8", "int16"):
        size = {"uint8": 200, "int16": 30_000}.get(index, 4 * _M)
        row = Workload(
            f"types/index-{index}", "types", f"gather 4M of {size}, {index} index", "gather", (size,), (4 * _M,)
        )
        yield replace(row, index_dtype=index)
        yield replace(
            row,
            id=f"types/add-index-{index}",
            title=f"scatter add 4M into {size}, {index} index",
            form="scatter_update",
            reduction="add",
            index_dtype=index,
        )
    for dtype in ("float64", "int64", "int32", "float16", "bfloat16", "complex64"):
        row = Workload(
            f"types/add-{dtype}", "types", f"scatter add 2M into 1M, {dtype}", "scatter_update", (_M,), (2 * _M,)
        )
        yield replace(row, reduction="add", dtype=dtype)
    for dtype in ("float16", "bfloat16", "float64"):
        row = Workload(
            f"types/add-rows-{dtype}",
            "types",
            f"scatter add 100k rowsx64 into 20k, {dtype}",
            "scatter_update",
            (20_000, 64),
            (100_000,),
            reduction="add",
            dtype=dtype,
        )
        yield row


def _distributions() -> Iterator[Workload]:
    for name in ("sorted", "permutation", "zipf", "constant", "runs", "clustered", "negatives"):
        yield Workload(
            f"indices/take-{name}", "indices", f"gather 4M of 16M, {name}", "gather", (16 * _M,), (4 * _M,), name
        )
        rows = Workload(
            f"indices/rows-{name}", "indices", f"gather 400k rows of 64, {name}", "gather", (_M, 64), (400_000,)
        )
        yield replace(rows, distribution=name)
        yield Workload(
            f"indices/add-{name}",
            "indices",
            f"scatter add 4M into 8M, {name}",
            "scatter_update",
            (8 * _M,),
            (4 * _M,),
            name,
            reduction="add",
        )
        yield Workload(
            f"indices/add-rows-{name}",
            "indices",
            f"scatter add 200k rowsx64 into 200k, {name}",
            "scatter_update",
            (200_000, 64),
            (200_000,),
            name,
            reduction="add",
        )
    for reduction in ("add", "max"):
        title = f"scatter {reduction} 4M into 10000, sorted"
        row = Workload(f"indices/runs-{reduction}", "indices", title, "scatter_update", (10_000,), (4 * _M,), "sorted")
        yield replace(row, reduction=reduction)


def _axes() -> Iterator[Workload]:
    for axis in (0, 1, 2):
        name = ("first", "middle", "last")[axis]
        row = Workload(f"axes/gather-{name}", "axes", f"gather 200 of 256³, {name} axis", "gather", (256,) * 3, (200,))
        yield replace(row, axis=axis)
        yield replace(row, id=f"axes/gather-{name}-out", title=f"{row.title}, out=", axis=axis, out=True)
        elements = replace(row, form="gather_elements", indices=(256,) * 3, axis=axis)
        yield replace(elements, id=f"axes/elements-{name}", title=f"gather_elements 256³, {name} axis")
        box = replace(elements, form="scatter_elements", distribution="permutation")
        yield replace(box, id=f"axes/set-elements-{name}", title=f"scatter_elements set 256³, {name} axis")
        yield replace(
            row,
            id=f"axes/add-{name}",
            title=f"scatter add 200 slices into 256³, {name} axis",
            form="scatter_update",
            axis=axis,
            reduction="add",
        )
    batched = Workload(
        "axes/batch-gather", "axes", "gather 64 x 1k rows of 64, batch", "gather", (64, 2000, 64), (64, 1000)
    )
    yield replace(batched, axis=1, batch_dims=1)
    yield Workload(
        "axes/batch-scalars",
        "axes",
        "gather 256 x 20k of 10k, batch",
        "gather",
        (256, 10_000),
        (256, 20_000),
        axis=1,
        batch_dims=1,
    )
    yield Workload(
        "axes/batch-rows",
        "axes",
        "gather_nd 32 x 4k rows of 96, batch",
        "gather_nd",
        (32, 4000, 96),
        (32, 4000, 1),
        batch_dims=1,
    )
    yield Workload(
        "axes/batch-nd",
        "axes",
        "gather_nd 32 x 20k pairs, batch",
        "gather_nd",
        (32, 200, 200, 8),
        (32, 20_000, 2),
        batch_dims=1,
    )


def _reductions() -> Iterator[Workload]:
    for how in ("add", "sub", "mul", "min", "max", "mean"):
        row = Workload(
            f"reductions/{how}", "reductions", f"scatter {how} 4M into 1M", "scatter_update", (_M,), (4 * _M,)
        )
        yield replace(row, reduction=how)
        yield Workload(
            f"reductions/rows-{how}",
            "reductions",
            f"scatter {how} 400k rowsx64 into 50k",
            "scatter_update",
            (50_000, 64),
            (400_000,),
            reduction=how,
        )
    for how in ("max", "mul"):
        yield Workload(
            f"reductions/elements-{how}",
            "reductions",
            f"scatter_elements {how} 2048², axis 1",
            "scatter_elements",
            (2048, 2048),
            (2048, 2048),
            axis=1,
            reduction=how,
        )


def _layouts() -> Iterator[Workload]:
    for layout in ("strided", "transposed"):
        yield Workload(
            f"layouts/rows-{layout}",
            "layouts",
            f"gather 400k rows of 64, {layout} data",
            "gather",
            (500_000, 64),
            (400_000,),
            layout=layout,
        )
        yield Workload(
            f"layouts/few-rows-{layout}",
            "layouts",
            f"gather 1000 rows of 64, {layout} data",
            "gather",
            (500_000, 64),
            (1000,),
            layout=layout,
        )
        yield Workload(
            f"layouts/elements-{layout}",
            "layouts",
            f"gather_elements 2048², axis 1, {layout} data",
            "gather_elements",
            (2048, 2048),
            (2048, 2048),
            axis=1,
            layout=layout,
        )
    for layout in ("expanded", "repeated"):
        row = Workload(
            f"layouts/{layout}",
            "layouts",
            f"scatter_elements add 400kx64, {layout} index",
            "scatter_elements",
            (50_000, 64),
            (400_000, 64),
        )
        yield replace(row, reduction="add", layout=layout)
        yield replace(
            row,
            id=f"layouts/gather-{layout}",
            title=f"gather_elements 400kx64, {layout} index",
            form="gather_elements",
            data=(500_000, 64),
            layout=layout,
        )


def _slots() -> Iterator[Workload]:
    for size in (2, 64, 4096, 100_000, 4 * _M, 32 * _M):
        yield Workload(
            f"slots/add-{size}",
            "slots",
            f"scatter add 4M into {size}",
            "scatter_update",
            (size,),
            (4 * _M,),
            reduction="add",
        )
    for size in (2, 1000):
        yield Workload(
            f"slots/add-rows-{size}",
            "slots",
            f"scatter add 400k rowsx64 into {size}",
            "scatter_update",
            (size, 64),
            (400_000,),
            reduction="add",
        )
    for width in (2, 3, 7, 16, 256, 1000, 1024, 4096):
        yield Workload(
            f"slots/rows-width-{width}",
            "slots",
            f"gather rows of {width}, 100 MB",
            "gather",
            (25 * _M // width, width),
            (25 * _M // width,),
        )
    for width in (2, 3, 4, 8):
        row = Workload(
            f"slots/add-width-{width}",
            "slots",
            f"scatter add 1M rows of {width} into 100k",
            "scatter_update",
            (100_000, width),
            (_M,),
        )
        yield replace(row, reduction="add")


ROWS: tuple[Workload, ...] = (*_types(), *_distributions(), *_axes(), *_reductions(), *_layouts(), *_slots())

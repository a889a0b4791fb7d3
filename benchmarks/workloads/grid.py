"""One thing changed at a time: element and index types, distributions, axes, reductions, layouts, numbers of slots."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.workload import Workload, add, add_elements, elements, put, put_elements, tuples

_M = 1_000_000
_SQUARE = (2048, 2048)
_SIZES = {"uint8": 1, "float16": 2, "float32": 4, "float64": 8, "complex128": 16}


def _types() -> Iterator[Workload]:
    """Element types of 1, 2, 4, 8 and 16 bytes, index types."""
    for dtype, size in _SIZES.items():
        of = f"{size}-byte elements"
        yield Workload(f"types/take-{dtype}", f"gather 4M of 4M, {of}", (4 * _M,), (4 * _M,), dtype=dtype)
        text = f"gather 400k rows of 32 from 1M, {of}"
        yield Workload(f"types/rows-{dtype}", text, (_M, 32), (400_000,), dtype=dtype)
        text = f"scatter set 2M unique into 4M, {of}"
        yield put(f"types/set-{dtype}", text, (4 * _M,), (2 * _M,), "permutation", dtype=dtype)
    for index in ("int32", "uint32", "uint8", "int16"):
        size = {"uint8": 200, "int16": 30_000}.get(index, 4 * _M)
        for kind, name, word in ((Workload, "index", "gather 4M of"), (add, "add-index", "scatter add 4M into")):
            text = f"{word} {size}, {index} index"
            yield kind(f"types/{name}-{index}", text, (size,), (4 * _M,), index_dtype=index)
    for dtype in ("float64", "int64", "int32", "float16", "bfloat16", "complex64"):
        yield add(f"types/add-{dtype}", f"scatter add 2M into 1M, {dtype}", (_M,), (2 * _M,), dtype=dtype)
    for dtype in ("float16", "bfloat16", "float64"):
        text = f"scatter add 100k rowsx64 into 20k, {dtype}"
        yield add(f"types/add-rows-{dtype}", text, (20_000, 64), (100_000,), dtype=dtype)


def _distributions() -> Iterator[Workload]:
    for name in ("sorted", "permutation", "zipf", "constant", "runs", "clustered", "negatives"):
        yield Workload(f"indices/take-{name}", f"gather 4M of 16M, {name}", (16 * _M,), (4 * _M,), name)
        yield Workload(f"indices/rows-{name}", f"gather 400k rows of 64, {name}", (_M, 64), (400_000,), name)
        yield add(f"indices/add-{name}", f"scatter add 4M into 8M, {name}", (8 * _M,), (4 * _M,), name)
        text = f"scatter add 200k rowsx64 into 200k, {name}"
        yield add(f"indices/add-rows-{name}", text, (200_000, 64), (200_000,), name)
    for reduction in ("add", "max"):
        title = f"scatter {reduction} 4M into 10000, sorted"
        yield add(f"indices/runs-{reduction}", title, (10_000,), (4 * _M,), "sorted", reduction=reduction)


def _axes() -> Iterator[Workload]:
    cube = (256,) * 3
    for axis, name in enumerate(("first", "middle", "last")):
        text = f"gather 200 of 256³, {name} axis"
        yield Workload(f"axes/gather-{name}", text, cube, (200,), axis=axis)
        yield Workload(f"axes/gather-{name}-out", f"{text}, out=", cube, (200,), axis=axis, out=True)
        yield elements(f"axes/elements-{name}", f"gather_elements 256³, {name} axis", cube, cube, axis=axis)
        text = f"scatter_elements set 256³, {name} axis"
        yield put_elements(f"axes/set-elements-{name}", text, cube, cube, "permutation", axis=axis)
        yield add(f"axes/add-{name}", f"scatter add 200 slices into 256³, {name} axis", cube, (200,), axis=axis)
    batched = partial(Workload, axis=1, batch_dims=1)
    yield batched("axes/batch-gather", "gather 64 x 1k rows of 64, batch", (64, 2000, 64), (64, 1000))
    yield batched("axes/batch-scalars", "gather 256 x 20k of 10k, batch", (256, 10_000), (256, 20_000))
    batched = partial(tuples, batch_dims=1)
    yield batched("axes/batch-rows", "gather_nd 32 x 4k rows of 96, batch", (32, 4000, 96), (32, 4000, 1))
    yield batched("axes/batch-nd", "gather_nd 32 x 20k pairs, batch", (32, 200, 200, 8), (32, 20_000, 2))


def _reductions() -> Iterator[Workload]:
    for how in ("add", "sub", "mul", "min", "max", "mean"):
        yield add(f"reductions/{how}", f"scatter {how} 4M into 1M", (_M,), (4 * _M,), reduction=how)
        text = f"scatter {how} 400k rowsx64 into 50k"
        yield add(f"reductions/rows-{how}", text, (50_000, 64), (400_000,), reduction=how)
    for how in ("max", "mul"):
        text = f"scatter_elements {how} 2048², axis 1"
        yield add_elements(f"reductions/elements-{how}", text, _SQUARE, _SQUARE, axis=1, reduction=how)


def _layouts() -> Iterator[Workload]:
    for layout in ("strided", "transposed"):
        for name, text, count in (("rows", "400k", 400_000), ("few-rows", "1000", 1000)):
            title = f"gather {text} rows of 64, {layout} data"
            yield Workload(f"layouts/{name}-{layout}", title, (500_000, 64), (count,), layout=layout)
        title = f"gather_elements 2048², axis 1, {layout} data"
        yield elements(f"layouts/elements-{layout}", title, _SQUARE, _SQUARE, axis=1, layout=layout)
    for layout in ("expanded", "repeated"):
        title, box = f"scatter_elements add 400kx64, {layout} index", (400_000, 64)
        yield add_elements(f"layouts/{layout}", title, (50_000, 64), box, layout=layout)
        title = f"gather_elements 400kx64, {layout} index"
        yield elements(f"layouts/gather-{layout}", title, (500_000, 64), box, layout=layout)


def _slots() -> Iterator[Workload]:
    for size in (2, 64, 4096, 100_000, 4 * _M, 32 * _M):
        yield add(f"slots/add-{size}", f"scatter add 4M into {size}", (size,), (4 * _M,))
    for size in (2, 1000):
        yield add(f"slots/add-rows-{size}", f"scatter add 400k rowsx64 into {size}", (size, 64), (400_000,))
    for width in (2, 3, 7, 16, 256, 1000, 1024, 4096):
        rows = 25 * _M // width
        yield Workload(f"slots/rows-width-{width}", f"gather rows of {width}, 100 MB", (rows, width), (rows,))
    for width in (2, 3, 4, 8):
        yield add(f"slots/add-width-{width}", f"scatter add 1M rows of {width} into 100k", (100_000, width), (_M,))


ROWS: tuple[Workload, ...] = (*_types(), *_distributions(), *_axes(), *_reductions(), *_layouts(), *_slots())

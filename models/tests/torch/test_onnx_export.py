"""Exports to ONNX give PyTorch's results, or raise with a reason."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")

import gatherscatter.torch as gst
from gatherscatter.torch import segment
from gatherscatter_models.torch import check_export, onnx_translations
from tests.support.exports import Call, export, export_calls, find_departures, run_gatherscatter, run_onnxruntime

TYPES = (torch.float32, torch.float64, torch.int64, torch.bool)
REDUCTIONS = ("none", "add", "sub", "mul", "min", "max", "mean")
generator = torch.Generator().manual_seed(0)


def values(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    if dtype == torch.bool:
        return torch.rand(shape, generator=generator) < 0.5
    drawn = torch.randint(-9, 10, shape, generator=generator)
    return drawn.to(dtype) / 4 if dtype.is_floating_point else drawn.to(dtype)


def numbers(shape: tuple[int, ...], low: int, high: int) -> Tensor:
    return torch.randint(low, high, shape, generator=generator)


def allows(dtype: torch.dtype, reduction: str) -> bool:
    return dtype != torch.bool or reduction != "mean"


# ------------------------------------------------------------------------------------------- operators of this package


def own_scatters(dtype: torch.dtype) -> Iterator[Call]:
    modes = itertools.cycle(("raise", "wrap", "clip", "drop"))
    targets: list[tuple[str, Any, tuple[int, ...], tuple[int, ...], tuple[int, ...], int]] = [
        ("scatter_update 0", lambda *t, **o: gst.scatter_update(*t, **o), (4, 3), (6,), (6, 3), 4),
        ("scatter_update 1", lambda *t, **o: gst.scatter_update(*t, 1, **o), (2, 5, 3), (2, 3), (2, 2, 3, 3), 5),
        ("scatter_update -1", lambda *t, **o: gst.scatter_update(*t, -1, **o), (2, 5), (), (2,), 5),
        ("scatter_elements 0", lambda *t, **o: gst.scatter_elements(*t, 0, **o), (4, 3), (6, 2), (6, 2), 4),
        ("scatter_elements 1", lambda *t, **o: gst.scatter_elements(*t, 1, **o), (3, 4), (2, 7), (2, 7), 4),
        ("scatter_nd 1", lambda *t, **o: gst.scatter_nd(*t, **o), (4, 3), (6, 1), (6, 3), 4),
        ("scatter_nd 2", lambda *t, **o: gst.scatter_nd(*t, **o), (3, 3, 2), (5, 2), (5, 2), 3),
        ("scatter_nd all", lambda *t, **o: gst.scatter_nd(*t, **o), (3, 3), (2, 6, 2), (2, 6), 3),
    ]
    for (label, function, data, indices, updates, size), reduction, include_self in itertools.product(
        targets, REDUCTIONS, (True, False)
    ):
        if not allows(dtype, reduction) or (reduction == "none" and not include_self):
            continue
        mode = next(modes)
        beyond = 0 if mode == "raise" else 3
        options = {"reduction": reduction, "include_self": include_self, "mode": mode}

        def call(*inputs: Tensor, function: Any = function, options: Any = options) -> Tensor:
            return function(*inputs, **options)

        named = numbers(indices, -size - beyond, size + beyond)
        new = values(updates, dtype)
        if reduction == "none":  # ONNX does not define which of several updates remains
            new = torch.full_like(new, True)
        yield Call(f"{label} {options} {dtype}", call, (values(data, dtype), named, new))


def own_gathers(dtype: torch.dtype) -> Iterator[Call]:
    targets: list[tuple[str, Any, tuple[int, ...], tuple[int, ...], int]] = [
        ("gather 0", lambda *t, **o: gst.gather(*t, **o), (4, 3), (2, 3), 4),
        ("gather -1", lambda *t, **o: gst.gather(*t, -1, **o), (4, 3), (), 3),
        ("gather batch", lambda *t, **o: gst.gather(*t, 2, batch_dims=1, **o), (2, 3, 4), (2, 5), 4),
        ("gather_elements 0", lambda *t, **o: gst.gather_elements(*t, 0, **o), (4, 3), (6, 2), 4),
        ("gather_elements 1", lambda *t, **o: gst.gather_elements(*t, -1, **o), (4, 3), (4, 7), 3),
        ("gather_nd", lambda *t, **o: gst.gather_nd(*t, **o), (3, 3, 2), (5, 2), 3),
        ("gather_nd batch", lambda *t, **o: gst.gather_nd(*t, batch_dims=1, **o), (2, 3, 2), (2, 5, 1), 3),
    ]
    for (label, function, data, indices, size), mode in itertools.product(targets, ("raise", "wrap", "clip", "fill")):
        beyond = 0 if mode == "raise" else 3

        def call(*inputs: Tensor, function: Any = function, mode: str = mode) -> Tensor:
            return function(*inputs, mode=mode)

        named = numbers(indices, -size - beyond, size + beyond)
        yield Call(f"{label} {mode} {dtype}", call, (values(data, dtype), named))


def own_bags(dtype: torch.dtype) -> Iterator[Call]:
    offsets, ids = torch.tensor([0, 2, 2, 5, 8]), torch.tensor([3, 0, 3, 3, 5, 0, 2, 3])
    forms: dict[str, dict[str, Any]] = {
        "packed": {"indices": numbers((3, 4), -5, 5)},
        "offsets": {"indices": numbers((8,), -5, 5), "offsets": offsets},
        "indptr": {"indices": numbers((8,), -5, 5), "indptr": torch.tensor([0, 2, 2, 5, 8])},
        "ids": {"indices": numbers((8,), -5, 5), "segment_ids": ids, "num_segments": 7},
        "rows": {"segment_ids": torch.tensor([1, 1, 0, 3, 3]), "num_segments": 5},
        "row offsets": {"offsets": torch.tensor([0, 0, 3])},
    }
    for (label, form), reduction, default in itertools.product(
        forms.items(), ("add", "mul", "min", "max", "mean"), (0, 3)
    ):
        if not allows(dtype, reduction) or (dtype == torch.bool and default):
            continue
        names = [name for name, value in form.items() if isinstance(value, Tensor)]
        others = {name: value for name, value in form.items() if name not in names}
        weighted = dtype.is_floating_point and reduction in ("add", "mean") and default == 0

        def call(data: Tensor, *given: Tensor, names: Any = tuple(names), options: Any = None) -> Tensor:
            return gst.gather_reduce(data, **dict(zip(names, given, strict=True)), **options)

        options = {**others, "reduction": reduction, "default": default}
        given = [form[name] for name in names]
        if weighted:
            names.append("weights")
            given.append(values(tuple(form["indices"].shape) if "indices" in form else (5,), dtype))
        yield Call(
            f"gather_reduce {label} {reduction} {default} {dtype}",
            lambda *t, names=tuple(names), options=options, call=call: call(*t, names=names, options=options),
            (values((5, 3), dtype), *given),
        )


# ---------------------------------------------------------------------------------------------- PyTorch's operators


def scatters(dtype: torch.dtype) -> Iterator[Call]:
    shapes = {
        "1-D": (0, (5,), (7,), (7,)),
        "rows": (0, (4, 3), (6, 3), (6, 3)),
        "last": (-1, (3, 4), (2, 7), (3, 9)),
        "scalar": (0, (), (), ()),
    }
    for (label, (dim, data, index, source)), how in itertools.product(
        shapes.items(), ("sum", "prod", "mean", "amin", "amax")
    ):
        for include_self in (True, False):
            if not allows(dtype, how):
                continue

            def reduce(*t: Tensor, dim: int = dim, how: str = how, include_self: bool = include_self) -> Tensor:
                return t[0].scatter_reduce(dim, t[1], t[2], how, include_self=include_self)

            size = data[dim] if data else 1
            inputs = values(data, dtype), numbers(index, 0, size), values(source, dtype)
            yield Call(f"scatter_reduce {label} {how} {include_self} {dtype}", reduce, inputs)
    for label, (dim, data, index, source) in shapes.items():
        size = data[dim] if data else 1
        inputs = values(data, dtype), numbers(index, 0, size), values(source, dtype)
        same = torch.full_like(inputs[2], True)
        yield Call(f"scatter_add {label} {dtype}", lambda *t, dim=dim: t[0].scatter_add(dim, *t[1:]), inputs)
        yield Call(f"scatter {label} {dtype}", lambda *t, dim=dim: t[0].scatter(dim, *t[1:]), (*inputs[:2], same))
        yield Call(f"scatter value {label} {dtype}", lambda *t, dim=dim: t[0].scatter(dim, t[1], 3), inputs[:2])
        if dtype != torch.bool:
            for how in ("add", "multiply"):
                yield Call(
                    f"scatter {how} {label} {dtype}",
                    lambda *t, dim=dim, how=how: t[0].scatter(dim, *t[1:], reduce=how),
                    inputs,
                )
                yield Call(
                    f"scatter value {how} {label} {dtype}",
                    lambda *t, dim=dim, how=how: t[0].scatter(dim, t[1], 3, reduce=how),
                    inputs[:2],
                )


def rows(dtype: torch.dtype) -> Iterator[Call]:
    shapes = {"1-D": (0, (5,), 7), "first": (0, (4, 3), 6), "last": (-1, (2, 3, 4), 6), "scalar": (0, (), 1)}
    for label, (dim, data, count) in shapes.items():
        size = data[dim] if data else 1
        source = list(data)
        if data:
            source[dim] = count
        inputs = values(data, dtype), numbers((count,), 0, size), values(tuple(source), dtype)
        same = torch.full_like(inputs[2], True)
        yield Call(f"index_add {label} {dtype}", lambda *t, dim=dim: t[0].index_add(dim, *t[1:]), inputs)
        alpha = False if dtype == torch.bool else -2
        yield Call(
            f"index_add alpha {label} {dtype}",
            lambda *t, dim=dim, alpha=alpha: t[0].index_add(dim, *t[1:], alpha=alpha),
            inputs,
        )
        yield Call(f"index_copy {label} {dtype}", lambda *t, dim=dim: t[0].index_copy(dim, *t[1:]), (*inputs[:2], same))
        yield Call(f"index_fill {label} {dtype}", lambda *t, dim=dim: t[0].index_fill(dim, t[1], 3), inputs[:2])
        yield Call(f"index_select {label} {dtype}", lambda *t, dim=dim: t[0].index_select(dim, t[1]), inputs[:2])
        if dtype == torch.bool:
            continue
        for how, include_self in itertools.product(("prod", "mean", "amin", "amax"), (True, False)):

            def reduce(*t: Tensor, dim: int = dim, how: str = how, include_self: bool = include_self) -> Tensor:
                return t[0].index_reduce(dim, t[1], t[2], how, include_self=include_self)

            yield Call(f"index_reduce {label} {how} {include_self} {dtype}", reduce, inputs)


def put(data: Tensor, indices: tuple[Any, ...], new: Tensor, accumulate: bool = False) -> Tensor:
    return data.index_put(indices, new, accumulate=accumulate)


def tuples(dtype: torch.dtype) -> Iterator[Call]:
    data = values((4, 3, 5), dtype)
    i, j = numbers((6,), -4, 4), numbers((6,), -3, 3)
    one = torch.ones(1).to(dtype)
    mask, masks = torch.tensor([True, False, True, False]), values((4, 3), torch.bool)
    for accumulate in (False, True):

        def new(*shape: int, accumulate: bool = accumulate) -> Tensor:
            return values(shape, dtype) if accumulate else torch.ones(shape).to(dtype)

        def to(label: str, function: Any, *inputs: Tensor, accumulate: bool = accumulate) -> Call:
            def call(*t: Tensor) -> Tensor:
                return function(*t, accumulate=accumulate)

            return Call(f"index_put {label} {accumulate} {dtype}", call, inputs)

        yield to("[i]", lambda d, i, n, **a: put(d, (i,), n, **a), data, i, new(6, 3, 5))
        yield to("[i, j]", lambda d, i, j, n, **a: put(d, (i, j), n, **a), data, i, j, new(6, 5))
        yield to("[:, j]", lambda d, j, n, **a: torch.ops.aten.index_put(d, [None, j], n, **a), data, j, new(4, 6, 5))
        yield to("[i, :, k]", lambda d, i, k, n, **a: torch.ops.aten.index_put(d, [i, None, k], n, **a),
                 data, i, numbers((6,), -5, 5), new(6, 3))  # fmt: skip
        yield to("[i[:, None], j]", lambda d, i, j, n, **a: put(d, (i.unsqueeze(1), j), n, **a), data, i, j, new(5))
        yield to("[mask]", lambda d, m, n, **a: put(d, (m,), n, **a), data, mask, new(2, 3, 5))
        yield to("[mask] = 1", lambda d, m, n, **a: put(d, (m,), n, **a), data, mask, one)
        yield to("[masks]", lambda d, m, n, **a: put(d, (m,), n, **a), data, masks, new(5))
        yield to("[masks] = 1", lambda d, m, n, **a: put(d, (m,), n, **a), data, masks, one)
        yield to("put", lambda d, i, n, **a: d.put(i, n, **a), data, numbers((2, 4), -60, 60), new(2, 4))
    yield Call(f"take {dtype}", lambda *t: t[0].take(t[1]), (data, numbers((2, 4), -60, 60)))
    yield Call(f"gather {dtype}", lambda *t: t[0].gather(1, t[1]), (data, numbers((2, 6, 5), 0, 3)))
    yield Call(f"[i, j] {dtype}", lambda *t: t[0][t[1], t[2]], (data, i, j))
    for shape, mask_shape in (((4, 3), (4, 3)), ((1, 3), (4, 3)), ((4, 3), (3,)), ((3,), (4, 3)), ((4, 1), (1, 3))):
        yield Call(
            f"masked_scatter {shape} {mask_shape} {dtype}",
            lambda *t: t[0].masked_scatter(*t[1:]),
            (values(shape, dtype), values(mask_shape, torch.bool), values((12,), dtype)),
        )


def reads(dtype: torch.dtype) -> Iterator[Call]:
    data, plane = values((4, 3, 5), dtype), values((4, 5), dtype)
    i, j = numbers((6,), -4, 4), numbers((6,), -3, 3)
    first, second = torch.tensor([1, 3]), torch.tensor([True, False, True])
    yield Call(f"take_along_dim {dtype}", lambda *t: torch.take_along_dim(*t, 1), (plane, numbers((4, 2), 0, 5)))
    yield Call(f"[i, :, k] {dtype}", lambda d, i, k: d[i, :, k], (data, i, numbers((6,), -5, 5)))
    yield Call(f"[:, j] {dtype}", lambda d, j: d[:, j], (data, j))
    yield Call(f"[..., ij] {dtype}", lambda d, i: d[..., i], (data, numbers((2, 2), -5, 5)))
    yield Call(f"[2-D, 2-D] {dtype}", lambda *t: t[0][t[1], t[2]], (data, numbers((2, 3), 0, 4), numbers((1, 3), 0, 3)))
    yield Call(f"[masks] {dtype}", lambda d, m: d[m], (data, values((4, 3), torch.bool)))
    yield Call(f"[:, mask] {dtype}", lambda d, m: d[:, m], (data, second))
    yield Call(f"[i, mask] {dtype}", lambda d, i, m: d[i, m], (data, first, second))
    yield Call(f"[i, mask] = {dtype}", lambda d, i, m, n: put(d, (i, m), n), (data, first, second, plane[:2]))
    yield Call(f"masked_select {dtype}", lambda *t: torch.masked_select(*t), (plane, values((5,), torch.bool)))
    yield Call(f"masked_fill {dtype}", lambda d, m: d.masked_fill(m, 1), (plane, values((4, 1), torch.bool)))
    yield Call(f"select_scatter {dtype}", lambda d, s: d.select_scatter(s, 1, -1), (plane, values((4,), dtype)))
    yield Call(f"slice_scatter {dtype}", lambda d, s: d.slice_scatter(s, 1, 1, 5, 2), (plane, values((4, 2), dtype)))
    if dtype.is_floating_point:
        embed = torch.nn.functional.embedding
        yield Call(f"embedding {dtype}", lambda d, i: embed(i, d), (plane, numbers((2, 2), 0, 4)))


def bags(dtype: torch.dtype) -> Iterator[Call]:
    if not dtype.is_floating_point:
        return
    bag = torch.nn.functional.embedding_bag
    table, members = values((9, 4), dtype), numbers((10,), 0, 9)
    offsets = torch.tensor([0, 3, 3, 8])
    for mode, padding in itertools.product(("sum", "mean", "max"), (None, 2, -1)):
        how = {"mode": mode, "padding_idx": padding}
        yield Call(
            f"embedding_bag {how} {dtype}",
            lambda t, m, o, how=how: bag(m, t, o, **how),
            (table, members, offsets),
        )
        yield Call(f"embedding_bag last {how} {dtype}",
                   lambda t, m, o, how=how: bag(m, t, o, include_last_offset=True, **how),
                   (table, members, torch.tensor([0, 3, 3, 8, 10])))  # fmt: skip
        yield Call(
            f"embedding_bag 2-D {how} {dtype}",
            lambda t, m, how=how: bag(m, t, **how),
            (table, members.reshape(5, 2)),
        )
    yield Call(f"embedding_bag weighted {dtype}", lambda t, m, o, w: bag(m, t, o, mode="sum", per_sample_weights=w),
               (table, members, offsets, values((10,), dtype)))  # fmt: skip
    for how, initial in itertools.product(("sum", "mean", "prod", "min", "max"), (None, 2.0)):
        yield Call(f"segment_reduce {how} {initial} {dtype}",
                   lambda d, n, how=how, initial=initial: torch.segment_reduce(d, how, lengths=n, initial=initial),
                   (values((6, 2), dtype), torch.tensor([2, 0, 3, 1])))  # fmt: skip
        yield Call(f"segment_reduce offsets {how} {initial} {dtype}",
                   lambda d, n, how=how, initial=initial: torch.segment_reduce(d, how, offsets=n, initial=initial),
                   (values((6,), dtype), torch.tensor([0, 2, 2, 5, 6])))  # fmt: skip


def segments(dtype: torch.dtype) -> Iterator[Call]:
    """The functions of torch_scatter, and EmbeddingBag."""
    if dtype != torch.float32:
        return
    source, index, pointers = values((8, 3), dtype), numbers((8,), 0, 5), torch.tensor([0, 2, 2, 5, 8])
    sized: dict[str, Any] = {"dim_size": 6}
    for how in ("sum", "mul", "mean", "min", "max"):
        sizes = sized | {"reduce": how}
        yield Call(f"scatter {how}", lambda *t, o=sizes: segment.scatter(*t, 0, **o), (source, index))
        if how != "mul":
            yield Call(f"coo {how}", lambda *t, o=sizes: segment.segment_coo(*t, **o), (source, index.sort()[0]))
            yield Call(f"csr {how}", lambda *t, how=how: segment.segment_csr(*t, reduce=how), (source, pointers))
    for name in ("scatter_std", "scatter_logsumexp", "scatter_softmax", "scatter_log_softmax"):
        function = getattr(segment, name)
        yield Call(name, lambda *t, f=function: f(*t, 0, **sized), (source, index))
    yield Call("scatter_max", lambda *t: segment.scatter_max(*t, 0, **sized)[1], (source, index))
    yield Call("gather_coo", segment.gather_coo, (source, index.sort()[0]))
    for mode, padding in itertools.product(("sum", "mean", "max"), (None, 1)):
        bag = gst.EmbeddingBag(9, 4, mode=mode, padding_idx=padding).requires_grad_(False)
        yield Call(f"EmbeddingBag {mode} {padding}", bag, (numbers((8,), 0, 9), pointers[:-1]))
        yield Call(f"EmbeddingBag 2-D {mode} {padding}", bag, (numbers((3, 4), 0, 9),))


def wide_segments(dtype: torch.dtype) -> Iterator[Call]:
    """Rows of any width. From some width on, minima and maxima are found together with their positions."""
    if dtype not in (torch.float32, torch.int64):
        return
    index, pointers = torch.tensor([0, 0, 1, 3, 3, 3, 4, 1]), torch.tensor([0, 2, 2, 5, 8])
    several = ("sum", "max", "mean", "min") if dtype.is_floating_point else ("sum", "max", "min")
    for shape in ((8,), (8, 1), (8, 2), (8, 8), (8, 17), (8, 33), (8, 2, 3)):
        source = values(shape, dtype)
        for part in range(2):
            for how in ("scatter_max", "scatter_min"):
                function = getattr(segment, how)
                yield Call(
                    f"{how} {shape} {part} {dtype}",
                    lambda *t, f=function, part=part: f(*t, 0, dim_size=6)[part],
                    (source, index),
                )
            yield Call(
                f"segment_max_csr {shape} {part} {dtype}",
                lambda *t, part=part: segment.segment_max_csr(*t)[part],
                (source, pointers),
            )
        for part in range(len(several)):
            yield Call(
                f"several {shape} {part} {dtype}",
                lambda *t, part=part: segment.scatter(*t, 0, dim_size=6, reduce=several)[part],
                (source, index),
            )


def widths(dtype: torch.dtype) -> Iterator[Call]:
    """Every translated operator, on rows of several widths."""
    if dtype != torch.float32:
        return
    bag = torch.nn.functional.embedding_bag
    index, mask = numbers((7,), 0, 5), values((5, 1), torch.bool)
    for width in (1, 2, 3, 8, 17, 33):
        data, source = values((5, width), dtype), values((7, width), dtype)
        targets = index[:, None].expand(7, width).contiguous()
        same, flat = torch.ones_like(source), numbers((6,), 0, 5 * width)
        i, j = index, numbers((7,), 0, width)
        cases: dict[str, tuple[Any, tuple[Tensor, ...]]] = {
            "scatter": (lambda d, p, s: d.scatter(0, p, s), (data, targets, same)),
            "scatter value": (lambda d, p: d.scatter(0, p, 3), (data, targets)),
            "scatter add": (lambda d, p, s: d.scatter(0, p, s, reduce="add"), (data, targets, source)),
            "scatter value multiply": (lambda d, p: d.scatter(0, p, 3, reduce="multiply"), (data, targets)),
            "scatter_add": (lambda d, p, s: d.scatter_add(0, p, s), (data, targets, source)),
            "index_add": (lambda d, i, s: d.index_add(0, i, s, alpha=2), (data, index, source)),
            "index_copy": (lambda d, i, s: d.index_copy(0, i, s), (data, index, same)),
            "index_fill": (lambda d, i: d.index_fill(0, i, 3), (data, index)),
            "index": (lambda d, i: d[i], (data, index)),
            "index of pairs": (lambda d, i, j: d[i, j], (data, i, j)),
            "index of a mask": (lambda d, m: d[m], (data, mask[:, 0])),
            "index_put": (lambda d, i, s: put(d, (i,), s), (data, index, same)),
            "index_put add": (lambda d, i, s: put(d, (i,), s, True), (data, index, source)),
            "index_put of one row": (lambda d, i, s: put(d, (i,), s, True), (data, index, source[:1])),
            "index_put of one column": (lambda d, i, s: put(d, (i,), s, True), (data, index, source[:, :1])),
            "masked_fill of rows": (lambda d, m: d.masked_fill(m, 3), (data, mask)),
            "masked_fill of a row by a column": (lambda d, m: d.masked_fill(m, 3), (data[0], mask)),
            "masked_fill by a tensor": (lambda d, m, v: d.masked_fill(m, v), (data, mask, source[0, 0])),
            "masked_scatter": (lambda d, m, s: d.masked_scatter(m, s), (data, mask, source)),
            "masked_scatter of a row": (lambda d, m, s: d.masked_scatter(m, s), (data[:1], mask, source)),
            "masked_select": (lambda d, m: d.masked_select(m), (data, mask)),
            "masked_select of a row": (lambda d, m: d.masked_select(m), (data[0], mask)),
            "put": (lambda d, i, s: d.put(i, s, accumulate=True), (data, flat, source.ravel()[:6])),
            "take": (lambda d, i: d.take(i), (data, flat)),
            "take_along_dim of one row": (lambda d, p: torch.take_along_dim(d, p, 0), (data[:1], targets * 0)),
            "take_along_dim by one row": (lambda d, p: torch.take_along_dim(d, p[:2, :1], 0), (data, targets)),
        }
        if width > 1:
            cases["take_along_dim by a column"] = (
                lambda d, p: torch.take_along_dim(d, p, 1),
                (data, i[:5, None] % width),
            )
        for how in ("sum", "prod", "amin", "amax", "mean"):
            for own in (True, False):
                cases[f"scatter_reduce {how} {own}"] = (
                    lambda d, p, s, how=how, own=own: d.scatter_reduce(0, p, s, how, include_self=own),
                    (data, targets, source),
                )
                if how != "sum":
                    cases[f"index_reduce {how} {own}"] = (
                        lambda d, i, s, how=how, own=own: d.index_reduce(0, i, s, how, include_self=own),
                        (data, index, source),
                    )
        for reduction in ("add", "mul", "min", "max"):
            cases[f"gather_reduce {reduction}"] = (
                lambda d, i, r=reduction: gst.gather_reduce(d, i.reshape(1, 7), reduction=r),
                (data, index),
            )
            cases[f"own scatter {reduction}"] = (
                lambda d, i, s, r=reduction: gst.scatter_update(d, i, s, reduction=r),
                (data, index, source),
            )
        for mode in ("sum", "mean", "max"):
            cases[f"embedding_bag {mode}"] = (lambda d, i, m=mode: bag(i.reshape(1, 7), d, mode=m), (data, index))
            cases[f"segment_reduce {mode}"] = (
                lambda d, n, m=mode: torch.segment_reduce(d, m, lengths=n),
                (data, torch.tensor([2, 0, 3])),
            )
        for label, (function, inputs) in cases.items():
            yield Call(f"{label} {width} {dtype}", function, inputs)


FAMILIES = {
    "widths": widths,
    "wide segments": wide_segments,
    "own scatters": own_scatters,
    "own gathers": own_gathers,
    "own bags": own_bags,
    "scatters": scatters,
    "rows": rows,
    "tuples": tuples,
    "reads": reads,
    "bags": bags,
    "segments": segments,
}


@pytest.mark.full
@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_exports_give_the_results_of_pytorch(family: str, dtype: torch.dtype) -> None:
    calls = list(FAMILIES[family](dtype))
    if not calls:
        return
    model = export_calls(calls, aten=True)
    assert not {node.op_type for node in model.graph.node} & {"Loop", "If", "SequenceAt", "SequenceEmpty"}
    assert find_departures(calls, model) == []
    assert find_departures(calls, model, run_gatherscatter) == []


@pytest.mark.full
@pytest.mark.parametrize("family", FAMILIES)
def test_sizes_can_be_dynamic(family: str) -> None:
    calls = list(FAMILIES[family](torch.float32))
    model = export_calls(calls, aten=True, dynamic=True)
    sizes = [size for info in model.graph.input for size in info.type.tensor_type.shape.dim]
    assert sum(bool(size.dim_param) for size in sizes) > 0.9 * len(sizes)
    assert find_departures(calls, model) == []
    assert find_departures(calls, model, run_gatherscatter) == []


def corners() -> Iterator[Call]:
    data, i = values((3, 4), torch.float32), torch.tensor([1, 0, 1])
    for dtype in (torch.float16, torch.int32, torch.int16, torch.uint8):
        short = torch.arange(12).reshape(3, 4).to(dtype)
        yield Call(f"fill {dtype}", lambda d, i: gst.gather(d, i, mode="fill"), (short, torch.tensor([2, 9, -1])))
        yield Call(f"index_fill {dtype}", lambda d, i: d.index_fill(-1, i, 3), (short, i))
        yield Call(f"index_add {dtype}", lambda *t: t[0].index_add(0, *t[1:]), (short, i, short))
        yield Call(
            f"amax {dtype}", lambda *t: t[0].index_reduce(0, *t[1:], "amax", include_self=False), (short, i, short)
        )
        if dtype.is_floating_point:
            yield Call(
                f"wide {dtype}",
                lambda *t: gst.scatter_update(*t, reduction="add", accumulate="wide"),
                (short, i, short),
            )
            yield Call(
                "segments", lambda d, n: torch.segment_reduce(d, "sum", lengths=n), (short, torch.tensor([2, 0, 1]))
            )
    for how in ("sum", "mean", "max"):
        for pointers in ([0, 2, 2, 3], [1, 2, 2, 4], [0, 1, 5]):
            yield Call(f"part {how} {pointers}", lambda d, p, how=how: torch.segment_reduce(d, how, offsets=p),
                       (values((5, 2, 2), torch.float32), torch.tensor(pointers)))  # fmt: skip
        yield Call(f"lengths {how}", lambda d, n, how=how: torch.segment_reduce(d, how, lengths=n, unsafe=True),
                   (values((6,), torch.float32), torch.tensor([2, 3])))  # fmt: skip
    mask = torch.tensor([0, 1, 1], dtype=torch.uint8)
    yield Call("uint8 mask", lambda d, m, n: d.index_put((m,), n), (data, mask, values((4,), torch.float32)))
    yield Call("no indices", lambda d, i, s: d.scatter(0, i, s), (data, torch.zeros(0, dtype=torch.int64), data))
    yield Call("scalar", lambda *t: t[0].masked_scatter(*t[1:]), (torch.tensor(1.0), torch.tensor(True), torch.ones(1)))
    yield Call("second mask", lambda d, m, n: torch.ops.aten.index_put(d, [None, m], n),
               (data, torch.tensor([True, False, True, False]), values((3, 2), torch.float32)))  # fmt: skip


def test_corner_cases() -> None:
    calls = list(corners())
    assert find_departures(calls, export_calls(calls, aten=True)) == []


def test_other_sizes_than_those_of_the_export() -> None:
    def calls(rows: int, count: int) -> list[Call]:
        data, index, new = (
            values((rows, 3), torch.float32),
            numbers((count,), 0, rows),
            values((count, 3), torch.float32),
        )
        offsets = torch.tensor([0, 0, *sorted(numbers((rows,), 0, count).tolist())])
        return [
            Call("mean", lambda *t: t[0].index_reduce(0, *t[1:], "mean"), (data, index, new)),
            Call(
                "scatter",
                lambda d, i, u: gst.scatter_update(d, i, u, reduction="mean", mode="drop"),
                (data, index, new),
            ),
            Call("put", lambda *t: t[0].index_put((t[1],), t[2], accumulate=True), (data, index, new)),
            Call("bags", lambda d, i, o: gst.gather_reduce(d, i, offsets=o, reduction="max"), (data, index, offsets)),
            Call("embeddings", lambda d, i, o: torch.nn.functional.embedding_bag(i, d, o), (data, index, offsets)),
            Call("mask", lambda d, m: d.index_put((m,), torch.zeros(1)), (data, values((rows,), torch.bool))),
        ]

    model = export_calls(calls(4, 6), aten=True, dynamic=True)
    for rows, count in ((9, 20), (2, 3), (50, 1000)):
        assert find_departures(calls(rows, count), model) == []


NEXT_TO_SKIPPED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "gather": lambda d, i: gst.gather(d, i, negative="skip"),
    "gather_nd": lambda d, i: gst.gather_nd(d, i.unsqueeze(-1), negative="skip"),
    "scatter_update": lambda d, i: gst.scatter_update(d, i, d[:3], negative="skip"),
    "scatter_nd": lambda d, i: gst.scatter_nd(d, i.unsqueeze(-1), d[:3], reduction="add", negative="skip"),
    "tuples": lambda d, i: gst.scatter_nd(d, torch.stack([i, i - i], -1), d[:3, 0], negative="skip"),
    "indices": lambda d, i: gst.gather_reduce(d, i.unsqueeze(0), reduction="mean", negative="skip"),
    "segment_ids": lambda d, i: gst.gather_reduce(d[:3], segment_ids=i, num_segments=4, negative="skip"),
}


@pytest.mark.parametrize("name", NEXT_TO_SKIPPED)
def test_an_index_that_is_too_large_is_an_error_next_to_skipped_ones(name: str) -> None:
    call = Call(name, NEXT_TO_SKIPPED[name], (values((4, 3), torch.float32), torch.tensor([3, -1, 0])))
    model = export_calls([call])
    assert find_departures([call], model) == []
    names = [each.name for each in model.graph.input]
    for index in (4, 5, 6):
        arrays = [call.inputs[0].numpy(), np.array([3, -1, index])]
        with pytest.raises(Exception, match=r"(?i)out of (bounds|data bounds)|invalid ind|indices"):
            run_onnxruntime(model, dict(zip(names, arrays, strict=True)))


# ------------------------------------------------------------------------------------------------------ the domain


@pytest.mark.full
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64], ids=str)
def test_the_domain_has_exact_sums(dtype: torch.dtype) -> None:
    data, rows, new = values((4, 3), dtype), numbers((6,), -4, 4), values((6, 3), dtype)
    exact: dict[str, Any] = {"reduction": "add", "accumulate": "exact"}
    calls = [
        Call("update", lambda *t: gst.scatter_update(*t, **exact), (data, rows, new)),
        Call("update 1", lambda *t: gst.scatter_update(*t, 1, **exact), (values((3, 4), dtype), rows, new.T.clone())),
        Call("elements", lambda *t: gst.scatter_elements(*t, **exact), (data, rows[:, None].expand(6, 3).clone(), new)),
        Call("nd", lambda *t: gst.scatter_nd(*t, **exact), (data, rows[:, None], new)),
        Call("bags", lambda d, i: gst.gather_reduce(d, i, **exact), (data, numbers((2, 3), 0, 4))),
        Call("ids", lambda d, i, s: gst.gather_reduce(d, i, segment_ids=s, num_segments=5, **exact),
             (data, rows, numbers((6,), 0, 5))),
        Call("rows", lambda d, p: gst.gather_reduce(d, indptr=p, **exact), (data, torch.tensor([0, 1, 1, 4]))),
    ]  # fmt: skip
    model = export_calls(calls, domain=True)
    assert {node.op_type for node in model.graph.node if node.domain == "gatherscatter"} == {
        "ScatterND", "ScatterElements", "GatherReduce",
    }  # fmt: skip
    assert find_departures(calls, model, run_gatherscatter) == []
    for call in calls:
        with pytest.raises(Exception, match="accumulate='exact'"):
            export_calls([call])


def test_wide_sums_are_rounded_once() -> None:
    def add(*t: Tensor) -> Tensor:
        return gst.scatter_update(*t, reduction="add", accumulate="wide")

    big, rows = torch.full((1,), 4096.0, dtype=torch.float16), torch.zeros(5, dtype=torch.int64)
    calls = [Call("wide", add, (big, rows, torch.ones(5, dtype=torch.float16)))]
    assert find_departures(calls, export_calls(calls)) == []


# ------------------------------------------------------------------------------------------------------ check_export


class Layer(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, how: str, include_self: bool = True) -> None:
        super().__init__()
        self.how = how
        self.include_self = include_self

    def forward(self, data: Tensor, index: Tensor, source: Tensor) -> Tensor:
        made = data.scatter_reduce(0, index, source * 2, self.how, include_self=self.include_self)
        return made + 1


INPUTS = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0, 1, 2]), torch.tensor([5.0, 6.0, 7.0])


def test_a_right_export() -> None:
    report = check_export(Layer("mean"), INPUTS, export(Layer("mean"), INPUTS, aten=True))
    assert report
    assert report.runs > 4
    assert report.node is None


def test_the_first_node_that_departs_is_named(tmp_path: Any) -> None:
    program = export(Layer("mean"), INPUTS)
    report = check_export(Layer("mean"), INPUTS, program)
    assert not report
    assert report.inputs == "given"
    assert "ScatterElements 'scatter_reduce'" in str(report.node)
    assert "scatter_reduce.two" in str(report)
    program.save(tmp_path / "model.onnx")
    assert str(check_export(Layer("mean"), INPUTS, tmp_path / "model.onnx")) == str(report)


def test_drawn_inputs_show_what_the_given_ones_do_not() -> None:
    # The exporter writes the last update instead of the mean. One update for each target does not show it.
    report = check_export(Layer("mean", False), INPUTS, export(Layer("mean", False), INPUTS))
    assert not report
    assert report.inputs.startswith("drawn")


def test_check_export_keeps_the_module_and_draws_masks_and_pointers() -> None:
    class Masked(torch.nn.Module):  # type: ignore[misc]
        def forward(self, data: Tensor, mask: Tensor, offsets: Tensor) -> tuple[Tensor, Tensor]:
            bags = gst.gather_reduce(data, torch.arange(4), offsets=offsets)
            return data.masked_fill(mask, 0.5), bags

    module, half = Masked(), values((4, 3), torch.float16)
    inputs = half.float(), torch.tensor([[True], [False], [False], [True]]), torch.tensor([0, 1, 3])
    report = check_export(module, inputs, export(module, inputs, aten=True))
    assert report
    assert report.runs > 4
    module.train()
    check_export(module, inputs, export(Masked(), inputs, aten=True), draws=0)
    assert module.training


class Filled(torch.nn.Module):  # type: ignore[misc]
    def forward(self, data: Tensor, index: Tensor, mask: Tensor) -> Tensor:
        return data[index].masked_fill(mask, 0.5)


def test_check_export_of_bfloat16() -> None:
    inputs = values((6, 3), torch.bfloat16), torch.tensor([0, 5, 2]), values((3, 3), torch.bool)
    program = export(Filled(), inputs, aten=True)
    report = check_export(Filled(), inputs, program)
    assert report, str(report)
    assert report.runs > 4
    model = program.model_proto
    (node,) = [node for node in model.graph.node if node.op_type == "Where"]
    node.input[1], node.input[2] = node.input[2], node.input[1]
    report = check_export(Filled(), inputs, model)
    assert report.node is not None
    assert "'masked_fill' (of aten.masked_fill" in report.node


def test_check_export_of_a_type_that_onnxruntime_has_no_kernel_for() -> None:
    class Double(torch.nn.Module):  # type: ignore[misc]
        def forward(self, data: Tensor) -> Tensor:
            return data * 2

    inputs = (values((6, 3), torch.bfloat16),)
    report = check_export(Double(), inputs, export(Double(), inputs))
    assert not report
    assert report.text.startswith("ONNX Runtime: [ONNXRuntimeError] : 9 : NOT_IMPLEMENTED")


@pytest.mark.parametrize(
    ("name", "bags"),
    [("lengths", [2, 0, 3, 1]), ("lengths", [0, 1, 2, 3]), ("lengths", [0, 6]), ("offsets", [0, 2, 2, 5, 6])],
)
def test_check_export_draws_no_bags_beyond_the_data(name: str, bags: list[int]) -> None:
    seen: list[Tensor] = []

    class Unchecked(torch.nn.Module):  # type: ignore[misc]
        def forward(self, data: Tensor, given: Tensor) -> Tensor:
            if not torch.compiler.is_compiling():
                seen.append(given)
            return torch.segment_reduce(data, "sum", **{name: given}, unsafe=True)

    inputs = values((6, 2), torch.float32), torch.tensor(bags)
    report = check_export(Unchecked(), inputs, export(Unchecked(), inputs, aten=True), draws=20)
    assert report, str(report)
    for given in seen:
        assert given.min() >= 0
        assert given.sum() <= 6 if name == "lengths" else given[-1] == 6


def test_the_table_of_translations_needs_no_other_import() -> None:
    code = "from gatherscatter_models.torch import onnx_translations; print(len(onnx_translations(aten=True)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == len(onnx_translations(aten=True))


def test_wrong_arguments_of_check_export() -> None:
    with pytest.raises(TypeError, match=r"inputs\[1\] must be a tensor, not list"):
        check_export(Layer("mean"), [INPUTS[0], [0], INPUTS[2]], "model.onnx")
    with pytest.raises(TypeError, match="model must be a path"):
        check_export(Layer("mean"), INPUTS, 5)

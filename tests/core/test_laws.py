"""Laws that need no oracle: inverses, adjoints, equal spellings of an index, and moves as plain bytes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import gatherscatter as gs
from gatherscatter import oracle
from gatherscatter.operation import Form, Kernel
from gatherscatter_conformance.random_calls import RandomCall, Traits, dtype_of
from tests.support.strategies import arrays, kernel_calls, shapes

# The same laws apply to text and to the smallest storage types. One of each represents its kind.
MOVED = ("bool", "int8", "uint16", "int32", "uint64", "float16", "bfloat16", "float32", "float64", "complex64",
         "complex128", "float8_e4m3fn", "int4", "object", "<U9", "S9", "StringDType")  # fmt: skip
PAIRS = (("gather_nd", "scatter_nd"), ("gather_elements", "scatter_elements"), ("gather", "scatter_update"))
each_pair = pytest.mark.parametrize(("gather", "scatter"), PAIRS, ids=[pair[1] for pair in PAIRS])
each_scatter = pytest.mark.parametrize("kernel", [pair[1] for pair in PAIRS])


def draw_call(data: Any, kernel: str, element: str) -> RandomCall:
    """Draw a legal call with non-negative indices in plain arrays. test_layouts.py tests layouts."""
    call = data.draw(kernel_calls(Traits(kernel, element, "int64", signed=False, batches=False, plain=True)))
    size_at = sizes(kernel, call.inputs[0].shape, call.attributes.get("axis", 0))
    assume(all(size_at(p) for p in np.ndindex(call.inputs[1].shape)))
    return call


def sizes(kernel: str, shape: tuple, axis: int) -> Any:
    return (lambda p: shape[p[-1]]) if Kernel(kernel).form == Form.TUPLES else (lambda p: shape[axis])


def equal(result: np.ndarray, expected: np.ndarray) -> None:
    oracle.assert_same(result, expected, expected)


# -------------------------------------------------------------------------------------------------- inverse, adjoint


@st.composite
def unique_targets(draw: Any, kernel: str, element: str) -> RandomCall:
    """Return index tensors without duplicate targets: a permutation along each line or distinct tuples, cut short."""
    shape = draw(shapes(1, 3).filter(lambda shape: math.prod(shape) > 0))
    axis = draw(st.integers(0, len(shape) - 1))
    data = draw(arrays(element, shape))
    if kernel == "scatter_nd":
        k = draw(st.integers(0, len(shape)))
        tuples = draw(st.permutations(list(np.ndindex(shape[:k]))))
        tuples = tuples[: draw(st.integers(1, len(tuples)))]
        indices = np.array(tuples, np.int64).reshape(len(tuples), k)
        return RandomCall([data, indices, draw(arrays(element, (len(tuples), *shape[k:])))], {})
    if kernel == "scatter_update":
        targets = draw(st.permutations(range(shape[axis])))[: draw(st.integers(1, shape[axis]))]
        updates = arrays(element, (*shape[:axis], len(targets), *shape[axis + 1 :]))
        return RandomCall([data, np.array(targets, np.int64), draw(updates)], {"axis": axis})
    lines = (*shape[:axis], *shape[axis + 1 :])
    length = draw(st.integers(1, shape[axis]))
    columns = [draw(st.permutations(range(shape[axis])))[:length] for _ in np.ndindex(lines)]
    indices = np.moveaxis(np.array(columns, np.int64).reshape(*lines, length), -1, axis)
    return RandomCall([data, indices, draw(arrays(element, indices.shape))], {"axis": axis})


@each_pair
@given(data=st.data())
def test_gather_reads_back_what_scatter_wrote(gather, scatter, data):
    (x, indices, updates), axis = data.draw(unique_targets(scatter, data.draw(st.sampled_from(MOVED))))
    written = getattr(gs, scatter)(x, indices, updates, **axis)
    equal(getattr(gs, gather)(written, indices, **axis), updates)


@each_pair
@given(data=st.data())
def test_scatter_of_what_was_gathered_changes_nothing(gather, scatter, data):
    (x, indices), axis = draw_call(data, gather, data.draw(st.sampled_from(MOVED)))
    equal(getattr(gs, scatter)(x, indices, getattr(gs, gather)(x, indices, **axis), **axis), x)


@each_pair
@given(data=st.data())
def test_scatter_add_is_the_adjoint_of_gather(gather, scatter, data):
    """<gather(x, i), u> == <x, scatter_add(0, i, u)>, exact in wrapping integers."""
    name = data.draw(st.sampled_from(("int64", "uint64", "int32", "uint8")))
    (x, indices, updates), axis = draw_call(data, scatter, name)
    gathered = getattr(gs, gather)(x, indices, **axis)
    added = getattr(gs, scatter)(np.zeros_like(x), indices, updates, **axis, reduction="add")

    def inner(a: np.ndarray, b: np.ndarray) -> int:
        total = sum(int(m) * int(n) for m, n in zip(a.ravel().tolist(), b.ravel().tolist(), strict=True))
        return total % (1 << 8 * a.itemsize)

    assert inner(gathered, updates) == inner(x, added)


# ----------------------------------------------------------------------------------------- one index, several spellings


@pytest.mark.parametrize("kernel", [name for pair in PAIRS for name in pair])
@given(data=st.data())
def test_minus_1_and_size_minus_1_are_one_index(kernel, data):
    (x, indices, *updates), axis = draw_call(data, kernel, data.draw(st.sampled_from(("int16", "float32", "object"))))
    size_at = sizes(kernel, x.shape, axis.get("axis", 0))
    flip = np.array(data.draw(st.lists(st.booleans(), min_size=indices.size, max_size=indices.size)), bool)
    negative = indices.copy()
    for p, turn in zip(np.ndindex(indices.shape), flip.tolist(), strict=True):
        negative[p] -= size_at(p) if turn else 0
    more = {"reduction": "add"} if updates and data.draw(st.booleans()) else {}
    function = getattr(gs, kernel)
    equal(function(x, negative, *updates, **axis, **more), function(x, indices, *updates, **axis, **more))


@pytest.mark.parametrize("kernel", [name for pair in PAIRS for name in pair])
@given(data=st.data())
def test_the_index_type_does_not_matter(kernel, data):
    (x, indices, *updates), axis = draw_call(data, kernel, "int32")
    function = getattr(gs, kernel)
    expected = function(x, indices, *updates, **axis)
    for name in oracle.INTEGERS:
        equal(function(x, indices.astype(name), *updates, **axis), expected)


@each_scatter
@given(data=st.data())
def test_a_negative_axis_is_the_same_axis(kernel, data):
    (x, indices, updates), keywords = draw_call(data, kernel, "int32")
    if "axis" in keywords:
        function, axis = getattr(gs, kernel), keywords["axis"]
        other = axis - x.ndim if axis >= 0 else axis + x.ndim
        equal(function(x, indices, updates, axis=other), function(x, indices, updates, axis=axis))


# --------------------------------------------------------------------------------------------------- moves are blind


@pytest.mark.parametrize("kernel", [name for pair in PAIRS for name in pair])
@given(data=st.data())
def test_moves_commute_with_byte_views(kernel, data):
    """Random bytes, including payloads of NaN and signs of zero, are moved as T and as unsigned integers."""
    name = data.draw(st.sampled_from([name for name in MOVED if name not in ("object", "StringDType", "<U9", "S9")]))
    (x, indices, *updates), axis = draw_call(data, kernel, "uint8")
    width, noise = dtype_of(name).itemsize, np.random.default_rng(x.size)
    integers = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}.get(width, np.dtype("V16"))
    high = {"bool": 2, "int4": 16}.get(name, 256)  # a byte of int4 has sixteen values, one of bool has two
    made = [noise.integers(0, high, (*a.shape, width)).astype(np.uint8) for a in (x, *updates)]
    raw = [m.reshape(-1).view(integers).reshape(a.shape) for m, a in zip(made, (x, *updates), strict=True)]
    typed = [m.reshape(-1).view(dtype_of(name)).reshape(a.shape) for m, a in zip(made, (x, *updates), strict=True)]
    function = getattr(gs, kernel)
    moved_raw = function(raw[0], indices, *raw[1:], **axis)
    moved = function(typed[0], indices, *typed[1:], **axis)
    assert moved.dtype == dtype_of(name)
    assert moved.tobytes() == moved_raw.tobytes()


@each_scatter
@given(data=st.data())
def test_unwritten_targets_keep_their_bytes(kernel, data):
    (x, indices, updates), keywords = draw_call(data, kernel, data.draw(st.sampled_from(("float32", "float16"))))
    marks = getattr(gs, kernel)(np.zeros(x.shape, bool), indices, np.ones(updates.shape, bool), **keywords)
    reduction = data.draw(st.sampled_from(oracle.REDUCTIONS))
    include = reduction == "none" or data.draw(st.booleans())
    result = getattr(gs, kernel)(x, indices, updates, **keywords, reduction=reduction, include_self=include)
    assert result[~marks].tobytes() == x[~marks].tobytes()


# -------------------------------------------------------------------------------------------------- in place, rewritten


@each_scatter
@given(data=st.data())
def test_in_place_equals_out_of_place(kernel, data):
    name = data.draw(st.sampled_from(("int16", "float16", "float64")))
    (x, indices, updates), keywords = draw_call(data, kernel, name)
    reduction = data.draw(st.sampled_from(oracle.REDUCTIONS))
    more = {"reduction": reduction, "include_self": reduction == "none" or data.draw(st.booleans())}
    function = getattr(gs, kernel)
    expected = function(x, indices, updates, **keywords, **more)
    target = x.copy()
    assert function(target, indices, updates, **keywords, **more, out=target) is target
    equal(target, expected)
    other = np.empty_like(x)
    assert function(x, indices, updates, **keywords, **more, out=other) is other
    equal(other, expected)


@given(data=st.data())
def test_gather_nd_with_one_column_is_gather_along_the_first_axis(data):
    (x, indices), _ = draw_call(data, "gather", "int32")
    assume(x.shape[0] > 0)
    indices = indices % x.shape[0]
    equal(gs.gather_nd(x, indices[..., None]), gs.gather(x, indices, 0))


@given(data=st.data())
def test_scatter_nd_with_one_column_is_scatter_update_of_the_first_axis(data):
    (x, indices), _ = draw_call(data, "gather", "int32")
    assume(x.shape[0] > 0)
    indices = indices % x.shape[0]
    updates = data.draw(arrays("int32", indices.shape + x.shape[1:]))
    for reduction in oracle.REDUCTIONS:
        equal(gs.scatter_nd(x, indices[..., None], updates, reduction=reduction),
              gs.scatter_update(x, indices, updates, 0, reduction=reduction))  # fmt: skip


@given(data=st.data())
def test_batch_dims_are_a_loop(data):
    """gather_nd and gather with batch_dims=1 are one call per batch."""
    shape = data.draw(shapes(2, 3).filter(lambda shape: math.prod(shape) > 0))
    x = data.draw(arrays("float32", shape))
    indices = np.array(data.draw(st.lists(st.integers(0, shape[1] - 1), min_size=shape[0] * 2, max_size=shape[0] * 2)))
    indices = indices.reshape(shape[0], 2)
    each = [gs.gather(x[n], indices[n], 0) for n in range(shape[0])]
    equal(gs.gather(x, indices, 1, batch_dims=1), np.stack(each))
    equal(gs.gather_nd(x, indices[..., None], batch_dims=1), np.stack(each))


@each_scatter
@given(data=st.data())
def test_order_does_not_matter_where_it_cannot(kernel, data):
    """Integer sums that wrap, minima and maxima are the same for any order of the updates."""
    (x, indices, updates), keywords = draw_call(data, kernel, "int8")
    function = getattr(gs, kernel)
    axis = keywords.get("axis", 0) % x.ndim if kernel == "scatter_elements" else 0
    if kernel == "scatter_nd" and indices.ndim > 1:
        turned, turned_updates = indices[::-1], updates[::-1]
    elif kernel == "scatter_elements":
        turned, turned_updates = np.flip(indices, axis), np.flip(updates, axis)
    else:
        return
    for reduction in ("add", "mul", "min", "max", "mean", "sub"):
        equal(function(x, turned, turned_updates, **keywords, reduction=reduction),
              function(x, indices, updates, **keywords, reduction=reduction))  # fmt: skip

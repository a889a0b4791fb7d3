"""The layout of arrays in memory does not change a result."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter import oracle
from gatherscatter.errors import OpValueError
from gatherscatter.operation import GATHERS, SCATTERS
from gatherscatter_conformance.random_calls import LAYOUTS, change_layout, dtype_of, fill_from_bytes

# One type for each width and each path: bytes, halves, words, text of fixed width.
ELEMENTS = ("bool", "int8", "uint16", "int32", "float16", "bfloat16", "float32", "float64", "complex128", "<U9")
each_layout = pytest.mark.parametrize("layout", LAYOUTS)
each_element = pytest.mark.parametrize("element", ELEMENTS)


def case(kernel: str, element: str) -> tuple[list[np.ndarray], dict[str, Any]]:
    """Return a call in plain arrays, with negative indices and duplicates. Every axis is longer than one."""

    def elements(*shape: int) -> np.ndarray:
        return fill_from_bytes(element, shape, bytes(range(int(np.prod(shape)))))

    if kernel == "gather":
        return [elements(2, 3, 4), np.array([[2, -1], [0, 2]])], {"axis": 1}
    if kernel == "gather_elements":
        return [elements(3, 4), np.array([[0, 3, -1], [1, 1, 2], [-4, 2, 2]])], {"axis": 1}
    if kernel == "gather_nd":
        return [elements(2, 3, 4), np.array([[[1], [-1]], [[0], [2]]])], {"batch_dims": 1}
    if kernel == "scatter_elements":
        return [elements(3, 4), np.array([[0, 3, -1], [1, 1, 2], [-4, 2, 2]]), elements(3, 3)[::-1]], {"axis": 1}
    if kernel == "scatter_nd":
        return [elements(3, 2, 4), np.array([[1, 0], [-1, 1], [1, 0], [0, -2]]), elements(4, 4)[::-1]], {}
    return [elements(2, 3, 4), np.array([[2, -1], [0, 2]]), elements(2, 2, 2, 4)[::-1]], {"axis": 1}


KERNELS = ("gather", "gather_elements", "gather_nd", "scatter_update", "scatter_elements", "scatter_nd")
each_kernel = pytest.mark.parametrize("kernel", KERNELS)


def content(array: np.ndarray) -> Any:
    return array.dtype, array.strides, array.flags.writeable, array.tobytes()


@each_element
@each_layout
@each_kernel
def test_each_input_in_each_layout(kernel, layout, element):
    """First each input alone has this layout, then all of them have it."""
    plain, keywords = case(kernel, element)
    count = len(plain)
    reduction = {"reduction": "add"} if count == 3 else {}
    choices = [tuple(n == m for n in range(count)) for m in range(count)] + [(True,) * count]
    for choice in choices:
        inputs = [change_layout(x.copy(), layout) if chosen else x for x, chosen in zip(plain, choice, strict=True)]
        before = [content(x) for x in inputs]
        for more in ({}, reduction):
            expected = oracle.array_call(kernel, *inputs, **keywords, **more)
            result = getattr(gs, kernel)(*inputs, **keywords, **more)
            oracle.assert_same(result, expected, inputs[0])
            assert result.flags.writeable
            assert not any(np.shares_memory(result, x) for x in inputs)
        assert [content(x) for x in inputs] == before


@pytest.mark.parametrize("pair", list(itertools.combinations(LAYOUTS, 2)), ids=" and ".join)
@each_kernel
def test_two_layouts_together(kernel, pair):
    plain, keywords = case(kernel, "float32")
    for order in (pair, pair[::-1]):
        chosen = [change_layout(x.copy(), order[n % 2]) for n, x in enumerate(plain)]
        oracle.assert_same(
            getattr(gs, kernel)(*chosen, **keywords), oracle.array_call(kernel, *chosen, **keywords), chosen[0]
        )


@pytest.mark.parametrize("element", ["int16", "int32", "uint64", "float16", "float32", "float64", "complex64", "<U9"])
@each_kernel
def test_byte_order_of_data_is_kept(kernel, element):
    """The output keeps the dtype of data, byte order included. The other inputs can have either byte order."""
    plain, keywords = case(kernel, element)
    orders = list(itertools.product("<>", repeat=len(plain)))
    for more in ({}, {"reduction": "add"}) if len(plain) == 3 else ({},):
        for order in orders:
            inputs = [x.astype(x.dtype.newbyteorder(o)) for x, o in zip(plain, order, strict=True)]
            result = getattr(gs, kernel)(*inputs, **keywords, **more)
            if element == "<U9" and more:
                assert result.dtype.byteorder == inputs[0].dtype.byteorder
            else:
                assert result.dtype == inputs[0].dtype
            oracle.assert_same(result, oracle.array_call(kernel, *inputs, **keywords, **more), inputs[0])


@each_layout
@pytest.mark.parametrize("kernel", [name for name in KERNELS if name in GATHERS])
def test_gather_into_each_layout(kernel, layout):
    if layout in ("read-only", "zero stride"):  # neither can be written to
        return
    plain, keywords = case(kernel, "float32")
    if layout == "swapped":
        plain[0] = change_layout(plain[0], layout)
    expected = oracle.array_call(kernel, *plain, **keywords)
    out = change_layout(np.full(expected.shape, 7, expected.dtype.newbyteorder("=")), layout)
    assert getattr(gs, kernel)(*plain, **keywords, out=out) is out
    oracle.assert_same(out, expected, plain[0])


@each_layout
@pytest.mark.parametrize("reduction", ["none", "add", "mean"])
@pytest.mark.parametrize("kernel", [name for name in KERNELS if name in SCATTERS])
def test_scatter_in_place_in_each_layout(kernel, reduction, layout):
    plain, keywords = case(kernel, "float32")
    written = change_layout(plain[0].copy(), layout)
    before = np.array(written)
    if layout in ("read-only", "zero stride"):
        with pytest.raises(OpValueError):
            getattr(gs, kernel)(written, *plain[1:], **keywords, reduction=reduction, out=written)
        assert written.tobytes() == before.tobytes()
        return
    expected = oracle.array_call(kernel, before, *plain[1:], **keywords, reduction=reduction)
    assert getattr(gs, kernel)(written, *plain[1:], **keywords, reduction=reduction, out=written) is written
    oracle.assert_same(written, expected, written)


@pytest.mark.parametrize("kernel", [name for name in KERNELS if name in SCATTERS])
def test_what_lies_between_the_elements_of_out_stays(kernel):
    """In a view with steps, the bytes between the elements do not change."""
    plain, keywords = case(kernel, "int32")
    wide = np.full((*plain[0].shape[:-1], plain[0].shape[-1] * 3), -77, np.int32)
    view = wide[..., 1::3]
    view[...] = plain[0]
    getattr(gs, kernel)(view, *plain[1:], **keywords, out=view)
    assert (wide[..., 0::3] == -77).all()
    assert (wide[..., 2::3] == -77).all()
    oracle.assert_same(np.array(view), oracle.array_call(kernel, *plain, **keywords), plain[0])


@each_layout
@pytest.mark.parametrize("element", ["float16", "bfloat16", "int64", "object", "StringDType"])
def test_tensor_scatter_layouts(element, layout):
    past, update = (
        fill_from_bytes(element, (2, 4, 3), bytes(range(24))),
        fill_from_bytes(element, (2, 2, 3), bytes(range(3, 15))),
    )
    write = np.array([0, 2])
    chosen = [change_layout(x.copy(), layout) for x in (past, update, write)]
    if layout == "zero stride":
        chosen[2] = write
    expected = oracle.call("onnx.TensorScatter-24", *chosen)
    oracle.assert_same(gs.tensor_scatter(*chosen), expected, chosen[0])
    oracle.assert_same(gs.op("onnx.TensorScatter-24")(*chosen), expected, chosen[0])


@each_layout
def test_gather_tree_layouts(layout):
    steps = np.array([[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]]], np.int32).repeat(2, axis=1)
    parents = np.array([[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]]], np.int32).repeat(2, axis=1)
    chosen = [change_layout(x, layout) for x in (steps, parents, np.array([3, 2], np.int32), np.array(10, np.int32))]
    expected = oracle.gather_tree(*chosen)
    oracle.assert_same(gs.gather_tree(*chosen), expected, chosen[0])


@each_layout
def test_objects_and_variable_text_in_each_layout(layout):
    for element in ("object", "StringDType"):
        for kernel in KERNELS:
            plain, keywords = case(kernel, element)
            chosen = [change_layout(x.copy(), layout) for x in plain]
            result = getattr(gs, kernel)(*chosen, **keywords)
            oracle.assert_same(result, oracle.array_call(kernel, *chosen, **keywords), chosen[0])


def test_every_layout_is_what_it_says():
    plain = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    made = {layout: change_layout(plain.copy(), layout) for layout in LAYOUTS}
    for layout, array in made.items():
        if layout != "zero stride":
            np.testing.assert_array_equal(array, plain)
    assert made["F"].flags.f_contiguous
    assert made["steps"].strides[2] == 8
    assert made["reversed"].strides[2] == -4
    assert 0 in made["zero stride"].strides
    assert not made["swapped"].dtype.isnative
    assert not made["read-only"].flags.writeable
    assert not made["unaligned"].flags.aligned
    assert dtype_of("StringDType").kind == "T"


@pytest.mark.parametrize("seed", range(40))
def test_steps_of_any_sign_on_any_axis(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(20):
        rank = int(rng.integers(1, 5))
        shape = rng.integers(1, 7, rank) * 2
        data = np.arange(shape.prod(), dtype=rng.choice(["i1", "i2", "i4", "i8", "c16"])).reshape(shape)
        data = data.transpose(rng.permutation(rank))[
            tuple(slice(None, None, rng.choice([-2, -1, 1, 2])) for _ in shape)
        ]
        axis = int(rng.integers(0, rank))
        rows = rng.integers(-data.shape[axis], data.shape[axis], rng.integers(1, 6))
        np.testing.assert_array_equal(gs.gather(data, rows, axis=axis), np.take(data, rows, axis))
        filled = gs.gather(data, [rows[0], 99], axis=axis, mode="fill")
        np.testing.assert_array_equal(filled.take(0, axis), data.take(rows[0], axis))
        assert not filled.take(1, axis).any()
        tuples = np.stack([rng.integers(-n, n, 7) for n in data.shape[: rng.integers(1, rank + 1)]], -1)
        np.testing.assert_array_equal(gs.gather_nd(data, tuples), data[tuple(tuples.T)])


def test_data_that_lies_backwards_is_read_in_place() -> None:
    data = np.zeros((10, 4))
    assert gs.plan("gather", data[::-1], np.array([1])).copies == ()
    assert gs.plan("gather_nd", data[::-1, ::-1], np.array([[1, 2]])).copies == ()
    assert gs.plan("gather_nd", data[::-1], np.array([[1, 2]])).copies == ("data",)

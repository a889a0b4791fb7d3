"""The C interface gives the same results and messages as Python, for any arguments of a host."""

from __future__ import annotations

import ctypes
import mmap
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from ctypes import byref, c_int64, c_void_p
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter import oracle
from gatherscatter.operation import SCATTERS
from gatherscatter.system.native_library import cmake_folder, include_folder, library_path
from gatherscatter_conformance import random_calls
from gatherscatter_conformance.random_calls import RandomCall
from gatherscatter_conformance.random_source import ByteChoices
from tests.support import c_interface as c
from tests.support import judge, quantized
from tests.support.paths import EXAMPLES

F32, I64 = np.float32, np.int64
ELEMENTS = (*random_calls.REDUCED, "float8_e4m3fn")
CALLS = 300  # this number of calls of each kind


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as threads:
        yield threads


def contiguous(array: Any) -> Any:
    """Return the same values in native byte order and C order."""
    if array is None:
        return None
    made = np.array(array, array.dtype.newbyteorder("="), order="C")
    return np.require(made, requirements=["C", "A", "W"])


def random_call(make: Any, seed: int, *arguments: Any, **options: Any) -> RandomCall:
    call = make(ByteChoices(np.random.default_rng(seed).bytes(400)), *arguments, **options)
    arrays = {key: contiguous(value) if isinstance(value, np.ndarray) else value for key, value in call[1].items()}
    return RandomCall([contiguous(array) for array in call[0]], arrays)


def check_same(result: Any, expected: Any) -> None:
    """Check that both are the same bytes, or errors of the same kind with the same message.

    Another library can give another NaN: its compiler may have swapped the operands of an addition.
    """
    if isinstance(expected, Exception):
        assert (str(result), judge.error_class(result)) == (str(expected), judge.error_class(expected))
    elif isinstance(result, Exception):
        raise AssertionError(f"expected {expected}") from result
    else:
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        if c.HOST:
            oracle.assert_same(result, expected, expected, True)
            return
        same = result.tobytes() == expected.tobytes()  # in the assert, pytest would take minutes to show
        assert same


# --------------------------------------------------------------------------------------------------- results


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("kernel", random_calls.ARRAY_KERNELS)
def test_random_calls_are_those_of_python(kernel: str, many: bool) -> None:
    raised = 0
    for seed in range(CALLS):
        call = random_call(random_calls.array_call, seed, kernel, ELEMENTS, many=many)
        if call.inputs[0].dtype.name not in c.TYPES and call.attributes.get("reduction", "none") != "none":
            continue  # Python uses this name for the type
        judge.check_array_call(kernel, call)
        expected = judge.outcome(getattr(gs, kernel), *call.inputs, **call.attributes)
        check_same(judge.outcome(c.call, kernel, *call.inputs, **call.attributes), expected)
        raised += isinstance(expected, Exception)
        if kernel not in SCATTERS:
            continue
        data = call.inputs[0].copy()
        result = judge.outcome(c.call, kernel, data, *call.inputs[1:], **call.attributes, out=data)
        check_same(result, expected)
        check_same(data, call.inputs[0] if isinstance(expected, Exception) else expected)
    assert raised, "some indices are bad"


@pytest.mark.parametrize("many", [False, True])
def test_random_bags_are_those_of_python(many: bool) -> None:
    raised = 0
    for seed in range(3 * CALLS):
        (data, indices), given = random_call(random_calls.bags_call, seed, many)
        judge.check_gather_reduce(RandomCall([data, indices], given), None)
        given = {name: value for name, value in given.items() if name != "default"}
        expected = judge.outcome(gs.gather_reduce, data, indices, **given)
        bags = [given.pop(name, None) for name in ("offsets", "segment_ids", "weights")]
        given.setdefault("num_segments", -1)
        check_same(judge.outcome(c.call, "gather_reduce", data, indices, *bags, **given), expected)
        if bags[0] is not None and isinstance(expected, np.ndarray):
            indptr = np.append(bags[0], bags[0].dtype.type(indices.size))
            if indptr[-1] == indices.size:  # it fits in the type of the offsets
                more = [None, None, bags[2], None, indptr]
                check_same(judge.outcome(c.call, "gather_reduce", data, indices, *more, **given), expected)
        raised += isinstance(expected, Exception)
    assert raised, "some indices are bad"


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.int8, np.int64])
@pytest.mark.parametrize("reduction", ["add", "mul", "min", "max", "mean"])
def test_a_first_row_of_each_bag_gives_the_bits_of_two_nodes(reduction: str, dtype: Any, zeros: bool) -> None:
    rng = np.random.default_rng(7)
    data = rng.normal(0, 30, (50, 9)).astype(dtype)
    data[3] = -0.0
    init = np.zeros((20, 9), dtype) if zeros else rng.normal(0, 30, (20, 9)).astype(dtype)
    rows, ids = rng.integers(-50, 50, 200), rng.integers(-20, 19, 200)
    ids[5] = 18
    rows[ids % 20 == 18] = 3  # only negative zeros
    expected = gs.scatter_update(init, ids, data[rows], reduction=reduction)
    result = c.call("gather_reduce", data, rows, None, ids, None, init, reduction=reduction)
    check_same(result, expected)
    in_place = init.copy()
    c.call("gather_reduce", data, rows, None, ids, None, in_place, reduction=reduction, out=in_place)
    check_same(in_place, expected)


@pytest.mark.parametrize("packed", [0, 1])
@pytest.mark.parametrize("scale_type", quantized.SCALES)
@pytest.mark.parametrize("kind", [*quantized.INTEGERS, *quantized.FLOATS])
def test_random_quantized_tables_are_those_of_python(kind: str, scale_type: str, packed: int) -> None:
    rng = np.random.default_rng([packed, *kind.encode()])
    raised = 0
    for i in range(CALLS // 5):
        call = quantized.draw_call(rng, kind, scale_type=scale_type, bad=True)
        inputs = [contiguous(array) for array in call.inputs]
        options = {**call.options, "mode": ("raise", "wrap", "clip", "fill")[i % 4]}
        expected = judge.outcome(gs.gather_quantized, *inputs, **options)
        given = inputs if i % 2 else inputs[: 3 if inputs[3] is None else 4]
        check_same(judge.outcome(c.call, "gather_quantized", *given, **options, packed=packed), expected)
        raised += isinstance(expected, Exception)
    assert raised, "some indices are bad"


def test_rows_of_packed_codes_can_begin_within_a_byte() -> None:
    rng = np.random.default_rng(11)
    codes, zeros = (quantized.draw_codes(rng, "uint4", shape) for shape in ((70, 41), (70, 3)))
    scales, rows = rng.normal(size=(70, 3)).astype(F32), rng.integers(-70, 70, 5000)
    expected = gs.gather_quantized(codes, rows, scales, zeros, block_size=16)
    check_same(c.call("gather_quantized", codes, rows, scales, zeros, block_size=16), expected)
    for axis in (0, 1):
        numbers = np.array([40, -41, 0])
        expected = gs.gather_quantized(codes, numbers, scales, block_size=16, axis=axis)
        check_same(c.call("gather_quantized", codes, numbers, scales, block_size=16, axis=axis), expected)


def test_a_plan_runs_again_with_other_values() -> None:
    data, plan = np.arange(12, dtype=F32).reshape(3, 4), c.Plan("gather", np.empty((3, 4), F32), np.empty(2, I64))
    for indices in ([0, 1], [2, -1]):
        given = np.array(indices)
        check_same(plan.run(data, given), data[given])


def test_opaque_elements_of_any_size_are_moved() -> None:
    data = np.array([b"one", b"two", b"three"], "S5")
    check_same(c.call("gather", data, np.array([2, 0])), data[[2, 0]])
    with pytest.raises(TypeError, match="reduction 'add' is not defined for elements of type opaque"):
        c.call("scatter_update", data, np.array([0]), data[:1], reduction="add")
    with pytest.raises(TypeError, match=r"updates must have the same type as data \(opaque of 5 bytes\), not opaque"):
        c.call("scatter_update", data, np.array([0]), data[:1].astype("S3"))


# ------------------------------------------------------------------------------------------- sentences of errors

M2, B23 = np.zeros((2, 3), F32), np.zeros((2, 3, 4), F32)
U8, F21 = np.zeros((2, 2), np.uint8), np.zeros((2, 1), F32)  # a quantized table and its scales


def ints(*values: Any, dtype: Any = I64) -> np.ndarray:
    return np.array(values, dtype)


FAULTS: list[tuple[str, tuple[np.ndarray, ...], dict[str, Any]]] = [
    ("gather", (np.array(1.0), ints(0)), {}),
    ("gather_nd", (M2, np.array(0)), {}),
    ("gather_elements", (M2, ints(0)), {}),
    ("gather", (M2, ints(0)), {"axis": -3}),
    ("gather", (M2, ints(0)), {"batch_dims": 2}),
    ("gather", (M2, ints([0], [0])), {"batch_dims": 1, "axis": 0}),
    ("gather", (B23, ints([0], [0], [1])), {"batch_dims": 1, "axis": 1}),
    ("gather_nd", (M2, ints([0, 0, 0, 0])), {}),
    ("gather_elements", (M2, np.zeros((1, 4), I64)), {}),
    ("gather", (np.zeros((1,) * 60, F32), np.zeros((1,) * 6, I64)), {}),
    ("scatter_update", (M2, ints(0), M2), {}),
    ("scatter_nd", (M2, ints([0]), np.zeros(3, F32)), {}),
    ("scatter_nd", (B23, np.zeros((2, 1, 1), I64), np.zeros((2, 2), F32)), {}),
    ("scatter_elements", (M2, np.zeros((2, 3), I64), np.zeros((2, 2), F32)), {}),
    ("scatter_update", (M2.astype(np.complex64), ints(0), M2[:1].astype(np.complex64)), {"reduction": "max"}),
    ("scatter_update", (M2 > 0, ints(0), M2[:1] > 0), {"reduction": "mean"}),
    ("scatter_update", (M2, ints(0), M2[:1]), {"reduction": "mul", "accumulate": "exact"}),
    ("gather", (M2, np.zeros(1, F32)), {}),
    ("gather", (M2, np.zeros(1, bool)), {}),
    # indices
    ("gather", (M2, np.array(2)), {}),
    ("gather", (M2, ints(2, -3, 5)), {}),
    ("gather", (M2, ints(7, 7)), {}),
    ("gather", (M2, ints([0, 1], [3, 1])), {"axis": -1, "mode": "raise"}),
    ("gather", (M2, ints(*range(20))), {}),
    ("gather", (np.zeros((3, 0), F32), ints([0])), {"axis": 1, "mode": "wrap"}),
    ("gather_nd", (B23, np.array([[[1]], [[5]]])), {"batch_dims": 1}),
    ("gather_nd", (B23, ints([1, 2, 9], [-5, 0, 0])), {}),
    ("scatter_elements", (M2, ints([0, 1, 9]), M2[:1]), {"axis": 1}),
    # hints
    ("gather", (np.zeros(8, F32), ints(1, 2, 8)), {}),
    ("gather_nd", (M2, ints([1, 1], [2, 3])), {}),
    ("gather_nd", (np.zeros((3, 3), F32), ints([1, 1], [2, 3])), {}),
    ("gather_nd", (np.zeros((3, 7), F32), ints([6, 2], [0, 0])), {}),
    ("gather", (np.zeros((3, 7), F32), ints(6, 0)), {}),
    ("gather", (np.zeros((3, 7, 7), F32), ints(6, 0)), {}),
    ("gather", (M2, ints(2**32 - 1, dtype=np.uint32)), {}),
    ("gather", (M2, ints(2**64 - 2, dtype=np.uint64)), {}),
    ("gather", (M2, ints(2**63 + 5, dtype=np.uint64)), {}),
    ("gather", (M2[:0], ints(0, dtype=np.uint64)), {}),
    ("gather", (M2, ints(0, 255, dtype=np.uint8)), {}),
    ("gather", (M2, ints(0, 254, dtype=np.uint8)), {}),
    ("gather", (M2, ints(2**32 + 1)), {}),
    ("gather", (M2, ints(2**32 - 2, 0)), {}),
    ("gather", (M2, ints(2**32 - 3, 0)), {}),
    ("gather", (M2, ints(-(2**63), 2**63 - 1)), {}),
]


def without_values(error: Any) -> Exception:
    """Return an error without what it says about values of a wrong type. The C interface does not read them."""
    assert isinstance(error, Exception)
    if "must be integers" in str(error):
        error.args = (str(error).split(";")[0],)
    return error


@pytest.mark.parametrize(("kernel", "arrays", "options"), FAULTS)
def test_sentences_are_those_of_python(kernel: str, arrays: Sequence[np.ndarray], options: dict[str, Any]) -> None:
    expected = without_values(judge.outcome(getattr(gs, kernel), *arrays, **options))
    check_same(judge.outcome(c.call, kernel, *arrays, **options), expected)


TABLE_FAULTS: list[tuple[Any, dict[str, Any]]] = [
    ((M2, [0], M2), {}),
    ((U8, [0], F21.astype(np.float64)), {}),
    ((U8, [0], F21, U8.astype(np.int8)), {}),
    ((U8.astype("float8_e5m2"), [0], F21, U8.astype("float8_e5m2")), {}),
    ((U8, [0.5], F21), {}),
    ((U8, [0], F21), {"axis": 2}),
    ((U8, [0], F21), {"quantize_axis": -3}),
    ((U8, [0], F21), {"block_size": -1}),
    ((U8, [0], F21), {"bits": 3}),
    ((U8, [0], F21), {"axis": 1}),
    ((U8, [0], F21), {"block_size": 2}),
    ((U8, [0], F21, U8), {}),
    ((U8[0, 0], [0], F21), {}),
    ((U8.reshape((2, 2) + (1,) * 60), np.zeros((1,) * 6, I64), F21), {}),
    ((U8, [2], F21), {}),
    ((U8, [0, -3], F21), {}),
    ((U8[:0], [0], F21[:0]), {"mode": "wrap"}),
]


@pytest.mark.parametrize(("arrays", "options"), TABLE_FAULTS)
def test_sentences_about_tables_are_those_of_python(arrays: Any, options: dict[str, Any]) -> None:
    given = [np.asarray(array) for array in arrays]
    expected = without_values(judge.outcome(gs.gather_quantized, *given, **options))
    check_same(judge.outcome(c.call, "gather_quantized", *given, **options), expected)


def test_negative_indices_can_be_out_of_range() -> None:
    sentence = (
        r"op-1: indices\[0\] = -1 is out of range for axis 0 of data with size 2 \(valid: 0..1\); negative indices do "
        r"not count from the end here: add the size \(2\) to them"
    )
    with pytest.raises(IndexError, match=sentence):
        c.call("gather", M2, ints(-1), negative=0, name="op-1")


LINE, TABLE = ints(0, 1, 1), np.ones((3, 2), F32)
BAG_FAULTS: list[tuple[np.ndarray, np.ndarray, dict[str, Any]]] = [
    (TABLE, LINE, {}),
    (TABLE, LINE.reshape(1, 3), {"offsets": ints(0), "segment_ids": ints(0)}),
    (TABLE, LINE, {"offsets": ints([0])}),
    (TABLE, LINE, {"offsets": np.zeros(1)}),
    (TABLE, LINE, {"offsets": ints(0)[:0]}),
    (TABLE, LINE, {"offsets": ints(0, 4)}),
    (TABLE, LINE, {"offsets": ints(0, 2, 1)}),
    (TABLE, LINE, {"offsets": ints(2, 3, dtype=np.uint8)}),
    (TABLE, LINE, {"offsets": ints(0, 3), "num_segments": 2}),
    (TABLE, LINE, {"indptr": ints(0, 2)}),
    (TABLE, LINE, {"indptr": ints(1, 3)}),
    (TABLE, LINE, {"indptr": ints(0, 2, 1, 3)}),
    (TABLE, LINE, {"indptr": ints(0, 4)}),
    (TABLE, LINE, {"indptr": ints(0, -1, dtype=np.int8)}),
    (TABLE, LINE, {"indptr": ints(0)[:0]}),
    (TABLE, LINE, {"indptr": ints([0])}),
    (TABLE, LINE, {"indptr": ints(0, 3), "offsets": ints(0)}),
    (TABLE, LINE, {"segment_ids": ints(0, 1), "num_segments": 2}),
    (TABLE, LINE, {"segment_ids": ints(0, 1, 5), "num_segments": 2}),
    (TABLE, LINE, {"segment_ids": ints(0, -1, -1), "num_segments": 2}),
    (TABLE, LINE, {"segment_ids": ints(0, 1, 1), "num_segments": -2}),
    (TABLE, LINE, {"segment_ids": ints(0, 1, 1), "num_segments": 2**62}),
    (TABLE, LINE, {"offsets": ints(0), "weights": np.ones(2, F32)}),
    (TABLE, LINE, {"offsets": ints(0), "reduction": "sub"}),
    (TABLE, LINE, {"offsets": ints(0), "reduction": "mul", "accumulate": "exact"}),
    (TABLE > 0, LINE, {"offsets": ints(0), "reduction": "mean"}),
    (np.array(1.0), LINE, {"offsets": ints(0)}),
    (TABLE, np.array(0), {"offsets": ints(0)}),
    (TABLE, LINE.astype(F32), {"offsets": ints(0)}),
    (TABLE, ints(0, 1, 7), {"offsets": ints(0)}),
    (TABLE, ints([0, 1], [7, -9]), {}),
    (TABLE[:0], LINE, {"offsets": ints(0), "mode": "clip"}),
]


@pytest.mark.parametrize(("data", "indices", "given"), BAG_FAULTS)
def test_sentences_about_bags_are_those_of_python(data: np.ndarray, indices: np.ndarray, given: dict[str, Any]) -> None:
    expected = without_values(judge.outcome(gs.gather_reduce, data, indices, **given))
    arrays = [given.get(name) for name in ("offsets", "segment_ids", "weights", "init", "indptr")]
    options = {name: value for name, value in given.items() if not isinstance(value, np.ndarray)}
    check_same(judge.outcome(c.call, "gather_reduce", data, indices, *arrays, **options), expected)


def test_sentences_about_what_python_has_not() -> None:
    with pytest.raises(ValueError, match="num_segments is missing"):
        c.call("gather_reduce", TABLE, LINE, None, LINE)
    shape = r"init has shape \(2, 3\), but must have \(2, 2\): the shape of the bags, then that of a row"
    with pytest.raises(ValueError, match=shape):
        c.call("gather_reduce", TABLE, LINE, None, LINE, None, M2)
    with pytest.raises(ValueError, match=r"init must have at least one dimension, but has shape \(\)"):
        c.call("gather_reduce", TABLE, LINE, None, LINE, None, np.zeros((), F32))
    with pytest.raises(TypeError, match=r"weights must have the same type as data \(float32\), not float64"):
        c.call("gather_reduce", TABLE, LINE, ints(0), None, np.ones(3))
    with pytest.raises(IndexError, match=r"segment_ids\[2\] = 1 is out of range for 1 segments \(valid: -1..0\)"):
        c.call("gather_reduce", TABLE, LINE, None, ints(0, 0, 1), None, TABLE[:1])


# -------------------------------------------------------------------------------------------- hostile arguments


def create(operation: Any, tensors: Any, count: int) -> None:
    plan = c_void_p(1)
    try:
        c.check(c.load().gatherscatter_plan_create(operation, tensors, count, byref(plan)))
    except Exception:
        assert plan.value is None
        raise
    c.load().gatherscatter_plan_release(plan)


def tensor(*shape: int, dtype: int = 12, rank: int | None = None, item_size: int = 4) -> c.Tensor:
    return c.Tensor(dtype, len(shape) if rank is None else rank, (c_int64 * len(shape))(*shape), item_size)


HOSTILE: list[tuple[Any, list[c.Tensor], str]] = [
    ({"struct_size": 0}, [], "gatherscatter: operation.struct_size is 0, but must be "),
    ({"kernel": 8}, [], r"gatherscatter: kernel must be one of 0 \(gather\), .*, 7 \(gather_quantized\), not 8"),
    ({"kernel": -1}, [], "kernel must be one of .*, not -1"),
    ({"mode": 4}, [], "gather: mode must be one of .*, not 4"),
    ({"reduction": -5}, [], "reduction must be one of .*, not -5"),
    ({"accumulate": 3}, [], "accumulate must be one of .*, not 3"),
    ({"kernel": 3, "include_self": 0}, [], "scatter_update: include_self has no effect with reduction 'none'"),
    ({"kernel": 3, "accumulate": 2, "reduction": 4}, [], "accumulate has no effect with reduction 'min'"),
    ({"kernel": 0, "reduction": 1}, [], "gather has no option reduction; leave it at 0"),
    ({"kernel": 1, "include_self": 0}, [], "gather_elements has no option include_self; leave it at 1"),
    ({"kernel": 1, "batch_dims": 1}, [], "gather_elements has no option batch_dims; leave it at 0"),
    ({"kernel": 2, "axis": 1}, [], "gather_nd has no option axis; leave it at 0"),
    ({"kernel": 4, "batch_dims": 1}, [], "scatter_elements has no option batch_dims; leave it at 0"),
    ({"kernel": 5, "axis": 1}, [], "scatter_nd has no option axis; leave it at 0"),
    ({"kernel": 5, "num_segments": 1}, [], "scatter_nd has no option num_segments; leave it at -1"),
    ({"kernel": 6, "axis": 1, "reduction": 1}, [], "gather_reduce has no option axis; leave it at 0"),
    ({"kernel": 0, "quantize_axis": 0}, [], "gather has no option quantize_axis; leave it at -1"),
    ({"kernel": 3, "block_size": 0}, [], "scatter_update has no option block_size; leave it at 128"),
    ({"kernel": 6, "bits": 0}, [], "gather_reduce has no option bits; leave it at 4"),
    ({"kernel": 5, "packed": 0}, [], "scatter_nd has no option packed; leave it at 1"),
    ({"kernel": 7, "batch_dims": 1}, [], "gather_quantized has no option batch_dims; leave it at 0"),
    ({"kernel": 7, "reduction": 1}, [], "gather_quantized has no option reduction; leave it at 0"),
    ({"kernel": 7, "accumulate": 1}, [], "gather_quantized: accumulate has no effect with reduction 'none'"),
    ({"kernel": 7, "num_segments": 0}, [], "gather_quantized has no option num_segments; leave it at -1"),
    ({"kernel": 7}, [tensor(2, 2, dtype=16), tensor(1, dtype=5)], "gather_quantized: the input scales is missing"),
    ({"kernel": 7}, [tensor(2)] * 5, "gather_quantized: got 5 inputs, but at most 4 are allowed"),
    ({"kernel": 7}, [tensor(2, dtype=23)] * 3, r"data must be one of 0 \(opaque\), .*, not 23"),
    ({"kernel": 7}, [tensor(2, dtype=-1)] * 3, r"data must be one of 0 \(opaque\), .*, not -1"),
    ({"kernel": 7}, [tensor(2, dtype=16), tensor(2, dtype=16), tensor(2)], "indices must be one of .*, not 16"),
    (
        {"kernel": 7},
        [tensor(2**40, 2**22, dtype=16), tensor(1, dtype=5), tensor(2**40, 2**15)],
        r"the size of the result overflows 64 bits \(\(1, 4194304\) of float32\)",
    ),
    (
        {"kernel": 7, "bits": 2},
        [tensor(2, 2**61, dtype=6), tensor(1, dtype=5), tensor(2, 1)],
        "the size of the result overflows 64 bits",
    ),
    ({}, [], "gather: the input data is missing"),
    ({}, [tensor(3), tensor(0, rank=-1)], "the input indices is missing"),
    ({}, [tensor(3)] * 3, "got 3 inputs, but at most 2 are allowed"),
    ({}, [tensor(3, dtype=16)], r"data must be one of 0 \(opaque\), .*, not 16"),
    ({}, [tensor(3, rank=-2)], "data must have 0 to 64 dimensions, not -2"),
    ({}, [tensor(3, rank=65)], "data must have 0 to 64 dimensions, not 65"),
    ({}, [tensor(3, rank=2**31 - 1)], "data must have 0 to 64 dimensions, not 2147483647"),
    ({}, [c.Tensor(12, 1, None, 0)], "data.shape is NULL"),
    ({}, [tensor(3, -1)], r"data has shape \(3, -1\), but no size may be negative"),
    ({}, [tensor(2**62, 2**62)], "data of shape .* has more bytes than 64 bits can count"),
    ({}, [tensor(2**61)], "data of shape .* has more bytes than 64 bits can count"),
    ({}, [tensor(3, dtype=0, item_size=0)], "data has opaque elements, so its item_size must be at least 1, not 0"),
    ({}, [tensor(3, 2**32), tensor(2**30, dtype=5)], "gather: the size of the result overflows 64 bits"),
    ({"kernel": 5}, [tensor(2**57), tensor(0, 1, dtype=5), tensor(0)], "the size of the result overflows 64 bits"),
    ({"axis": -(2**63)}, [tensor(3), tensor(3, dtype=5)], "axis -9223372036854775808 is out of range"),
    ({"batch_dims": -(2**63)}, [tensor(3), tensor(3, dtype=5)], "batch_dims -9223372036854775808 is out of range"),
    ({"kernel": 2, "batch_dims": 2**63 - 1}, [tensor(3), tensor(3, dtype=5)], "batch_dims 9223372036854775807 is out"),
    (
        {"kernel": 2},
        [tensor(0), tensor(0, 2**60 - 1, dtype=5)],
        "tuples of length 1152921504606846975 are too long",
    ),
    ({"kernel": 6}, [tensor(*[1] * 40), tensor(*[1] * 40, dtype=5)], "would have more than 64 dimensions"),
    (
        {"kernel": 6, "reduction": 0},
        [tensor(3), tensor(1, 1, dtype=5)],
        "reduction must be one of .*, not 'none'",
    ),
]


@pytest.mark.parametrize(("fields", "tensors", "sentence"), HOSTILE)
def test_hostile_descriptions_are_refused(fields: dict[str, Any], tensors: list[c.Tensor], sentence: str) -> None:
    operation = c.make_operation(**{"kernel": 0, **fields})
    with pytest.raises((TypeError, ValueError), match=sentence):
        create(byref(operation), (c.Tensor * len(tensors))(*tensors), len(tensors))


def test_null_is_refused() -> None:
    library, operation = c.load(), c.make_operation("gather")
    with pytest.raises(ValueError, match="operation is NULL"):
        create(None, None, 0)
    with pytest.raises(ValueError, match="gather: plan is NULL"):
        c.check(library.gatherscatter_plan_create(byref(operation), None, 0, None))
    with pytest.raises(ValueError, match="gather: inputs is NULL"):
        create(byref(operation), None, 2)
    with pytest.raises(ValueError, match="plan is NULL"):
        c.check(library.gatherscatter_plan_run(None, None, None, None))
    assert not library.gatherscatter_plan_shape(None, None)
    for release in (library.gatherscatter_plan_release, library.gatherscatter_status_release):
        release(None)
    library.gatherscatter_operation_init(None, 0, 0)


def test_null_is_refused_in_place_of_elements() -> None:
    plan, out = c.Plan("gather", M2, ints(0)), np.empty((1, 3), F32)
    index = ints(0)
    run = c.load().gatherscatter_plan_run
    with pytest.raises(ValueError, match="gather: inputs is NULL"):
        c.check(run(plan.address, None, out.ctypes.data, None))
    with pytest.raises(ValueError, match="gather: indices is NULL"):
        c.check(run(plan.address, (c_void_p * 2)(M2.ctypes.data, None), out.ctypes.data, None))
    with pytest.raises(ValueError, match="gather: output is NULL"):
        c.check(run(plan.address, (c_void_p * 2)(M2.ctypes.data, index.ctypes.data), None, None))


ERRORS_IN_VALUES: list[tuple[str, list[np.ndarray | None], dict[str, Any]]] = [
    ("gather", [M2, ints(9)], {}),
    ("gather_elements", [M2, ints([9, 9, 9])], {}),
    ("gather_nd", [M2, ints([9])], {}),
    ("scatter_update", [M2, ints(9), M2[:1]], {}),
    ("scatter_elements", [M2, ints([9, 9, 9]), M2[:1]], {}),
    ("scatter_nd", [M2, ints([9]), M2[:1]], {}),
    ("gather_reduce", [M2, ints([9, 0])], {}),
    ("gather_reduce", [M2, ints(9, 0), ints(0)], {}),
    ("gather_reduce", [M2, ints(0, 0), ints(5)], {}),
    ("gather_reduce", [M2, ints(0, 0), ints(1)], {}),
    ("gather_reduce", [M2, ints(9, 0), None, ints(0, 0)], {"num_segments": 1}),
    ("gather_reduce", [M2, ints(0, 0), None, ints(0, 7)], {"num_segments": 1}),
    ("gather_reduce", [M2, ints(9, 0), None, None, None, None, ints(0, 2)], {}),
]


@pytest.mark.skipif(sys.platform != "linux", reason="needs mprotect")
@pytest.mark.parametrize(("kernel", "arrays", "options"), ERRORS_IN_VALUES)
def test_an_error_reads_no_more_addresses_than_were_given(
    kernel: str, arrays: list[np.ndarray | None], options: dict[str, Any]
) -> None:
    """The addresses are at the end of a page. The next page can't be read."""
    plan = c.Plan(kernel, *arrays, **options)
    pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    begin = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [c_void_p, ctypes.c_size_t, ctypes.c_int]
    assert protect(begin + mmap.PAGESIZE, mmap.PAGESIZE, 0) == 0
    inputs = (c_void_p * len(arrays)).from_address(begin + mmap.PAGESIZE - 8 * len(arrays))
    for i, array in enumerate(arrays):
        inputs[i] = None if array is None else array.ctypes.data
    out = np.zeros(plan.shape, F32)
    with pytest.raises((IndexError, ValueError)):
        c.check(c.load().gatherscatter_plan_run(plan.address, inputs, out.ctypes.data, None))
    assert protect(begin + mmap.PAGESIZE, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE) == 0


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"two\nlines\r\x00", r"two\x0alines\x0d"),
        (b"\xff\xc3", r"\xff\xc3"),
        (b"\xed\xa0\x80\xf5\xc0\x80", r"\xed\xa0\x80\xf5\xc0\x80"),
        ("a\u2028b\x85c".encode(), r"a\xe2\x80\xa8b\xc2\x85c"),
        ("Größe \U0001f600 ࠀ".encode(), "Größe \U0001f600 ࠀ"),
    ],
)
def test_any_name_of_an_operation_gives_a_line_of_text(name: bytes, shown: str) -> None:
    operation = c.make_operation("gather")
    operation.name = name
    for tensors in ([tensor(3, dtype=16)], [tensor(3), tensor(2, dtype=12)]):
        with pytest.raises((TypeError, ValueError)) as caught:
            create(byref(operation), (c.Tensor * len(tensors))(*tensors), len(tensors))
        assert str(caught.value).startswith(f"{shown}: ")
        assert len(str(caught.value).splitlines()) == 1


def test_null_may_stand_for_no_elements() -> None:
    empty = c.Plan("scatter_update", np.empty((0, 3), F32), np.empty(0, I64), np.empty((0, 3), F32))
    c.check(c.load().gatherscatter_plan_run(empty.address, (c_void_p * 3)(), None, None))


@pytest.mark.parametrize(
    ("threads", "sentence"),
    [
        (c.Threads(3, 1, c.PARALLEL_FOR(), None), r"gather: threads.struct_size is 3, but must be \d+"),
        (c.limit_threads(-1), "gather: threads.count must be at least 1, not -1"),
    ],
)
def test_hostile_threads_are_refused(threads: c.Threads, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        c.call("gather", M2, ints(0), threads=threads)


@pytest.mark.parametrize(
    ("reduction", "accumulate"),
    [("none", "step"), ("add", "step"), ("add", "exact"), ("mean", "step"), ("mean", "exact")],
)
def test_a_bad_index_leaves_the_data_of_an_update_in_place_alone(reduction: str, accumulate: str) -> None:
    data, indices = np.arange(8000, dtype=F32), np.random.default_rng(5).permutation(8000)[:3000]
    indices[-1] = 8000
    before = data.copy()
    with pytest.raises(IndexError, match=r"indices\[2999\] = 8000 is out of range"):
        c.call("scatter_update", data, indices, np.ones(3000, F32), reduction=reduction, accumulate=accumulate,
               out=data)  # fmt: skip
    check_same(data, before)


# ------------------------------------------------------------------------------------------------------- threads


def large_calls() -> list[tuple[str, tuple[np.ndarray | None, ...], dict[str, Any]]]:
    rng = np.random.default_rng(3)
    data, updates = rng.normal(size=(3000, 40)).astype(F32), rng.normal(size=(20_000, 40)).astype(F32)
    rows, ids = rng.integers(-3000, 3000, 20_000), rng.integers(0, 900, 20_000)
    return [
        ("gather", (data, rows), {}),
        ("scatter_update", (data, rows, updates), {"reduction": "add"}),
        ("scatter_update", (data, rows, updates), {"reduction": "mean", "accumulate": "exact"}),
        ("scatter_elements", (data, rng.integers(0, 40, (3000, 40)), updates[:3000]), {"axis": 1, "reduction": "add"}),
        ("gather_reduce", (data, rows, None, ids), {"num_segments": 900}),
        ("gather_reduce", (data, rows, None, ids, None, data[:900]), {}),
        ("gather_reduce", (data, rows.reshape(100, 200)), {"reduction": "mean"}),
    ]


@pytest.mark.parametrize("number", range(7))
def test_large_calls_are_those_of_python(number: int) -> None:
    kernel, arrays, options = large_calls()[number]
    if len(arrays) == 6:  # with init
        data, rows, _, ids, _, init = arrays
        expected = gs.scatter_update(init, ids, gs.gather(data, rows), reduction="add")
    elif len(arrays) == 4:
        expected = gs.gather_reduce(*arrays[:2], segment_ids=arrays[3], **options)
    else:
        expected = getattr(gs, kernel)(*arrays, **options)
    check_same(c.call(kernel, *arrays, **options), expected)


@pytest.mark.parametrize("number", range(7))
def test_the_threads_of_a_host_give_the_same_bits(number: int, pool: ThreadPoolExecutor) -> None:
    kernel, arrays, options = large_calls()[number]
    alone = c.call(kernel, *arrays, **options, threads=c.limit_threads(1))
    check_same(c.call(kernel, *arrays, **options, threads=c.limit_threads(7)), alone)
    calls: list[int] = []
    hosts = [c.host_threads(pool, 3, calls=calls), c.host_threads(pool, 5, lambda n: range(n)[::-1], calls),
             c.host_threads(pool, 3, lambda n: (), calls)]  # the last host runs no tasks  # fmt: skip
    for host in hosts:
        check_same(c.call(kernel, *arrays, **options, threads=host), alone)
    assert calls
    assert max(calls) <= 5


def test_one_thread_does_not_call_the_host(pool: ThreadPoolExecutor) -> None:
    calls: list[int] = []
    kernel, arrays, options = large_calls()[1]
    c.call(kernel, *arrays, **options, threads=c.host_threads(pool, 1, calls=calls))
    assert calls == []


def test_eight_threads_share_a_plan() -> None:
    kernel, arrays, options = large_calls()[1]
    plan = c.Plan(kernel, *arrays, **options)
    expected = plan.run(*arrays)
    with ThreadPoolExecutor(8) as threads:
        for result in threads.map(lambda _: plan.run(*arrays), range(40)):
            check_same(result, expected)


FLUSH_BITS = {"x86_64": (7, 0x8040), "aarch64": (0, 1 << 24)}  # where fegetenv stores the mode, and its bits


def flush_subnormals() -> None:
    """Make this thread flush subnormal numbers to zero, as hosts do for speed."""
    library, environment = ctypes.CDLL(None), (ctypes.c_uint32 * 16)()
    assert library.fegetenv(environment) == 0
    number, bits = FLUSH_BITS[platform.machine()]
    environment[number] |= bits
    assert library.fesetenv(environment) == 0


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in FLUSH_BITS, reason="needs the C library of Linux and its mode"
)
def test_threads_that_flush_subnormal_numbers_keep_them_here() -> None:
    rng = np.random.default_rng(4)
    small = (rng.integers(1, 1000, (20_000, 200)) * 1e-42).astype(F32)
    data, rows = small[:3000], rng.integers(0, 3000, 20_000)
    expected = c.call("scatter_update", data, rows, small, reduction="add", threads=c.limit_threads(1))
    calls: list[int] = []
    with ThreadPoolExecutor(3, initializer=flush_subnormals) as flushing:
        assert flushing.submit(lambda: float(F32(1e-42) * F32(2))).result() == 0, "the mode is set"
        host = c.host_threads(flushing, 3, calls=calls)
        check_same(c.call("scatter_update", data, rows, small, reduction="add", threads=host), expected)
        assert calls
        whole = flushing.submit(lambda: c.call("scatter_update", data, rows, small, reduction="add"))
        check_same(whole.result(), expected)
        assert flushing.submit(lambda: float(F32(1e-42) * F32(2))).result() == 0, "the mode did not change"


# ------------------------------------------------------------------------------------------------------ compilers

compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


def succeed(*command: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(compiler is None, reason="needs a C compiler")
@pytest.mark.parametrize("language", [("c", "c99"), ("c", "c17"), ("c++", "c++11"), ("c++", "c++20")])
def test_the_header_compiles(language: tuple[str, str], tmp_path: Path) -> None:
    source = tmp_path / "header.c"
    source.write_text("#include <gatherscatter.h>\n#include <gatherscatter.h>\nint main(void) { return 0; }\n")
    name, standard = language
    if name == "c++" and not shutil.which("c++"):
        pytest.skip("needs a C++ compiler")
    flags = [f"-std={standard}", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", f"-I{include_folder()}"]
    succeed("c++" if name == "c++" else compiler, "-x", name, *flags, source)


EXPECTED = """\
sums: 1 8 6
error 3: scatter_nd: indices[1, 0] = 3 is out of range for axis 0 of data with size 3 (valid: -3..2)
means: 5.5 11 100 200
"""


@pytest.mark.native
@pytest.mark.skipif(not (compiler and shutil.which("cmake")), reason="needs CMake and a C compiler")
def test_the_example_in_c_runs(tmp_path: Path) -> None:
    build = tmp_path / "build"
    settings = [f"-Dgatherscatter_DIR={cmake_folder()}", "-DCMAKE_C_FLAGS=-Wall -Wextra -pedantic -Werror"]
    succeed("cmake", "-S", EXAMPLES / "c", "-B", build, *settings)
    succeed("cmake", "--build", build)
    assert succeed(build / "sums") == EXPECTED


@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("nm"), reason="reads the symbols with nm")
def test_nothing_else_is_found_from_outside() -> None:
    lines = succeed("nm", "-D", "--defined-only", library_path()).splitlines()
    names = {line.split()[-1] for line in lines}
    assert {name for name in names if not name.startswith("gatherscatter_")} <= {"RegisterCustomOps"}
    assert "gatherscatter_plan_run" in names


def test_programs_of_version_1_are_served() -> None:
    operation = c.Operation()
    ctypes.memset(ctypes.byref(operation), 0x55, ctypes.sizeof(operation))
    c.load().gatherscatter_operation_init(ctypes.byref(operation), c.FIRST_OPERATION_SIZE, 0)
    assert set(bytes(operation)[c.FIRST_OPERATION_SIZE :]) == {0x55}, "no more bytes are written"
    create(byref(operation), (c.Tensor * 2)(tensor(3), tensor(2, dtype=5)), 2)  # and no more are read
    operation.kernel = 7  # the new fields have their defaults
    tensors = [tensor(3, 256, dtype=17), tensor(2, dtype=5), tensor(3, 2)]
    create(byref(operation), (c.Tensor * 3)(*tensors), 3)
    for size in (c.FIRST_OPERATION_SIZE - 1, c.FIRST_OPERATION_SIZE + 4, ctypes.sizeof(operation) + 8):
        operation.struct_size = size
        with pytest.raises(ValueError, match=f"operation.struct_size is {size}, but must be "):
            create(byref(operation), (c.Tensor * 3)(*tensors), 3)


def test_operations_of_programs_with_shorter_structs_are_written_within_them() -> None:
    operation = c.Operation()
    ctypes.memset(ctypes.byref(operation), 0x55, ctypes.sizeof(operation))
    c.load().gatherscatter_operation_init(ctypes.byref(operation), 16, 0)
    content = bytes(operation)
    assert (operation.struct_size, operation.kernel) == (16, 0)
    assert set(content[16:]) == {0x55}


def test_rows_without_elements_take_no_memory_for_their_bags() -> None:
    def reduce(last_index: int, last_id: int) -> np.ndarray:
        indices, ids = ints(0, last_index), ints(1, last_id)
        return c.call("gather_reduce", np.empty((5, 0), F32), indices, None, ids, num_segments=2**41)

    assert reduce(4, 2**40).shape == (2**41, 0)
    with pytest.raises(IndexError, match=r"segment_ids\[1\]"):
        reduce(4, 2**41)
    with pytest.raises(IndexError, match=r"indices\[1\]"):
        reduce(5, 2)

"""Every example that the vendors' specifications of these operators print, with explicit numbers.

ONNX ScatterND 11/13/16/18 (Chinese page and English page with node tests), ONNX GatherElements 11/13,
OpenVINO ScatterUpdate-3 and OpenVINO GatherND-8.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gatherscatter as gs

SCATTER_ND = (11, 13, 16, 18)


def equal(result: np.ndarray, expected: Any, dtype: Any) -> None:
    expected = np.array(expected, dtype)
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    assert result.tolist() == expected.tolist()


# ------------------------------------------------------------------------------------- ONNX ScatterND 11, 13, 16, 18

CUBE = [[[1, 2, 3, 4], [5, 6, 7, 8], [8, 7, 6, 5], [4, 3, 2, 1]],
        [[1, 2, 3, 4], [5, 6, 7, 8], [8, 7, 6, 5], [4, 3, 2, 1]],
        [[8, 7, 6, 5], [4, 3, 2, 1], [1, 2, 3, 4], [5, 6, 7, 8]],
        [[8, 7, 6, 5], [4, 3, 2, 1], [1, 2, 3, 4], [5, 6, 7, 8]]]  # fmt: skip
PLANES = [[[5, 5, 5, 5], [6, 6, 6, 6], [7, 7, 7, 7], [8, 8, 8, 8]],
          [[1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3], [4, 4, 4, 4]]]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.int64, np.float32])
@pytest.mark.parametrize("version", SCATTER_ND)
def test_scatter_nd_example_1(version, dtype):
    data = np.array([1, 2, 3, 4, 5, 6, 7, 8], dtype)
    indices = np.array([[4], [3], [1], [7]], np.int64)
    updates = np.array([9, 10, 11, 12], dtype)
    result = gs.onnx.ScatterND(data, indices, updates, opset=version)
    equal(result, [1, 11, 3, 10, 9, 6, 7, 12], dtype)


@pytest.mark.parametrize("dtype", [np.int64, np.float32])
@pytest.mark.parametrize("version", SCATTER_ND)
def test_scatter_nd_example_2(version, dtype):
    indices = np.array([[0], [2]], np.int64)
    result = gs.onnx.ScatterND(np.array(CUBE, dtype), indices, np.array(PLANES, dtype), opset=version)
    expected = [[[5, 5, 5, 5], [6, 6, 6, 6], [7, 7, 7, 7], [8, 8, 8, 8]],
                [[1, 2, 3, 4], [5, 6, 7, 8], [8, 7, 6, 5], [4, 3, 2, 1]],
                [[1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3], [4, 4, 4, 4]],
                [[8, 7, 6, 5], [4, 3, 2, 1], [1, 2, 3, 4], [5, 6, 7, 8]]]  # fmt: skip
    equal(result, expected, dtype)


REDUCED = {
    "add": [[7, 8, 9, 10], [13, 14, 15, 16], [18, 17, 16, 15], [16, 15, 14, 13]],
    "mul": [[5, 10, 15, 20], [60, 72, 84, 96], [168, 147, 126, 105], [128, 96, 64, 32]],
    "max": [[5, 5, 5, 5], [6, 6, 7, 8], [8, 7, 7, 7], [8, 8, 8, 8]],
    "min": [[1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3], [4, 3, 2, 1]],
}


@pytest.mark.parametrize(
    ("version", "reduction"),
    [(16, "add"), (16, "mul"), (18, "add"), (18, "mul"), (18, "max"), (18, "min")],
)
def test_scatter_nd_reductions_of_two_planes_into_one(version, reduction):
    indices = np.array([[0], [0]], np.int64)
    result = gs.onnx.ScatterND(
        np.array(CUBE, np.float32), indices, np.array(PLANES, np.float32), reduction=reduction, opset=version
    )
    equal(result, [REDUCED[reduction], *CUBE[1:]], np.float32)


@pytest.mark.parametrize("version", [16, 18])
def test_scatter_nd_default_reduction_is_none(version):
    """`reduction` is 'none' by default, and negative indices count from the end."""
    data, indices = np.array([1.0, 2.0, 3.0], np.float32), np.array([[-1], [-3]], np.int64)
    result = gs.onnx.ScatterND(data, indices, np.array([8.0, 9.0], np.float32), opset=version)
    equal(result, [9, 2, 8], np.float32)
    explicit = gs.onnx.ScatterND(data, indices, np.array([8.0, 9.0], np.float32), reduction="none", opset=version)
    equal(explicit, [9, 2, 8], np.float32)


def test_scatter_nd_type_lists():
    """Version 13 added bfloat16."""
    assert "bfloat16" not in gs.op("onnx.ScatterND-11").element_types
    assert len(gs.op("onnx.ScatterND-11").element_types) == 15
    for version in (13, 16, 18):
        assert "bfloat16" in gs.op(f"onnx.ScatterND-{version}").element_types
        assert len(gs.op(f"onnx.ScatterND-{version}").element_types) == 16


# ---------------------------------------------------------------------------------------- ONNX GatherElements 11, 13


@pytest.mark.parametrize("dtype", [np.int64, np.float32])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("version", [11, 13])
def test_gather_elements_example_1(version, index, dtype):
    data = np.array([[1, 2], [3, 4]], dtype)
    indices = np.array([[0, 0], [1, 0]], index)
    equal(gs.onnx.GatherElements(data, indices, axis=1, opset=version), [[1, 1], [4, 3]], dtype)


@pytest.mark.parametrize("dtype", [np.int64, np.float32])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("version", [11, 13])
def test_gather_elements_example_2(version, index, dtype):
    data = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], dtype)
    indices = np.array([[1, 2, 0], [2, 0, 0]], index)
    expected = [[4, 8, 3], [7, 2, 3]]
    equal(gs.onnx.GatherElements(data, indices, axis=0, opset=version), expected, dtype)
    equal(gs.onnx.GatherElements(data, indices, opset=version), expected, dtype)  # the default axis
    equal(gs.onnx.GatherElements(data, indices, axis=-2, opset=version), expected, dtype)


@pytest.mark.parametrize("version", [11, 13])
def test_gather_elements_equations_in_three_dims(version):
    data = np.arange(24).reshape(2, 3, 4)
    for axis in range(3):
        indices = (data * 7 + 3) % data.shape[axis]
        result = gs.onnx.GatherElements(data, indices, axis=axis, opset=version)
        for i, j, k in np.ndindex(2, 3, 4):
            n = indices[i, j, k]
            source = ((n, j, k), (i, n, k), (i, j, n))[axis]
            assert result[i, j, k] == data[source]


# -------------------------------------------------------------------------------------------- OpenVINO ScatterUpdate-3


def test_scatter_update_example_1_shapes():
    """(1000, 256, 10, 15) with indices (125, 20) on axis 1: 375 million updates, from a single repeated byte."""
    data = np.zeros((1000, 256, 10, 15), np.uint8)
    indices = (np.arange(2500, dtype=np.int64) % 250).reshape(125, 20)
    values = (np.arange(2500) // 10 + 1).astype(np.uint8).reshape(1, 125, 20, 1, 1)
    updates = np.broadcast_to(values, (1000, 125, 20, 10, 15))
    result = gs.openvino.ScatterUpdate(data, indices, updates, np.array([1]), opset=3)
    assert result.shape == (1000, 256, 10, 15)
    last = np.zeros(256, np.uint8)
    last[:250] = [(n // 10 + 1) % 256 for n in range(2250, 2500)]  # the last of the ten writes to each slice
    assert (result == last[None, :, None, None]).all()
    assert not data.any()


@pytest.mark.parametrize("axis", [[1], 1, -1, [-1]])
def test_scatter_update_example_2(axis):
    data = np.array([[-1, 1, -1, 3, 4], [-1, 6, -1, 8, 9], [-1, 11, 1, 13, 14]], np.float32)
    updates = np.array([[1, 1], [1, 1], [1, 2]], np.float32)
    result = gs.openvino.ScatterUpdate(data, np.array([0, 2]), updates, np.array(axis), opset=3)
    equal(result, [[1, 1, 1, 3, 4], [1, 6, 1, 8, 9], [1, 11, 2, 13, 14]], np.float32)


def test_scatter_update_equations_for_axis_0():
    data = np.zeros((4, 2), np.float32)
    scatter = gs.openvino.ScatterUpdate
    equal(scatter(data, np.array(2), np.array([5, 6], np.float32), 0), [[0, 0], [0, 0], [5, 6], [0, 0]], np.float32)
    updates = np.array([[1, 2], [3, 4]], np.float32)
    equal(scatter(data, np.array([3, 0]), updates, 0), [[3, 4], [0, 0], [0, 0], [1, 2]], np.float32)
    updates = np.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], np.float32)
    result = scatter(data, np.array([[3, 0], [1, 2]]), updates, 0)
    equal(result, [[3, 4], [5, 6], [7, 8], [1, 2]], np.float32)


# -------------------------------------------------------------------------------------------------- OpenVINO GatherND-8


@pytest.mark.parametrize("index", [np.int32, np.int64, np.uint8, np.uint64])
@pytest.mark.parametrize(("data", "indices", "batch_dims", "expected"), [
    pytest.param([[1, 2], [3, 4]], [[0, 0], [1, 0]], 0, [1, 3], id="example 1"),
    pytest.param([[1, 2], [3, 4]], [[1], [0]], 0, [[3, 4], [1, 2]], id="example 2"),
    pytest.param([[1, 2], [3, 4]], [[[1]], [[0]]], 0, [[[3, 4]], [[1, 2]]], id="example 3"),
    pytest.param([[1, 2], [3, 4]], [[1], [0]], 1, [2, 3], id="example 4"),
    pytest.param(
        [[[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]], [[13, 14, 15, 16], [17, 18, 19, 20], [21, 22, 23, 24]]],
        [[1], [0]], 1, [[5, 6, 7, 8], [13, 14, 15, 16]], id="example 5"),
    pytest.param(
        [[[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]], [[13, 14, 15, 16], [17, 18, 19, 20], [21, 22, 23, 24]]],
        [[[[1]], [[0]], [[2]]], [[[0]], [[2]], [[2]]]], 2, [[[2], [5], [11]], [[13], [19], [23]]], id="example 6"),
    pytest.param(
        [[[[1, 2, 3, 4], [5, 6, 7, 8]], [[9, 10, 11, 12], [13, 14, 15, 16]]]],
        [[[[1], [0]], [[3], [2]]]], 3, [[[2, 5], [12, 15]]], id="example 7"),
])  # fmt: skip
def test_gather_nd_examples(data, indices, batch_dims, expected, index):
    result = gs.openvino.GatherND(np.array(data), np.array(indices, index), batch_dims=batch_dims, opset=8)
    equal(result, expected, np.int64)


@pytest.mark.parametrize(("data", "indices", "batch_dims", "expected"), [
    ((1000, 256, 10, 15), (25, 125, 3), 0, (25, 125, 15)),
    ((30, 2, 100, 35), (30, 2, 3, 1), 2, (30, 2, 3, 35)),
    ((1, 64, 64, 320), (1, 64, 64, 1, 1), 3, (1, 64, 64, 1)),
])  # fmt: skip
def test_gather_nd_xml_examples(data, indices, batch_dims, expected):
    array = (np.arange(np.prod(data)) % 251).astype(np.uint8).reshape(data)
    limits = data[batch_dims : batch_dims + indices[-1]]
    ramp = np.arange(np.prod(indices[:-1])).reshape(indices[:-1])
    tuples = np.stack([(ramp * (j + 7)) % limit for j, limit in enumerate(limits)], axis=-1)
    assert tuples.shape == indices
    result = gs.openvino.GatherND(array, tuples, batch_dims=batch_dims, opset=8)
    assert result.shape == expected
    for p in list(np.ndindex(indices[:-1]))[::37]:
        assert (result[p] == array[p[:batch_dims] + tuple(tuples[p])]).all()

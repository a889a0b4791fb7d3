"""An op version keeps the calls that it has checked. A later call with equal types has the same result or error."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter import specs
from gatherscatter.errors import OpError, OpTypeError, OpValueError
from gatherscatter.specs import calls

DATA, ROWS = np.arange(12.0).reshape(4, 3), np.array([2, 0])
# A call of each kernel, and of each special rule of a version.
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("onnx.Gather", (DATA, ROWS), {"axis": -2}),
    ("onnx.GatherElements", (DATA, ROWS[:, np.newaxis]), {}),
    ("onnx.GatherND", (DATA, ROWS[:, np.newaxis]), {}),
    ("onnx.ScatterElements", (DATA, ROWS[:, np.newaxis], DATA[:2, :1]), {"reduction": "max"}),
    ("onnx.ScatterND", (DATA, ROWS[:, np.newaxis], DATA[:2]), {"reduction": "add"}),
    ("onnx.TensorScatter", (DATA[:, :, np.newaxis], DATA[:, :1, np.newaxis], np.array([0, 1, 2, 0])), {}),
    ("openvino.Gather", (DATA, ROWS, np.array(0)), {}),
    ("openvino.GatherElements", (DATA[:2], np.array([[1, 0, 1], [0, 0, 1]])), {"axis": 0}),
    ("openvino.GatherND-5", (DATA, ROWS[:, np.newaxis]), {}),
    ("openvino.GatherTree", (np.ones((2, 1, 1)), np.zeros((2, 1, 1)), np.ones(1), np.array(1.0)), {}),
    ("openvino.ScatterUpdate", (DATA, ROWS, DATA[:2], np.array(0)), {}),
    ("openvino.ScatterElementsUpdate", (DATA, ROWS[:, np.newaxis], DATA[:2, :1], np.array(0)), {"reduction": "sum"}),
    ("openvino.ScatterNDUpdate", (DATA, np.array([1, 1]), np.array([[5.0]])), {}),
    ("openvino.EmbeddingBagPacked", (DATA, ROWS[np.newaxis]), {}),
    ("openvino.EmbeddingBagOffsets", (DATA, ROWS, np.array([0, 2]), np.array(-1), np.ones(2)), {}),
    ("openvino.EmbeddingSegmentsSum", (DATA, ROWS, np.array([0, 2]), np.array(3)), {}),
    ("openvino.SegmentMax", (DATA, np.array([0, 0, 1, 4])), {"fill_mode": "LOWEST"}),
]


@pytest.mark.parametrize("name", [name for name, _, _ in CALLS])
def test_the_second_call(name: str) -> None:
    ((_, inputs, attributes),) = (each for each in CALLS if each[0] == name)
    row = gs.op(name)
    calls._known_calls.clear()
    first = row(*inputs, **attributes)
    assert len(calls._known_calls) == 1
    again = row(*inputs, **attributes)
    assert len(calls._known_calls) == 1
    assert (again.dtype, again.shape, again.tobytes()) == (first.dtype, first.shape, first.tobytes())
    # An array of other bytes has another type. A masked array is refused, and a list is converted.
    swapped = [array.astype(array.dtype.newbyteorder()) for array in inputs]
    for _ in range(2):
        assert (row(*swapped, **attributes) == first).all()
    assert (row(*(array.tolist() for array in inputs), **attributes) == first).all()
    with pytest.raises(OpTypeError, match="masked array"):
        row(np.ma.array(inputs[0], mask=True), *inputs[1:], **attributes)


@pytest.mark.parametrize(
    ("attributes", "kind", "text"),
    [
        ({"axis": 1.0}, OpTypeError, "axis must be of type int, but has float|int"),
        ({"axis": np.array([1])}, OpError, "axis"),
        ({"axis": 7}, OpValueError, "axis 7"),
        ({"batch_dims": 1}, OpTypeError, "batch_dims"),
    ],
)
def test_errors_do_not_depend_on_earlier_calls(attributes: dict[str, Any], kind: type[Exception], text: str) -> None:
    """1.0 equals 1, but is not an integer."""
    for axis in (0, 1, True):
        gs.onnx.Gather(DATA, ROWS, axis=axis)
    for _ in range(2):
        with pytest.raises(kind, match=text):
            gs.onnx.Gather(DATA, ROWS, **attributes)


def test_opsets_types_and_values() -> None:
    for _ in range(2):
        assert gs.onnx.Gather(DATA, ROWS, opset=13).shape == gs.onnx.Gather(DATA, ROWS, opset=np.int64(11)).shape
        with pytest.raises(OpTypeError):
            gs.onnx.Gather(DATA, ROWS, opset=13.0)
        with pytest.raises(OpTypeError, match="int16"):
            gs.onnx.Gather(DATA, ROWS.astype(np.int16))
        with pytest.raises(IndexError, match=r"onnx.Gather-13: indices\[0\] = 9"):
            gs.onnx.Gather(DATA, np.array([9]))
        with pytest.raises(OpTypeError, match="must hold strings only"):
            gs.onnx.Gather(np.array(["a", 1], object), np.array([0]))
        assert gs.onnx.Gather(np.array(["a", "b"], object), np.array([1])).tolist() == ["b"]


def test_inputs_in_a_list_and_attributes_in_a_mapping() -> None:
    for _ in range(2):
        assert specs.call(gs.op("onnx.Gather"), [DATA, ROWS], {"axis": 0}).tolist() == DATA[ROWS].tolist()
        assert specs.call(gs.op("onnx.Gather"), (DATA, ROWS), MappingProxyType({})).tolist() == DATA[ROWS].tolist()


def test_threads_that_clear_the_memory() -> None:
    def call_often(worker: int) -> None:
        for n in range(300):
            axis = (n + worker) % 2
            assert np.array_equal(gs.onnx.Gather(DATA, ROWS, axis=axis), DATA.take(ROWS, axis))
            if n % 7 == worker:
                calls._known_calls.clear()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(call_often, range(4)))


def test_the_memory_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_MOST_KNOWN_CALLS", 3)
    calls._known_calls.clear()
    for axis in range(-2, 2):
        gs.onnx.Gather(DATA, ROWS, axis=axis)
    assert len(calls._known_calls) == 1

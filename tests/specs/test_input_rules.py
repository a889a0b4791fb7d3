"""Input checks above the core. Each case finds a deliberate fault that no other test found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.errors import OpTypeError, OpValueError
from tests.support.byte_order import swapped

F8 = np.dtype(ml_dtypes.float8_e4m3fn)
POINT = np.zeros(2, [("a", "i4"), ("b", "f4")])


OTHER = swapped("f4")


class Own(np.ndarray):
    """An array class from outside of the package."""


def set_first(data: np.ndarray, update: Any, **options: Any) -> np.ndarray:
    return gs.scatter_update(data, [0], update, **options)


def spec(name: str, *inputs: Any, **attributes: Any) -> np.ndarray:
    return gs.op(name)(*inputs, **attributes)


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: set_first(np.zeros(2, F8), np.array([1e6], "f4")), OpValueError,
     r"updates\[0\] = 1e\+06 does not fit in data of type float8"),
    (lambda: set_first(POINT, np.zeros(1, [("x", "i4"), ("y", "f4")])), OpTypeError, "can't be stored in data"),
    (lambda: set_first(np.zeros(2, "S3"), np.array([1], object)), OpTypeError, "can't be stored in data"),
    (lambda: set_first(np.zeros(2, "m8[s]"), np.array([3], "m8[Y]")), OpTypeError, "can't be stored in data"),
    (lambda: set_first(np.zeros(2, OTHER), np.zeros(1, OTHER), out=np.zeros(3, OTHER)), OpValueError,
     r"out has shape \(3,\)"),
    (lambda: gs.gather(np.array(["a", "b"]), [0], out=np.zeros((2, 1), "U1")), OpValueError, r"out has shape \(2, 1\)"),
    (lambda: spec("openvino.ScatterElementsUpdate-3", np.zeros((2, 3)), np.zeros((3, 1), int), np.zeros((3, 1)), -2),
     OpValueError, "indices must not be longer than data along axis 0"),
    (lambda: spec("onnx.ScatterND-18", np.array(["a"]), [[0]], np.array(["c"]), reduction="mul"), OpTypeError,
     "reduction 'mul' is not defined"),
    (lambda: spec("openvino.GatherTree-1", np.zeros((2, 1, 1)), np.zeros((2, 1, 1)), np.array([2.0])), OpTypeError,
     "takes the inputs step_ids, .*, but got 3"),
    (lambda: spec("onnx.Gather-13", np.zeros(2), [0], [0], [0]), OpTypeError,
     "takes the inputs data, indices, but got 4"),
    (lambda: spec("onnx.Gather-13", np.zeros(2)), OpTypeError, "takes the inputs data, indices, but got 1"),
    (lambda: spec("onnx.Gather-13", np.array([1, None], object), [0]), OpTypeError, "must hold strings only"),
    (lambda: spec("openvino.ScatterElementsUpdate-12", np.zeros(1), np.zeros(1, int), np.ones(1), 0, use_init_val=2),
     OpTypeError, "use_init_val must be of type bool"),
    (lambda: gs.gather_tree(np.zeros((2, 1, 1), "i4"), np.zeros((2, 1, 1), "i8"), np.array([2], "i4"), np.int32(0)),
     OpTypeError, "parent_ids must have the same type as step_ids"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_what_is_refused(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_what_is_taken() -> None:
    assert np.isnan(set_first(np.zeros(2, F8), np.array([np.nan], "f4"))[0])
    assert set_first(np.array([None, 1], object), np.array([5])).tolist() == [5, 1]
    assert set_first(POINT, np.array([(3, 2.0)], [("a", "i8"), ("b", "f4")])).tolist() == [(3, 2.0), (0, 0.0)]
    assert spec("onnx.Gather-13", np.array([b"x", "y"], object), [0]).tolist() == [b"x"]
    own = np.zeros(1).view(Own)
    assert gs.gather(np.arange(3.0), [1], out=own) is own
    assert own.tolist() == [1]


def test_openvino_adds_up_float32_in_float32() -> None:
    parts = np.array([2**24, 1, 1], np.float32)
    found = spec("openvino.ScatterElementsUpdate-12", np.zeros(1, "f4"), np.zeros(3, int), parts, 0, reduction="sum")
    assert found.tolist() == [2**24]

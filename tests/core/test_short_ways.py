"""Calls with numbers, lists and other common arguments. They take a short way, and its results are the same.

Each test makes the long way raise an error. The expected results come from NumPy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter import onnx, openvino
from gatherscatter.errors import OpTypeError, OpValueError
from gatherscatter.functions import array_functions, at
from gatherscatter.specs import calls

pytestmark = pytest.mark.skipif(
    not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="without the GIL, another thread could change a list"
)


def refuse(*arguments: Any, **keywords: Any) -> NoReturn:
    raise AssertionError("the long way was taken")


@pytest.fixture
def only_short_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_functions, "find_adapter", refuse)
    monkeypatch.setattr(at, "select", refuse)


def add_rows(data: np.ndarray, indices: Any, updates: Any) -> np.ndarray:
    result = data.copy()
    np.add.at(result, indices, updates)
    return result


X = np.arange(12.0, dtype=np.float32).reshape(4, 3)
ROWS = [2, 0, 2]
UPDATES = [[1, 2.5, 3], [4, 5, 6], [0.5, 8, 9]]
CALLS: dict[str, tuple[Callable[[], Any], Any]] = {
    "an int": (lambda: gs.gather(X, -1), X[-1]),
    "an integer of NumPy": (lambda: gs.gather(X, np.int16(3), 0), X[3]),
    "a list": (lambda: gs.gather(X, ROWS), X[ROWS]),
    "integers of NumPy in a list": (lambda: gs.gather(X, [np.int64(1), np.uint8(2)]), X[[1, 2]]),
    "a nested tuple": (lambda: gs.gather(X, ((1, 0), (2, 3)), 0), X[[[1, 0], [2, 3]]]),
    "data in a list": (lambda: gs.gather([[1.5, 2], [3, 4]], [1]), np.array([[3.0, 4.0]])),
    "truth values in a list": (lambda: gs.gather([True, False], [1, 0]), np.array([False, True])),
    "lists everywhere": (lambda: gs.gather_nd([[1, 2], [3, 4]], [[1, 0]]), np.array([3])),
    "elements of lists": (lambda: gs.gather_elements([[1, 2], [3, 4]], [[1, 0]], 0), np.array([[3, 2]])),
    "updates in a list": (
        lambda: gs.scatter_update(X, ROWS, UPDATES, reduction="add"),
        add_rows(X, ROWS, np.array(UPDATES, np.float32)),
    ),
    "updates in tuples": (
        lambda: gs.scatter_update(X, np.array([1]), ((7, 8, 9),)),
        np.concatenate([X[:1], [[7, 8, 9]], X[2:]]).astype(np.float32),
    ),
    "one number as updates": (lambda: gs.scatter_nd([1, 2, 3], [1], 9), np.array([1, 9, 3])),
    "a number of NumPy as updates": (lambda: gs.scatter_nd(X, [0, 0], np.float64(9)), add_rows(X, (0, 0), 9)),
    "integers for complex numbers": (lambda: gs.scatter_elements([1j, 2], [0], [3], 0), np.array([3, 2 + 0j])),
    "weights in a list": (
        lambda: gs.gather_reduce(X, [0, 1, 2], offsets=[0, 2], weights=[2, 0.5, 1]),
        np.stack([X[0] * 2 + X[1] / 2, X[2]]),
    ),
    "weights of another type": (
        lambda: gs.gather_reduce(X, [0, 1, 2], offsets=[0, 2], weights=np.array([2, 0.5, 1])),
        np.stack([X[0] * 2 + X[1] / 2, X[2]]),
    ),
    "integers as weights": (
        lambda: gs.gather_reduce(X, [3, 1], indptr=(0, 2), weights=np.array([3, 1], np.int8)),
        (X[3] * 3 + X[1])[np.newaxis],
    ),
    "at: an int": (lambda: gs.at(X)[2].get(), X[2]),
    "at: two ints": (lambda: gs.at(X)[-1, np.int8(1)].get(), X[-1, 1]),
    "at: an int of the last axis": (lambda: gs.at(X)[:, 1].get(), X[:, 1]),
    "at: a mask": (lambda: gs.at(X)[X > 4].get(), X[X > 4]),
    "at: a mask of rows": (lambda: gs.at(X)[X[:, 0] > 4].get(), X[X[:, 0] > 4]),
    "at: a mask in a list": (lambda: gs.at(X)[[True, False, True, False]].get(), X[[0, 2]]),
    "at: of truth values": (lambda: gs.at(X > 4)[[3, 0]].get(), (X > 4)[[3, 0]]),
    "at: add a number": (lambda: gs.at(X)[ROWS].add(1), add_rows(X, ROWS, 1)),
    "at: add a number to an element": (lambda: gs.at(X)[1, 2].add(0.5), add_rows(X, (1, 2), 0.5)),
    "at: add a row": (lambda: gs.at(X)[ROWS].add(np.array([1, 2, 3])), add_rows(X, ROWS, [1, 2, 3])),
    "at: set a mask": (lambda: gs.at(X)[X > 4].set(np.float64(0)), np.where(X > 4, np.float32(0), X)),
    "at: another type": (lambda: gs.at(X)[ROWS].add(np.array(UPDATES)), add_rows(X, ROWS, UPDATES)),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.usefixtures("only_short_ways")
def test_calls_that_take_the_short_way(name: str) -> None:
    call, expected = CALLS[name]
    result = call()
    assert type(result) is np.ndarray
    assert result.dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(result, expected, strict=result.ndim > 0)


LATER: dict[str, tuple[Callable[[], Any], Any]] = {
    "onnx: a list": (lambda: onnx.Gather(X, ROWS), X[ROWS]),
    "onnx: an int": (lambda: onnx.Gather(X, 1), X[1]),
    "openvino: an axis": (lambda: openvino.Gather(X, ROWS, 0), X[ROWS]),
    "openvino: lists": (lambda: openvino.ScatterUpdate([1, 2, 3], [0], [5], 0), np.array([5, 2, 3])),
    "openvino: another axis": (lambda: openvino.Gather(X, ROWS, -1), X[:, ROWS]),
}


@pytest.mark.parametrize("name", LATER)
def test_op_versions_remember_calls_with_numbers_and_lists(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call, expected = LATER[name]
    np.testing.assert_array_equal(call(), expected, strict=True)
    monkeypatch.setattr(calls, "_call", refuse)
    np.testing.assert_array_equal(call(), expected, strict=True)


MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a fraction": (lambda: gs.gather(X, [0.5]), OpTypeError, "indices must be integers"),
    "a fraction for integers": (lambda: gs.scatter_nd([1, 2], [0], 0.5), OpTypeError, "updates of type float64"),
    "a number that is too large": (
        lambda: gs.scatter_update(np.zeros(2, np.int8), [0, 1], [1, 300]),
        OpValueError,
        "updates[1] = 300 does not fit in data of type int8",
    ),
    "a weight that does not fit": (
        lambda: gs.gather_reduce(X.astype(np.int8), [0], indptr=[0, 1], weights=[1000], reduction="add"),
        OpValueError,
        "weights[0] = 1000 does not fit in data of type int8",
    ),
    "one list for each axis": (lambda: gs.gather_nd(X, ([0, 1], [1, 2])), OpTypeError, "a tuple of arrays"),
    "a list behind a tuple": (lambda: gs.gather_nd(X, ((0, 1), [1, 2])), OpTypeError, "a tuple of arrays"),
    "the same in an op version": (lambda: onnx.GatherND(X, ([0, 1], [1, 2])), OpTypeError, "a tuple of arrays"),
    "no data": (lambda: gs.gather_reduce(None, [0], offsets=[0], weights=[1.0]), OpTypeError, "data is missing"),
    "no data, but a default": (
        lambda: gs.gather_reduce(None, [0], offsets=[0], default=np.zeros(())),
        OpTypeError,
        "data is missing",
    ),
    "no data, but a result": (
        lambda: gs.gather_reduce(None, [0], offsets=[0], out=np.zeros((1, 2))),
        OpTypeError,
        "data is missing",
    ),
    "no data, but scales": (
        lambda: gs.gather_reduce(None, [0], offsets=np.array([0]), scales=np.ones((1, 1), np.float32)),
        OpTypeError,
        "data is missing",
    ),
    "at: a masked mask": (
        lambda: gs.at(X)[[np.ma.array([True, False, True], mask=[0, 1, 0])]].get(),
        TypeError,
        "whose mask would be lost",
    ),
    "at: masked indices": (
        lambda: gs.at(X)[[np.ma.array([0, 1], mask=[0, 1])]].get(),
        TypeError,
        "whose mask would be lost",
    ),
    "at: a mask of another shape": (lambda: gs.at(X)[[True]].get(), IndexError, "a mask of shape (1,)"),
    "at: an int out of range": (lambda: gs.at(X)[4].add(1), IndexError, "key[0] = 4 is out of range"),
    "at: a number that does not fit": (lambda: gs.at(np.zeros(2, np.int8))[0].set(300), OpValueError, "values = 300"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_explained(name: str) -> None:
    call, error, text = MISTAKES[name]
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)

"""Checks that the library agrees with the oracle: the same array, or the same class of error at the same position."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import gatherscatter as gs
from gatherscatter import oracle
from gatherscatter.operation import Form, Kernel
from gatherscatter_conformance.random_calls import RandomCall, change_layout

ERRORS = (TypeError, ValueError, IndexError)


def outcome(function: Callable, *inputs: Any, **keywords: Any) -> Any:
    """Return the result of a call, or the exception that it raises."""
    try:
        return function(*inputs, **keywords)
    except ERRORS as error:
        return error


def error_class(error: Exception) -> type:
    return next(cls for cls in ERRORS if isinstance(error, cls))


def check_error(error: Any, name: str, expected: Exception) -> None:
    """Check the class of an error, its op, and its first bad position in row-major order."""
    assert isinstance(error, Exception), f"expected {expected!r}, got\n{error}"
    assert error_class(error) is error_class(expected), error
    if isinstance(error, ValueError | IndexError):
        assert error.op == name
    if hasattr(expected, "position"):
        assert tuple(error.positions[0]) == expected.position


def content(array: np.ndarray) -> Any:
    if array is None:
        return None
    return array.tolist() if array.dtype.kind in "OT" else (array.dtype, array.strides, array.tobytes())


# ----------------------------------------------------------------------------------------------------- op versions


def run_version(name: str, *inputs: Any, **attributes: Any) -> np.ndarray:
    """Return the library's result. Scatter-11 warns that it is deprecated; test_rulings.py checks the warning (O24)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return gs.op(name)(*inputs, **attributes)


def check_version(name: str, inputs: list, attributes: dict) -> None:
    """Check a call of an op version. Its inputs must not change."""
    before = [content(array) for array in inputs]
    zero_sign = attributes.get("reduction", oracle.ROWS[name].fixed_reduction) not in ("min", "max")
    expected = outcome(oracle.call, name, *inputs, **attributes)
    result = outcome(run_version, name, *inputs, **attributes)
    if isinstance(expected, Exception):
        check_error(result, name, expected)
    elif isinstance(result, Exception):
        raise AssertionError(f"expected\n{expected}") from result
    else:
        like = inputs[2] if oracle.ROWS[name].kernel == "gather_quantized" else inputs[0]
        oracle.assert_same(result, expected, like, zero_sign)
        assert not any(np.shares_memory(result, array) for array in inputs if array is not None)
    assert [content(array) for array in inputs] == before


# ------------------------------------------------------------------------------------------------- array functions


def _compare(result: Any, expected: Any, name: str, inputs: list, keywords: dict) -> None:
    if isinstance(expected, Exception):
        check_error(result, name, expected)
    elif isinstance(result, Exception):
        raise AssertionError(f"expected\n{expected}") from result
    elif inputs[0].dtype.kind == "c" and keywords.get("reduction") == "mean":
        assert result.dtype == inputs[0].dtype  # NumPy decides how a complex number is divided
        np.testing.assert_allclose(result, expected, rtol=1e-6)
    else:
        oracle.assert_same(result, expected, inputs[0], keywords.get("reduction") not in ("min", "max"))


def check_array_call(kernel: str, call: RandomCall, num_threads: int | None = None) -> None:
    """Check a call of an array function."""
    inputs, keywords = call
    before = [content(array) for array in inputs]
    expected = outcome(oracle.array_call, kernel, *inputs, **keywords)
    result = outcome(getattr(gs, kernel), *inputs, **keywords, num_threads=num_threads)
    _compare(result, expected, kernel, inputs, keywords)
    assert [content(array) for array in inputs] == before


def check_tensor_scatter(call: RandomCall, mode: str) -> None:
    """Check a call of ``gs.tensor_scatter``."""
    (past, update, *write), keywords = call
    write = write[0] if write else None
    expected = outcome(oracle.tensor_scatter, past, update, write, keywords["axis"], mode)
    result = outcome(gs.tensor_scatter, past, update, write, **keywords, mode=mode)
    _compare(result, expected, "tensor_scatter", [past], keywords)


def check_gather_reduce(call: RandomCall, num_threads: int | None) -> None:
    """Check a call of ``gs.gather_reduce`` whose bags are legal."""
    (data, indices), keywords = call
    before = [content(data), content(indices)]
    expected = outcome(_gather_reduce_literally, data, indices, **keywords)
    result = outcome(gs.gather_reduce, data, indices, **keywords, num_threads=num_threads)
    _compare(result, expected, "gather_reduce", [data], keywords)
    assert [content(data), content(indices)] == before


def _gather_reduce_literally(data: Any, indices: Any, *, offsets: Any = None, segment_ids: Any = None,
                             num_segments: int = 0, weights: Any = None, reduction: str, default: Any = 0,
                             accumulate: str = "step", mode: str, negative: str) -> Any:  # fmt: skip
    """Return the oracle's form of a call: for each member its row, its bag and its weight."""
    rows = [int(index) for index in indices.reshape(-1)]
    shape = (num_segments,)
    if offsets is not None:
        shape = offsets.shape
        bag_of = [sum(int(offset) <= m for offset in offsets) - 1 for m in range(len(rows))]
    elif segment_ids is not None:
        bag_of = [int(each) for each in segment_ids]
    else:
        shape = indices.shape[:-1]
        bag_of = [m // indices.shape[-1] for m in range(len(rows))]
    oracle.check_reduction(reduction, oracle.element_type(data.dtype))
    if accumulate == "exact" and (data.dtype.kind == "c" or (reduction == "mul" and data.dtype.kind not in "biu")):
        raise TypeError(reduction)
    flat = None if weights is None else list(weights.reshape(-1))
    how = {"accumulate": accumulate, "mode": mode, "negative": negative}
    made = oracle.gather_reduce(data, rows, bag_of, math.prod(shape), flat, reduction, default=default, **how)
    return made.reshape(shape + data.shape[1:])


def check_out(kernel: str, call: RandomCall, layout: str, num_threads: int | None) -> None:
    """Check the call with an existing array as out: it gets the result, or does not change after an error."""
    inputs, keywords = call
    dtype = inputs[0].dtype  # byte order included
    expected = outcome(oracle.array_call, kernel, *inputs, **keywords)
    failed = isinstance(expected, Exception)
    shape = inputs[0].shape if failed else expected.shape
    out = change_layout(np.frombuffer(bytes([7]) * (math.prod(shape) * dtype.itemsize), dtype).reshape(shape), layout)
    out = out if out.flags.writeable and 0 not in out.strides else out.copy()
    before = content(out)
    result = outcome(getattr(gs, kernel), *inputs, **keywords, num_threads=num_threads, out=out)
    if failed:  # the shape of out may also be wrong, which is a different error
        assert isinstance(result, ERRORS), result
        assert content(out) == before
    else:
        assert result is out or isinstance(result, Exception)
        _compare(result, expected, kernel, inputs, keywords)


def check_in_place(kernel: str, call: RandomCall, num_threads: int | None) -> None:
    """Check a scatter into its own data."""
    (data, *rest), keywords = call
    expected = outcome(oracle.array_call, kernel, data, *rest, **keywords)
    target = data.copy() if 0 in data.strides or not data.flags.writeable else data
    before = content(target)
    result = outcome(getattr(gs, kernel), target, *rest, **keywords, num_threads=num_threads, out=target)
    _compare(result, expected, kernel, [target, *rest], keywords)
    assert result is target if not isinstance(expected, Exception) else content(target) == before


def check_prepared(kernel: str, call: RandomCall, num_threads: int | None) -> None:
    """Check that prepared indices give the same result."""
    (data, indices, *updates), keywords = call
    keywords = {key: value for key, value in keywords.items() if key not in ("mode", "negative", "batch_dims")}
    axis = None if Kernel(kernel).form == Form.TUPLES else keywords.pop("axis")
    expected = outcome(oracle.array_call, kernel, *call.inputs, **keywords, **({} if axis is None else {"axis": axis}))
    prepared = outcome(gs.prepare, indices, data.shape, axis=axis)
    if isinstance(prepared, Exception):
        assert isinstance(expected, ERRORS), expected
        return
    method = prepared.scatter if updates else prepared.gather
    result = outcome(method, data, *updates, **keywords, num_threads=num_threads)
    if isinstance(expected, Exception):
        assert isinstance(result, ERRORS), result
    else:
        _compare(result, expected, kernel, call.inputs, keywords)

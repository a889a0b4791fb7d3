"""Arrays in other layouts and types, and the simplest calls that do the same work without them.

A call must not be much slower than its arguments are converted first. Each conversion has a name, by which a workload
uses it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from benchmarks.workload import TUPLES, Workload

Arrays = dict[str, np.ndarray]  # data, indices and, for a scatter, updates


class Conversion(NamedTuple):
    """One array in another layout or type or as a list, or options of our call. Options have an empty name."""

    name: str  # "data", "indices", "updates" or ""
    give: Callable[[np.ndarray], np.ndarray]
    options: dict[str, Any]


def _space(array: np.ndarray) -> np.ndarray:
    """Every other element of a row of memory."""
    return np.repeat(array, 2, axis=-1)[..., ::2]


def _reverse(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.flip(array))[tuple(slice(None, None, -1) for _ in array.shape)]


def _transpose(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array.T).T


def _misalign(array: np.ndarray) -> np.ndarray:
    memory = np.empty(array.nbytes + 1, np.uint8)
    result = np.ndarray(array.shape, array.dtype, memory.data, 1)
    result[...] = array
    return result


def _swap(array: np.ndarray) -> np.ndarray:
    return array.astype(array.dtype.newbyteorder())


def _repeat_element(array: np.ndarray) -> np.ndarray:
    return as_strided(array, array.shape, (0,) * array.ndim)


def _repeat_rows(array: np.ndarray) -> np.ndarray:
    return as_strided(array, array.shape, (0, *array.strides[1:]))


def _repeat_columns(array: np.ndarray) -> np.ndarray:
    return as_strided(array, array.shape, (*array.strides[:-1], 0))


_LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "spaced": _space,
    "reversed": _reverse,
    "transposed": _transpose,
    "unaligned": _misalign,
    "swapped": _swap,
    "one-element": _repeat_element,
    "one-row": _repeat_rows,
    "one-column": _repeat_columns,
    "list": np.ndarray.tolist,
}
_OTHERS = ("batches", "prepared")  # ways to call instead of conversions


def conversion(given: str) -> Conversion:
    """Return the conversion of a name: "data spaced", "updates float32", "mode wrap", "batches", "prepared".

    >>> conversion("updates float32").give(np.zeros(2)).dtype
    dtype('float32')
    """
    name, _, how = given.partition(" ")
    if name in _OTHERS or name == "mode":
        return Conversion("", lambda array: array, {"mode": how} if name == "mode" else {})
    return Conversion(name, _LAYOUTS.get(how, lambda array: array.astype(how)), {})


def make_equal(given: str, arrays: Arrays) -> Arrays:
    """Return arrays whose values do not change if they are given in another layout or type, and converted back."""
    name, give, _ = conversion(given)
    return arrays | {name: np.array(give(arrays[name]), arrays[name].dtype, order="C")} if name else arrays


def make_calls(gs: Any, workload: Workload, arrays: Arrays) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Return our call, and the call that first converts its arguments, or the simplest other call for the same work."""
    name, give, own_options = conversion(workload.given)
    function = getattr(gs, workload.form)
    options: dict[str, Any] = {}
    if workload.form not in TUPLES:
        options["axis"] = workload.axis
    if not workload.is_gather:
        options["reduction"] = workload.reduction
    if workload.given == "batches":
        return _batches(gs, workload, arrays)
    if workload.given == "prepared":
        prepared = gs.prepare(arrays["indices"], workload.data[0], axis=0)
        prepared.sum(arrays["updates"])  # groups the indices
        return lambda: prepared.sum(arrays["updates"]), lambda: function(**arrays, **options)
    if not name:
        return lambda: function(**arrays, **options, **own_options), lambda: function(**arrays, **options)
    given, dtype = arrays | {name: give(arrays[name])}, arrays[name].dtype

    def convert_first() -> Any:
        converted = given | {name: np.ascontiguousarray(given[name], dtype)}
        return function(**converted, **options)

    return lambda: function(**given, **options), convert_first


def _batches(gs: Any, workload: Workload, arrays: Arrays) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The other call is a gather from all batches by row numbers."""
    data, indices = arrays["data"], arrays["indices"]
    batches, size = data.shape[:2]
    rows = data.reshape(batches * size, *data.shape[2:])

    def gather_rows() -> Any:
        numbers = (np.arange(batches)[:, np.newaxis] * size + indices[..., 0]).reshape(-1)
        return gs.gather(rows, numbers).reshape(workload.slots)

    return lambda: gs.gather_nd(data, indices, batch_dims=1), gather_rows

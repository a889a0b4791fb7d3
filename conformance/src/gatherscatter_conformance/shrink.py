"""Make calls that are one step smaller than a given one: without an entry, or without a dimension of size 1.

Hypothesis shrinks the choices that make a call. It rarely finds changes that several arrays need together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np

from gatherscatter.oracle import OracleRow
from gatherscatter_conformance.themes.draft import DraftedCall

InputAxis = tuple[int, int]  # number of the input, axis


def iterate_smaller_calls(row: OracleRow, call: DraftedCall) -> Iterator[DraftedCall]:
    """Yield candidates, the largest steps first. Many of them are not legal calls."""
    shapes = [
        () if array is None or name == "axis" else array.shape
        for name, array in zip(row.inputs, call.inputs, strict=True)
    ]
    yield from _without_tuple_index(row, call)
    for chosen in _find_matching_axes(shapes, lambda size: size == 1):
        dropped = _change_inputs(call, chosen, lambda array, axis: np.squeeze(array, axis))
        yield dropped
        yield from _with_axis_before(row, dropped)
    for chosen in _find_matching_axes(shapes, lambda size: size > 0):
        for entry in (-1, 0):
            yield _change_inputs(call, chosen, lambda array, axis, entry=entry: np.delete(array, entry, axis))


def _find_matching_axes(shapes: list[tuple[int, ...]], fits: Callable[[int], bool]) -> Iterator[tuple[InputAxis, ...]]:
    """Yield axes of the same size, one in each of up to three inputs. Those in more inputs come first."""
    axes = [(number, axis) for number, shape in enumerate(shapes) for axis in range(len(shape))]
    for count in (3, 2, 1):
        for chosen in combinations(axes, count):
            sizes = {shapes[number][axis] for number, axis in chosen}
            if len(sizes) == 1 and fits(*sizes) and len({number for number, _ in chosen}) == count:
                yield chosen


def _change_inputs(call: DraftedCall, chosen: tuple[InputAxis, ...], change: Any) -> DraftedCall:
    inputs = list(call.inputs)
    for number, axis in chosen:
        inputs[number] = change(inputs[number], axis)
    return call._replace(inputs=inputs)


def _with_axis_before(row: OracleRow, call: DraftedCall) -> Iterator[DraftedCall]:
    """Yield the call with the axis moved one position to the front."""
    if "axis" in row.inputs:
        position = row.inputs.index("axis")
        inputs = list(call.inputs)
        inputs[position] = np.asarray(inputs[position] - 1)  # type: ignore[operator]
        yield call._replace(inputs=inputs)
    elif "axis" in call.attributes:
        yield call._replace(attributes=call.attributes | {"axis": call.attributes["axis"] - 1})


def _without_tuple_index(row: OracleRow, call: DraftedCall) -> Iterator[DraftedCall]:
    """Yield the call with index tuples that are shorter by one, and data without this dimension."""
    data, indices = call.inputs[:2]
    if row.form != "tuples" or data is None or indices is None or not indices.ndim:
        return
    for j in range(min(indices.shape[-1], data.ndim)):
        if data.shape[j] == 1:
            inputs = [np.squeeze(data, j), np.delete(indices, j, -1), *call.inputs[2:]]
            yield call._replace(inputs=inputs)

"""Conditions on the shapes of inputs, on the axis and on batch dims."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from gatherscatter.operation import Kernel
from gatherscatter.specs.table import slots_shape
from gatherscatter_models.findings.nodes import BY_TUPLE, ELEMENTWISE, Count, NodeValues

LONG = 64  # from which on an axis is long


def long_axis(values: NodeValues) -> Count:
    sizes = values.indexed_sizes
    if sizes is None:
        return None
    if any(size is not None and size >= LONG for size in sizes):
        return 1
    return None if None in sizes else 0


def empty_axis(values: NodeValues) -> Count:
    """Whether there is an index into an axis of size 0.

    Unknown sizes count as not 0, because "out of range" also covers indices into an empty axis.
    """
    if 0 not in (values.indexed_sizes or ()):
        return 0
    return None if values.count is None else int(values.count > 0)


def empty_indices(values: NodeValues) -> Count:
    if values.count is None:
        return None
    batch = _batch(values)
    return int(values.count == 0 and "indices" in values.types and (batch is None or 0 not in batch[1]))


def no_tuple(values: NodeValues) -> Count:
    if values.row.kernel not in BY_TUPLE or values.count == 0 or 0 in (values.shapes.get("data") or ()):
        return 0
    return None if values.k is None else int(values.k == 0)


def scalar_indices(values: NodeValues) -> Count:
    shape = values.shapes.get("indices")
    if "indices" not in values.types:
        return 0
    return None if shape is None else int(shape == ())


def several_axes(values: NodeValues) -> Count:
    if "axis" not in values.types:
        return 0
    return int(np.size(values.arrays["axis"]) > 1) if "axis" in values.arrays else None


def narrow_index_type(values: NodeValues) -> Count:
    """Whether the type of the indices is too narrow for the size of an axis."""
    name, sizes = values.types.get("indices", "int64"), values.indexed_sizes
    if name in ("int64", "uint64"):
        return 0
    if name is None or sizes is None or None in sizes:
        return None
    return sum(size is not None and size > np.iinfo(name).max for size in sizes)


def _off_axis(values: NodeValues, fulfils: Callable[[int, int], bool]) -> Count:
    data, indices = values.shapes.get("data"), values.shapes.get("indices")
    if values.row.kernel not in ELEMENTWISE:
        return 0
    if data is None or indices is None or values.axis is None or len(data) != len(indices):
        return 0 if data is not None and len(data) == 1 else None
    pairs = [pair for axis, pair in enumerate(zip(indices, data, strict=True)) if axis != values.axis]
    if any(mine is not None and whole is not None and fulfils(mine, whole) for mine, whole in pairs):
        return 1
    return None if any(None in pair for pair in pairs) else 0


def shorter_indices(values: NodeValues) -> Count:
    return _off_axis(values, lambda mine, whole: mine < whole)


def longer_indices(values: NodeValues) -> Count:
    return _off_axis(values, lambda mine, whole: mine > whole)


def longer_along_axis(values: NodeValues) -> Count:
    data, indices = values.shapes.get("data"), values.shapes.get("indices")
    if values.row.kernel not in ELEMENTWISE:
        return 0
    if data is None or indices is None or values.axis is None or len(data) != len(indices):
        return None
    mine, whole = indices[values.axis], data[values.axis]
    return None if mine is None or whole is None else int(mine > whole)


def updates_shape(values: NodeValues) -> Count:
    """Whether updates have another shape than the specification demands."""
    data, indices, updates = (values.shapes.get(role) for role in ("data", "indices", "updates"))
    if not values.row.kernel.is_scatter:
        return 0
    if data is None or indices is None or updates is None:
        return None
    needed = {"scatter_elements": 0, "scatter_update": values.axis}.get(values.row.kernel, values.k)
    if needed is None:
        return None
    return _differ(updates, slots_shape(values.row.kernel, data, indices, values.axis or 0, 0))


def _differ(one: tuple[int | None, ...], other: tuple[int | None, ...]) -> Count:
    if len(one) != len(other):
        return 1
    if any(None not in pair and pair[0] != pair[1] for pair in zip(one, other, strict=True)):
        return 1
    return None if None in one or None in other else 0


def _batch(values: NodeValues) -> tuple[tuple[int | None, ...], tuple[int | None, ...]] | None:
    """The batch dims of data and of the indices; None where unknown."""
    data, indices, batch = (
        values.shapes.get("data"),
        values.shapes.get("indices"),
        values.attributes.get("batch_dims", 0),
    )
    if batch == 0:
        return (), ()
    if data is None or indices is None:
        return None
    batch += len(indices) if batch < 0 else 0
    return data[:batch], indices[:batch]


def batch_dims_differ(values: NodeValues) -> Count:
    batch = _batch(values)
    return None if batch is None else _differ(*batch)


def all_batch_dims(values: NodeValues) -> Count:
    if values.row.kernel != Kernel.GATHER_ND or values.attributes.get("batch_dims", 0) == 0:
        return 0
    if values.rank is None or values.k is None:
        return None
    return int(values.attributes["batch_dims"] == values.rank and values.k == 0)


def empty_batch(values: NodeValues) -> Count:
    batch = _batch(values)
    if batch is None:
        return None
    dims = [*batch[0], *batch[1]]
    return 1 if 0 in dims else None if None in dims else 0


def low_batch_dims(values: NodeValues) -> Count:
    batch = values.attributes.get("batch_dims", 0)
    if values.row.kernel != Kernel.GATHER or batch >= 0:
        return 0
    data, indices = values.shapes.get("data"), values.shapes.get("indices")
    return None if data is None or indices is None else int(batch < -min(len(data), len(indices)))


def slices(values: NodeValues) -> Count:
    """Whether there are indices, and each of them names several elements of data.

    Dimensions before the axis count only in a scatter_update.
    """
    if values.row.kernel in ELEMENTWISE or "data" not in values.types or values.count == 0:
        return 0
    rest = values.slice_shape
    if rest is None:
        return None
    if 0 in rest:
        return 0
    return 1 if any(size is not None and size > 1 for size in rest) else None if None in rest else 0


def divisible(values: NodeValues) -> Count:
    """Whether a scatter has several index tuples, or several lanes: threads can divide these."""
    if values.row.kernel == Kernel.SCATTER_ND:
        return None if values.count is None else int(values.count > 1)
    if values.row.kernel != Kernel.SCATTER_ELEMENTS:
        return 0
    shape, axis = values.shapes.get("updates"), values.axis
    if shape is None or (axis is None and len(shape) != 1):
        return None
    off = [size for position, size in enumerate(shape) if position != axis] if len(shape) > 1 else []
    return None if None in off and 0 not in off else int(math.prod(size or 0 for size in off) > 1)


def empty_result(values: NodeValues) -> Count:
    """Whether the result has no elements, though indices has some."""
    data, indices = values.shapes.get(values.row.inputs[0].name), values.shapes.get("indices")
    if values.row.kernel in (Kernel.GATHER_ELEMENTS, Kernel.GATHER_TREE) or "indices" not in values.types:
        return 0
    if data is None or (values.row.kernel == Kernel.GATHER and values.axis is None):
        return None
    if values.row.kernel == Kernel.GATHER and values.axis is not None:
        data = data[: values.axis] + data[values.axis + 1 :]
    elif values.row.kernel == Kernel.GATHER_REDUCE:
        data = data[1:]
    elif values.row.kernel == Kernel.GATHER_ND:
        if values.k is None:
            return None
        data = data[values.attributes.get("batch_dims", 0) + values.k :]
    if (0 not in data and None not in data) or 0 in (indices or ()):
        return 0
    return 1 if 0 in data and indices is not None and None not in indices else None

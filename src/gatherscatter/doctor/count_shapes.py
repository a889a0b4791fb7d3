"""Conditions of shapes, types and attributes of a node: 1 where one holds, None where that can't be known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .values import BY_TUPLE, ELEMENTWISE, Count, Values

LONG = 64  # from which on an axis is long


def long_axis(values: Values) -> Count:
    sizes = values.indexed_sizes
    if sizes is None:
        return None
    if any(size is not None and size >= LONG for size in sizes):
        return 1
    return None if None in sizes else 0


def _off_axis(values: Values, fulfils: Callable[[int, int], bool]) -> Count:
    data, indices = values.shapes.get("data"), values.shapes.get("indices")
    if values.row.kernel not in ELEMENTWISE:
        return 0
    if data is None or indices is None or values.axis is None or len(data) != len(indices):
        return 0 if data is not None and len(data) == 1 else None
    pairs = [pair for axis, pair in enumerate(zip(indices, data, strict=True)) if axis != values.axis]
    if any(mine is not None and whole is not None and fulfils(mine, whole) for mine, whole in pairs):
        return 1
    return None if any(None in pair for pair in pairs) else 0


def shorter_indices(values: Values) -> Count:
    return _off_axis(values, lambda mine, whole: mine < whole)


def longer_indices(values: Values) -> Count:
    return _off_axis(values, lambda mine, whole: mine > whole)


def longer_along_axis(values: Values) -> Count:
    data, indices = values.shapes.get("data"), values.shapes.get("indices")
    if values.row.kernel not in ELEMENTWISE:
        return 0
    if data is None or indices is None or values.axis is None or len(data) != len(indices):
        return None
    mine, whole = indices[values.axis], data[values.axis]
    return None if mine is None or whole is None else int(mine > whole)


def updates_shape(values: Values) -> Count:
    """Whether updates have another shape than the specification demands."""
    data, indices, updates = (values.shapes.get(role) for role in ("data", "indices", "updates"))
    if not values.row.kernel.startswith("scatter"):
        return 0
    if data is None or indices is None or updates is None:
        return None
    if values.row.kernel == "scatter_elements":
        wanted = indices
    elif values.row.kernel == "scatter_update":
        if values.axis is None:
            return None
        wanted = (*data[: values.axis], *indices, *data[values.axis + 1 :])
    elif values.k is None:
        return None
    else:
        wanted = (*indices[:-1], *data[values.k :])
    return _differ(updates, wanted)


def _differ(one: tuple[int | None, ...], other: tuple[int | None, ...]) -> Count:
    if len(one) != len(other):
        return 1
    if any(None not in pair and pair[0] != pair[1] for pair in zip(one, other, strict=True)):
        return 1
    return None if None in one or None in other else 0


def _batch(values: Values) -> tuple[tuple[int | None, ...], tuple[int | None, ...]] | None:
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


def batch_dims_differ(values: Values) -> Count:
    batch = _batch(values)
    return None if batch is None else _differ(*batch)


def empty_batch(values: Values) -> Count:
    batch = _batch(values)
    if batch is None:
        return None
    dims = [*batch[0], *batch[1]]
    return 1 if 0 in dims else None if None in dims else 0


def unknown_attribute(values: Values) -> Count:
    for known in values.row.attributes:
        if known.choices is not None:
            given = values.attributes.get(known.name)
            if given is None:
                return None
            if given not in known.choices:
                return 1
    return 0


def slices(values: Values) -> Count:
    """Whether an index names more than one element of data, counted from the axis on."""
    data = values.shapes.get("data")
    if values.row.kernel in ELEMENTWISE or "data" not in values.types:
        return 0
    if data is None or values.indexed_sizes is None:
        return None
    end = values.attributes.get("batch_dims", 0) + (values.k or 0)
    rest = data[end if values.row.kernel in BY_TUPLE else (values.axis or 0) + 1 :]
    if 0 in rest:
        return 0
    return 1 if any(size is not None and size > 1 for size in rest) else None if None in rest else 0


def malformed(values: Values) -> Count:
    """Whether an input is missing, or a type, the axis or batch_dims is none that the version has; what else is
    wrong shows when the model runs."""
    if any(not known.optional and known.name not in values.types for known in values.row.inputs):
        return 1
    if values.row.kernel == "gather_nd" and values.attributes.get("batch_dims", 0) < 0:
        return 1
    for known in values.row.inputs:
        name = values.types.get(known.name)
        allowed = {"data": values.row.element_types, "indices": values.row.index_types}.get(known.kind)
        if name is not None and allowed is not None and name not in allowed:
            return 1
    has_axis = "axis" in values.attributes or "axis" in values.arrays
    return int(has_axis and values.rank is not None and values.axis is None)


def empty_result(values: Values) -> Count:
    """Whether the result has no elements, though indices has some."""
    data, indices = values.shapes.get(values.row.inputs[0].name), values.shapes.get("indices")
    if values.row.kernel in ("gather_elements", "gather_tree") or "indices" not in values.types:
        return 0
    if data is None or (values.row.kernel == "gather" and values.axis is None):
        return None
    if values.row.kernel == "gather" and values.axis is not None:
        data = data[: values.axis] + data[values.axis + 1 :]
    elif values.row.kernel == "gather_nd":
        if values.k is None:
            return None
        data = data[values.attributes.get("batch_dims", 0) + values.k :]
    if (0 not in data and None not in data) or 0 in (indices or ()):
        return 0
    return 1 if 0 in data and indices is not None and None not in indices else None


def scalar_indices(values: Values) -> Count:
    shape = values.shapes.get("indices")
    if "indices" not in values.types:
        return 0
    return None if shape is None else int(shape == ())


def several_axes(values: Values) -> Count:
    if "axis" not in values.types:
        return 0
    return int(np.size(values.arrays["axis"]) > 1) if "axis" in values.arrays else None


def narrow_index_type(values: Values) -> Count:
    """Whether the type of the indices is too narrow for the size of an axis."""
    name, sizes = values.types.get("indices", "int64"), values.indexed_sizes
    if name in ("int64", "uint64"):
        return 0
    if name is None or sizes is None or None in sizes:
        return None
    return sum(size is not None and size > np.iinfo(name).max for size in sizes)

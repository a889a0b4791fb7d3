"""The conditions of findings, counted at a node: how many values fulfil one; None where that is unknown.

`gatherscatter.findings.catalog.CONDITIONS` says what each name means.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from ml_dtypes import iinfo

from gatherscatter.findings.nodes import BY_TUPLE, ELEMENTWISE, INDEX_ROLES, Count, NodeValues
from gatherscatter.specs.table import slots_shape


def repeated(values: NodeValues) -> Count:
    if not values.row.kernel.startswith("scatter") or (values.count is not None and values.count < 2):
        return 0
    if values.targets is None:
        return None
    return len(values.targets) - len(np.unique(values.targets))


def negative(values: NodeValues) -> Count:
    """Those that count from the end; where a size is unknown, all below zero are taken for such."""
    if "indices" in values.sizes:
        return 0
    return _count_index_values(values, lambda column, size: (column < 0) & (column >= -size), lambda column: column < 0)


def too_negative(values: NodeValues) -> Count:
    if "indices" in values.sizes:
        return 0
    return _count_index_values(values, lambda column, size: column < -size, None)


def out_of_range(values: NodeValues) -> Count:
    ends = 0 if values.row.index_range == "nonnegative" else -1
    return _count_index_values(values, lambda column, size: (column < ends * size) | (column >= size), None)


def _count_index_values(
    values: NodeValues,
    fulfils: Callable[[np.ndarray, int], np.ndarray],
    without_size: Callable[[np.ndarray], np.ndarray] | None,
) -> Count:
    """How many index values fulfil a test of their value and the size of their axis."""
    if values.count == 0 or not set(INDEX_ROLES).intersection(values.types):
        return 0
    if values.columns is None:
        return None
    total = 0
    sizes = values.indexed_sizes or [None] * values.columns.shape[1]
    for column, size in zip(values.columns.T, sizes, strict=False):
        wide = column.astype(object if column.dtype == np.uint64 else np.int64)
        if size is None and np.isin(wide, (-1, 0)).all():
            size = 1  # the ends of an axis of any size, if there is anything
        if size is None and without_size is None:
            return None
        fulfilled = without_size(wide) if size is None and without_size else fulfils(wide, size or 0)
        total += int(np.count_nonzero(fulfilled))
    return total


def wide_indices(values: NodeValues) -> Count:
    """Such indices are out of range of any axis that there is: where none is known, that one says enough."""
    if values.indices is None:
        return 0
    return int(np.count_nonzero((values.indices < -(2**31)) | (values.indices >= 2**31)))


def empty_indices(values: NodeValues) -> Count:
    if values.count is None:
        return None
    return int(values.count == 0 and "indices" in values.types)


def no_tuple(values: NodeValues) -> Count:
    if values.row.kernel not in BY_TUPLE:
        return 0
    return None if values.k is None else int(values.k == 0)


def empty_axis(values: NodeValues) -> Count:
    """An index into nothing is out of range, too: where no size is known to be 0, that one says enough."""
    if 0 not in (values.indexed_sizes or ()):
        return 0
    return None if values.count is None else int(values.count > 0)


def empty_slice(values: NodeValues) -> Count:
    """How many indices are out of range, where what an index names has no elements."""
    if values.row.kernel not in BY_TUPLE:
        return 0
    rest = values.slice_shape
    if rest is None:
        return None
    if 0 in rest:
        return out_of_range(values)
    return None if None in rest else 0


def computed_indices(values: NodeValues) -> Count:
    return int("indices" in values.types and "indices" not in values.constants)


WIDE = {"int64": np.int32, "uint64": np.uint32, "float64": np.float32}
FLOATS = ("float", "bfloat", "complex")


def wide_values(values: NodeValues) -> Count:
    """Infinities of float64 are among them: a runtime that narrows to 32 bits may make the largest number of them."""

    def wide(name: str, array: np.ndarray) -> np.ndarray:
        return np.asarray((array.astype(WIDE[name]) != array) | np.isinf(array))

    return _count_elements(values, lambda name: name in WIDE, wide, small=True)


def nan(values: NodeValues) -> Count:
    if not values.row.kernel.startswith("scatter"):
        return 0
    return _count_elements(values, lambda name: name.startswith(FLOATS), lambda name, array: array != array)


def infinite(values: NodeValues) -> Count:
    if not values.row.kernel.startswith("scatter"):
        return 0
    return _count_elements(values, lambda name: name.startswith(FLOATS), lambda name, array: np.isinf(array))


def _count_elements(
    values: NodeValues,
    concerns: Callable[[str], bool],
    fulfils: Callable[[str, np.ndarray], np.ndarray],
    *,
    small: bool = False,
) -> Count:
    """How many elements of data and updates fulfil a test; ``small``: sizes of arrays don't."""
    total = 0
    for known in values.row.inputs:
        if known.kind != "data" or known.name not in values.types:
            continue
        name = values.types[known.name]
        if name is None:
            return None
        if not concerns(name) or (small and known.name in values.sizes):
            continue
        if known.name not in values.arrays:
            return None
        with np.errstate(all="ignore"):
            found = fulfils(name, values.arrays[known.name])
            found &= values.arrays[known.name] == values.arrays[known.name] if small else True
        total += int(np.count_nonzero(found))
    return total


def _integer_means(values: NodeValues) -> list[tuple[int, int]] | None:
    """Sum and number of contributions of every mean of integers; None where unknown."""
    name = values.types.get("data")
    if values.reduction not in ("mean", None) or (name is not None and not name.startswith(("int", "uint"))):
        return []
    data, updates, targets = values.arrays.get("data"), values.arrays.get("updates"), values.targets
    if data is None or updates is None or targets is None or values.reduction is None or len(targets) != updates.size:
        return None
    assert values.axis is not None
    sums: dict[int, list[int]] = {}
    for target, update in zip(targets.tolist(), updates.ravel().tolist(), strict=True):
        entry = sums.setdefault(target, [0, 0])
        entry[0], entry[1] = entry[0] + update, entry[1] + 1
    if values.attributes.get("use_init_val", True):
        shape = values.arrays["indices"].shape
        lanes = [size for axis, size in enumerate(shape) if axis != values.axis]
        for target, entry in sums.items():
            at, lane = divmod(target, int(np.prod(lanes)))
            where = list(np.unravel_index(lane, lanes)) if lanes else []
            where.insert(values.axis, np.intp(at))
            entry[0], entry[1] = entry[0] + int(data[tuple(where)]), entry[1] + 1
    return [(total, count) for total, count in sums.values()]


def non_integral_mean(values: NodeValues) -> Count:
    means = _integer_means(values)
    return None if means is None else sum(total < 0 and total % count != 0 for total, count in means)


def overflowing_mean(values: NodeValues) -> Count:
    means = _integer_means(values)
    if not means:
        return None if means is None else 0
    limits = iinfo(values.arrays["data"].dtype)  # type: ignore[no-untyped-call]
    return sum(not limits.min <= total <= limits.max for total, _ in means)


def short_sequence(values: NodeValues) -> Count:
    if values.row.kernel != "gather_tree":
        return 0
    lengths = values.arrays.get("max_seq_len")
    return None if lengths is None else int(np.count_nonzero(lengths <= 0))


LONG = 64  # from which on an axis is long


def long_axis(values: NodeValues) -> Count:
    sizes = values.indexed_sizes
    if sizes is None:
        return None
    if any(size is not None and size >= LONG for size in sizes):
        return 1
    return None if None in sizes else 0


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
    if not values.row.kernel.startswith("scatter"):
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


def negative_batch_dims(values: NodeValues) -> Count:
    return int(values.attributes.get("batch_dims", 0) < -1)


def empty_batch(values: NodeValues) -> Count:
    batch = _batch(values)
    if batch is None:
        return None
    dims = [*batch[0], *batch[1]]
    return 1 if 0 in dims else None if None in dims else 0


def unknown_attribute(values: NodeValues) -> Count:
    for known in values.row.attributes:
        if known.choices is not None:
            given = values.attributes.get(known.name)
            if given is None:
                return None
            if given not in known.choices:
                return 1
    return 0


def slices(values: NodeValues) -> Count:
    """Whether an index names more than one element of data, counted from the axis on."""
    if values.row.kernel in ELEMENTWISE or "data" not in values.types:
        return 0
    rest = values.slice_shape
    if rest is None:
        return None
    if 0 in rest:
        return 0
    return 1 if any(size is not None and size > 1 for size in rest) else None if None in rest else 0


def malformed(values: NodeValues) -> Count:
    """Whether an input is missing, or a type, the axis or batch_dims is none that the version has; what else is
    wrong shows when the model runs."""
    if any(not known.optional and known.name not in values.types for known in values.row.inputs):
        return 1
    if values.row.kernel == "gather_nd" and values.attributes.get("batch_dims", 0) < 0:
        return 1
    for known in values.row.inputs:
        name = values.types.get(known.name)
        index_types = values.row.index_types
        allowed = {"data": values.row.element_types, "indices": index_types, "scalar": index_types}.get(known.kind)
        if name is not None and allowed is not None and name not in allowed:
            return 1
    has_axis = "axis" in values.attributes or "axis" in values.arrays
    return int(has_axis and values.rank is not None and values.axis is None)


def empty_result(values: NodeValues) -> Count:
    """Whether the result has no elements, though indices has some."""
    data, indices = values.shapes.get(values.row.inputs[0].name), values.shapes.get("indices")
    if values.row.kernel in ("gather_elements", "gather_tree") or "indices" not in values.types:
        return 0
    if data is None or (values.row.kernel == "gather" and values.axis is None):
        return None
    if values.row.kernel == "gather" and values.axis is not None:
        data = data[: values.axis] + data[values.axis + 1 :]
    elif values.row.kernel == "gather_reduce":
        data = data[1:]
    elif values.row.kernel == "gather_nd":
        if values.k is None:
            return None
        data = data[values.attributes.get("batch_dims", 0) + values.k :]
    if (0 not in data and None not in data) or 0 in (indices or ()):
        return 0
    return 1 if 0 in data and indices is not None and None not in indices else None


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


COUNTED: dict[str, Callable[[NodeValues], Count]] = {
    "always": lambda values: 1,
    "repeated": repeated,
    "negative": negative,
    "out of range": out_of_range,
    "too negative": too_negative,
    "wide values": wide_values,
    "wide indices": wide_indices,
    "empty indices": empty_indices,
    "empty result": empty_result,
    "k=0": no_tuple,
    "empty axis": empty_axis,
    "nan": nan,
    "infinite": infinite,
    "non-integral mean": non_integral_mean,
    "overflowing mean": overflowing_mean,
    "long axis": long_axis,
    "shorter indices": shorter_indices,
    "longer indices": longer_indices,
    "updates shape": updates_shape,
    "batch dims differ": batch_dims_differ,
    "negative batch dims": negative_batch_dims,
    "empty batch": empty_batch,
    "unknown attribute": unknown_attribute,
    "short sequence": short_sequence,
    "empty slice": empty_slice,
    "slices": slices,
    "malformed": malformed,
    "scalar indices": scalar_indices,
    "several axes": several_axes,
    "longer along axis": longer_along_axis,
    "narrow index type": narrow_index_type,
    "computed indices": computed_indices,
}

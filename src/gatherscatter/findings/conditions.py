"""The conditions of findings: a function for each counts the values at a node that meet it.

`gatherscatter.findings.catalog.CONDITIONS` describes each condition. A count is None if it can't be known before the
model runs. A node meets a condition on types, shapes or attributes if the count is positive.
"""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np

from gatherscatter.findings.nodes import BY_TUPLE, ELEMENTWISE, INDEX_ROLES, Count, NodeValues
from gatherscatter.specs.table import op, slots_shape

_ERRORS = (IndexError, TypeError, ValueError)  # of a call that the specification forbids


def repeated(values: NodeValues) -> Count:
    if not values.row.kernel.startswith("scatter") or (values.count is not None and values.count < 2):
        return 0
    if values.targets is None:
        return None
    return len(values.targets) - len(np.unique(values.targets))


def negative(values: NodeValues) -> Count:
    """Count the indices in [-size, -1]. If a size is unknown, count all negative indices of its axis."""
    if "indices" in values.sizes:
        return 0
    return _count_index_values(values, lambda column, size: (column < 0) & (column >= -size), lambda column: column < 0)


def too_negative(values: NodeValues) -> Count:
    if "indices" in values.sizes:
        return 0
    return _count_index_values(values, lambda column, size: _low_32_bits(column) < -size, None)


def _low_32_bits(column: np.ndarray) -> np.ndarray:
    return (column + 2**31) % 2**32 - 2**31


def out_of_range(values: NodeValues) -> Count:
    """Count the indices outside the range of the op version.

    A circular cache has none, because positions are taken modulo its length. In a GatherTree, only parents that are
    followed count.
    """
    if values.is_circular:
        return 0
    if values.row.kernel == "gather_tree":
        return _followed_parents_out_of_range(values)
    ends = 0 if values.row.index_range == "nonnegative" else -1
    return _count_index_values(values, lambda column, size: (column < ends * size) | (column >= size), None)


def _followed_parents_out_of_range(values: NodeValues) -> Count:
    """Count the bad parents that are followed: not in the first step, and not past the length of a sequence."""
    parents, lengths = values.indices, values.arrays.get("max_seq_len")
    if parents is None or lengths is None:
        return None
    steps = np.arange(len(parents))[:, None, None]
    followed = (steps > 0) & (steps < lengths.reshape(-1, 1))
    return int(np.count_nonzero(followed & ((parents < 0) | (parents >= parents.shape[2]))))


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
            size = 1  # -1 and 0 are in range of every axis that is not empty
        if size is None and without_size is None:
            return None
        fulfilled = without_size(wide) if size is None and without_size else fulfils(wide, size or 0)
        total += int(np.count_nonzero(fulfilled))
    return total


def wide_indices(values: NodeValues) -> Count:
    """Count the indices that do not fit 32 bits. The count of unknown indices is 0: "out of range" covers them."""
    if values.indices is None:
        return 0
    return int(np.count_nonzero((values.indices < -(2**31)) | (values.indices >= 2**31)))


def empty_indices(values: NodeValues) -> Count:
    if values.count is None:
        return None
    batch = _batch(values)
    return int(values.count == 0 and "indices" in values.types and (batch is None or 0 not in batch[1]))


def no_tuple(values: NodeValues) -> Count:
    if values.row.kernel not in BY_TUPLE or values.count == 0 or 0 in (values.shapes.get("data") or ()):
        return 0
    return None if values.k is None else int(values.k == 0)


def empty_axis(values: NodeValues) -> Count:
    """Whether there is an index into an axis of size 0.

    Unknown sizes count as not 0, because "out of range" also covers indices into an empty axis.
    """
    if 0 not in (values.indexed_sizes or ()):
        return 0
    return None if values.count is None else int(values.count > 0)


def empty_slice(values: NodeValues) -> Count:
    """Count the indices that are out of range if the slices of data that indices name have no elements."""
    if values.row.kernel not in (*BY_TUPLE, "scatter_update"):
        return 0
    rest = values.slice_shape
    if rest is None:
        return None
    if 0 in rest:
        return out_of_range(values)
    return None if None in rest else 0


def computed_indices(values: NodeValues) -> Count:
    return int("indices" in values.types and "indices" not in values.constants)


WIDE = ("int64", "uint64", "float64")
FLOATS = ("float", "bfloat", "complex")


def _to_32_bits(array: np.ndarray) -> np.ndarray:
    """Convert as OpenVINO does: integers to their lower 32 bits, infinities to the largest float32."""
    if array.dtype.kind in "iu":
        return array.astype(np.int32)
    largest = np.finfo(np.float32).max
    return np.asarray(np.clip(array, -largest, largest, dtype=array.dtype), np.float32)


def wide_values(values: NodeValues) -> Count:
    """Count the elements of the result that change if the call is computed in 32 bits.

    If the indices are unknown, count the elements of data and updates that change when they are converted to 32 bits.
    """
    inputs = [known.name for known in values.row.inputs if known.kind == "data" and known.name in values.types]
    types = {role: values.types[role] for role in inputs if role not in values.sizes}
    wide = [role for role, name in types.items() if name is None or name in WIDE]
    if not wide:
        return 0
    if any(types[role] is None or role not in values.arrays for role in wide):
        return None
    found = sum(_count_different(_to_32_bits(values.arrays[role]), values.arrays[role]) for role in wide)
    is_chosen = values.reduction in ("none", "min", "max") and values.attributes.get("fill_mode") != "LOWEST"
    if found == 0 and is_chosen:
        return 0  # every result is one of the inputs
    changes = _count_changes(values, _to_32_bits, convert_result=_to_32_bits)
    return found or None if changes is None else changes


def signed_order(values: NodeValues) -> Count:
    if values.reduction not in ("min", "max", None):
        return 0
    name = next(iter(values.types.values()), None)
    if name is not None and not name.startswith("uint"):
        return 0
    return None if None in (name, values.reduction) else _count_changes(values, lambda array: array.astype(np.int32))


def infinite_extreme(values: NodeValues) -> Count:
    """Count the results that change if infinite updates are replaced by the nearest finite number.

    For a minimum, infinity is replaced, and for a maximum, minus infinity.
    """
    if values.row.kernel != "scatter_elements" or values.reduction not in ("min", "max", None):
        return 0
    name = values.types.get("updates")
    if name is not None and not name.startswith(("float", "bfloat")):
        return 0
    if values.reduction is None or name is None or "updates" not in values.arrays:
        return None
    limits = ml_dtypes.finfo(values.arrays["updates"].dtype)  # type: ignore[no-untyped-call]
    start, choose = (limits.max, np.minimum) if values.reduction == "min" else (limits.min, np.maximum)
    return _count_changes(values, lambda array: choose(array, start), roles=("updates",))


def _count_changes(
    values: NodeValues,
    convert: Callable[[np.ndarray], np.ndarray],
    *,
    roles: tuple[str, ...] | None = None,
    convert_result: Callable[[np.ndarray], np.ndarray] = np.asarray,
) -> Count:
    """Count the elements of the result that change if some inputs are converted before the call.

    ``roles`` are these inputs; by default, they are data and updates. The count is None if an input is unknown, and 0
    if the call raises an error.
    """
    if any(role not in values.arrays for role in values.types):
        return None
    attributes = {known.name: values.attributes.get(known.name) for known in values.row.attributes}
    if None in attributes.values():
        return None
    inputs = [values.arrays.get(known.name) for known in values.row.inputs]
    converted = [
        convert(array) if array is not None and (known.name in roles if roles else known.kind == "data") else array
        for known, array in zip(values.row.inputs, inputs, strict=True)
    ]
    try:
        changed = convert_result(values.row(*converted, **attributes))
        return _count_different(changed, values.row(*inputs, **attributes))
    except _ERRORS:
        return 0


def _count_different(one: np.ndarray, other: np.ndarray) -> int:
    """How many elements differ; NaN is NaN."""
    same = (one.astype(other.dtype) == other) | ((one != one) & (other != other))
    return int(np.count_nonzero(~same))


def nan(values: NodeValues) -> Count:
    if not values.row.kernel.startswith("scatter"):
        return 0
    return _count_elements(values, lambda name: name.startswith(FLOATS), lambda array: array != array)


def _count_elements(
    values: NodeValues, concerns: Callable[[str], bool], fulfils: Callable[[np.ndarray], np.ndarray]
) -> Count:
    """How many elements of data and updates fulfil a test."""
    total = 0
    for known in values.row.inputs:
        if known.kind != "data" or known.name not in values.types:
            continue
        name = values.types[known.name]
        if name is None:
            return None
        if not concerns(name):
            continue
        if known.name not in values.arrays:
            return None
        total += int(np.count_nonzero(fulfils(values.arrays[known.name])))
    return total


def _written_places(values: NodeValues) -> np.ndarray | None:
    """Return the flat position in data to which each update is written. None: it is unknown, or an index is bad."""
    data, indices, updates = (values.arrays.get(role) for role in ("data", "indices", "updates"))
    if data is None or indices is None or updates is None or values.row.kernel not in (*ELEMENTWISE, "scatter_nd"):
        return None
    positions = np.arange(data.size).reshape(data.shape)
    try:
        if values.row.kernel == "scatter_nd":
            places = op("onnx.GatherND-13")(positions, indices.astype(np.int64))
        else:
            places = op("onnx.GatherElements-13")(positions, indices.astype(np.int64), axis=values.axis)
    except IndexError:
        return None
    return places.ravel() if places.size == updates.size else None


def _integer_means(values: NodeValues) -> list[tuple[int, int]] | None:
    """Sum and number of contributions of every mean of integers; None where unknown."""
    name = values.types.get("data")
    if values.reduction not in ("mean", None) or (name is not None and not name.startswith(("int", "uint"))):
        return []
    places = _written_places(values)
    if places is None or values.reduction is None:
        return None
    sums: dict[int, list[int]] = {}
    for place, update in zip(places.tolist(), values.arrays["updates"].ravel().tolist(), strict=True):
        entry = sums.setdefault(place, [0, 0])
        entry[0], entry[1] = entry[0] + int(update), entry[1] + 1
    if values.attributes.get("use_init_val", True):
        data = values.arrays["data"].ravel()
        for place, entry in sums.items():
            entry[0], entry[1] = entry[0] + int(data[place]), entry[1] + 1
    return [(total, count) for total, count in sums.values()]


def non_integral_mean(values: NodeValues) -> Count:
    means = _integer_means(values)
    return None if means is None else sum(total < 0 and total % count != 0 for total, count in means)


def overflowing_mean(values: NodeValues) -> Count:
    means = _integer_means(values)
    if not means:
        return None if means is None else 0
    limits = ml_dtypes.iinfo(values.arrays["data"].dtype)  # type: ignore[no-untyped-call]
    return sum(not limits.min <= total <= limits.max for total, _ in means)


_STEPS = {"add": np.add, "sub": np.subtract, "mul": np.multiply}
_FOLLOWED = 10_000  # the largest number of updates that are applied one by one


def bfloat16_rounding(values: NodeValues) -> Count:
    """Count the sums and products that change if bfloat16 is rounded in another way, as a runtime does.

    That runtime adds half a unit only if the last bit that is kept is 1, and then cuts off the lower bits.
    """
    name = values.types.get("data")
    if not values.row.kernel.startswith("scatter") or values.reduction not in (*_STEPS, None):
        return 0
    if name is not None and name != "bfloat16":
        return 0
    places = _written_places(values)
    if places is None or values.reduction is None or len(places) > _FOLLOWED:
        return None
    start = values.arrays["data"].astype(np.float32).ravel()
    right, other, step = start.copy(), start.copy(), _STEPS[values.reduction]
    with np.errstate(all="ignore"):
        for place, update in zip(places.tolist(), values.arrays["updates"].astype(np.float32).ravel(), strict=True):
            right[place] = step(right[place], update).astype(ml_dtypes.bfloat16)
            bits = step(other[place], update).view(np.uint32)
            other[place] = ((bits + ((bits & 0x10000) >> 1)) & 0xFFFF0000).view(np.float32)
    return _count_different(other, right)


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


def all_batch_dims(values: NodeValues) -> Count:
    if values.row.kernel != "gather_nd" or values.attributes.get("batch_dims", 0) == 0:
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


def extra_attribute(values: NodeValues) -> Count:
    return len(values.attributes.keys() - {known.name for known in values.row.attributes})


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


def index_type(values: NodeValues) -> Count:
    return _count_other_types(values, ("indices", "scalar"), values.row.index_types)


def element_type(values: NodeValues) -> Count:
    return _count_other_types(values, ("data",), values.row.element_types)


def _count_other_types(values: NodeValues, kinds: tuple[str, ...], allowed: tuple[str, ...]) -> Count:
    """How many inputs of these kinds have a type that the version doesn't list."""
    types = [values.types.get(known.name) for known in values.row.inputs if known.kind in kinds]
    return sum(name is not None and name not in allowed for name in types)


def malformed(values: NodeValues) -> Count:
    """Whether an input is missing, or the version does not allow a type, the axis or batch_dims.

    The run of the model finds all other faults.
    """
    if any(not known.optional and known.name not in values.types for known in values.row.inputs):
        return 1
    if values.row.kernel == "gather_nd" and values.attributes.get("batch_dims", 0) < 0:
        return 1
    if index_type(values) or element_type(values):
        return 1
    has_axis = "axis" in values.attributes or "axis" in values.arrays
    return int(has_axis and values.rank is not None and values.axis is None)


def low_batch_dims(values: NodeValues) -> Count:
    batch = values.attributes.get("batch_dims", 0)
    if values.row.kernel != "gather" or batch >= 0:
        return 0
    data, indices = values.shapes.get("data"), values.shapes.get("indices")
    return None if data is None or indices is None else int(batch < -min(len(data), len(indices)))


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


def byte_indices(values: NodeValues) -> Count:
    name = values.types.get("indices", "int64")
    return None if name is None else int(name in ("int8", "uint8"))


def empty_last_bag(values: NodeValues) -> Count:
    """Whether the last bag has no indices: it starts at their end, or no bag has any."""
    if values.row.kernel != "gather_reduce":
        return 0
    shape, offsets = values.shapes.get("indices"), values.arrays.get("offsets")
    if "offsets" in values.types:
        if shape is None or shape[0] is None or offsets is None:
            return None
        return int(offsets.size > 0 and offsets[-1] == shape[0])
    if "segment_ids" in values.types:
        return 0
    return None if shape is None or None in shape else int(shape[0] != 0 and shape[1] == 0)


def no_segments(values: NodeValues) -> Count:
    return _count_scalar(values, "num_segments", 0)


def no_default_row(values: NodeValues) -> Count:
    return _count_scalar(values, "default_index", -1)


def _count_scalar(values: NodeValues, role: str, wanted: int) -> Count:
    if role not in values.types:
        return 0
    return int(np.all(values.arrays[role] == wanted)) if role in values.arrays else None


def negative_segment(values: NodeValues) -> Count:
    if "segment_ids" not in values.types:
        return 0
    ids = values.arrays.get("segment_ids")
    return None if ids is None else int(np.count_nonzero(ids < 0))


def no_members(values: NodeValues) -> Count:
    if "segment_ids" not in values.types or "num_segments" not in values.types:
        return 0
    shape, without_segments = values.shapes.get("segment_ids"), no_segments(values)
    if shape is None or shape[0] is None:
        return None
    if shape[0] > 0 or without_segments == 1:
        return 0
    return 1 if without_segments == 0 else None


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
    "infinite extreme": infinite_extreme,
    "signed order": signed_order,
    "bfloat16 rounding": bfloat16_rounding,
    "non-integral mean": non_integral_mean,
    "overflowing mean": overflowing_mean,
    "long axis": long_axis,
    "shorter indices": shorter_indices,
    "longer indices": longer_indices,
    "updates shape": updates_shape,
    "batch dims differ": batch_dims_differ,
    "negative batch dims": negative_batch_dims,
    "all batch dims": all_batch_dims,
    "empty batch": empty_batch,
    "low batch dims": low_batch_dims,
    "unknown attribute": unknown_attribute,
    "extra attribute": extra_attribute,
    "short sequence": short_sequence,
    "empty slice": empty_slice,
    "slices": slices,
    "malformed": malformed,
    "index type": index_type,
    "element type": element_type,
    "empty last bag": empty_last_bag,
    "no segments": no_segments,
    "no members": no_members,
    "negative segment": negative_segment,
    "no default row": no_default_row,
    "scalar indices": scalar_indices,
    "several axes": several_axes,
    "longer along axis": longer_along_axis,
    "narrow index type": narrow_index_type,
    "8-bit indices": byte_indices,
    "computed indices": computed_indices,
}

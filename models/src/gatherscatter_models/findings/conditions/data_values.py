"""Conditions on the values of data and updates, and on the results of reductions."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np

from gatherscatter.operation import Kernel
from gatherscatter.specs.table import op
from gatherscatter_models.findings.nodes import ELEMENTWISE, Count, NodeValues

_ERRORS = (IndexError, TypeError, ValueError)  # of a call that the specification forbids
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
    if values.row.kernel != Kernel.SCATTER_ELEMENTS or values.reduction not in ("min", "max", None):
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
    if not values.row.kernel.is_scatter:
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


def _written_targets(values: NodeValues) -> np.ndarray | None:
    """Return the flat position in data to which each update is written. None: it is unknown, or an index is bad."""
    data, indices, updates = (values.arrays.get(role) for role in ("data", "indices", "updates"))
    if data is None or indices is None or updates is None or values.row.kernel not in (*ELEMENTWISE, "scatter_nd"):
        return None
    positions = np.arange(data.size).reshape(data.shape)
    try:
        if values.row.kernel == Kernel.SCATTER_ND:
            targets = op("onnx.GatherND-13")(positions, indices.astype(np.int64))
        else:
            targets = op("onnx.GatherElements-13")(positions, indices.astype(np.int64), axis=values.axis)
    except IndexError:
        return None
    return targets.ravel() if targets.size == updates.size else None


def _integer_means(values: NodeValues) -> list[tuple[int, int]] | None:
    """Sum and number of contributions of every mean of integers; None where unknown."""
    name = values.types.get("data")
    if values.reduction not in ("mean", None) or (name is not None and not name.startswith(("int", "uint"))):
        return []
    targets = _written_targets(values)
    if targets is None or values.reduction is None:
        return None
    sums: dict[int, list[int]] = {}
    for target, update in zip(targets.tolist(), values.arrays["updates"].ravel().tolist(), strict=True):
        entry = sums.setdefault(target, [0, 0])
        entry[0], entry[1] = entry[0] + int(update), entry[1] + 1
    if values.attributes.get("use_init_val", True):
        data = values.arrays["data"].ravel()
        for target, entry in sums.items():
            entry[0], entry[1] = entry[0] + int(data[target]), entry[1] + 1
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
    if not values.row.kernel.is_scatter or values.reduction not in (*_STEPS, None):
        return 0
    if name is not None and name != "bfloat16":
        return 0
    targets = _written_targets(values)
    if targets is None or values.reduction is None or len(targets) > _FOLLOWED:
        return None
    start = values.arrays["data"].astype(np.float32).ravel()
    right, other, step = start.copy(), start.copy(), _STEPS[values.reduction]
    with np.errstate(all="ignore"):
        for target, update in zip(targets.tolist(), values.arrays["updates"].astype(np.float32).ravel(), strict=True):
            right[target] = step(right[target], update).astype(ml_dtypes.bfloat16)
            bits = step(other[target], update).view(np.uint32)
            other[target] = ((bits + ((bits & 0x10000) >> 1)) & 0xFFFF0000).view(np.float32)
    return _count_different(other, right)

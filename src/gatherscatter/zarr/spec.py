"""Operator versions on stored arrays: exactly their types, attributes and ranges, as `gatherscatter.spec` has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gatherscatter import spec
from gatherscatter.errors import OpTypeError
from gatherscatter.versions import OpVersion
from gatherscatter.zarr.call import Call, Options, Stored, checked_call


def version_call(
    row: OpVersion, array: Stored, inputs: Sequence[np.ndarray | None], attributes: dict[str, Any]
) -> Call:
    """A checked call of an operator version: its first input is a stored array, the others are in memory.

    Raises
    ------
    TypeError, ValueError, IndexError
        What the version raises for data of that shape and type. Two kinds of versions can't be called: those that are
        no gathers or scatters by index, and those that give their result another shape in the end (GatherND-5).
    """
    if row.kernel in ("gather_tree", "tensor_scatter") or row.finish is not None:
        raise OpTypeError(f"{row.name} can't be applied to an array of Zarr", op=row.name, input=row.inputs[0].name)
    spec._check_attribute_names(row, attributes)
    probe = np.broadcast_to(np.zeros((), np.dtype(array.dtype)), array.shape)  # no memory
    arrays = spec._as_arrays(row, (probe, *inputs))
    spec._check_types(row, arrays)
    values = spec._values(row, attributes)
    axis = spec._axis_input(row, arrays.pop()) if row.inputs[-1].kind == "axis" else values.get("axis", 0)
    if row.prepare is not None and -array.ndim <= axis < array.ndim:
        arrays = list(row.prepare(row.name, tuple(arrays), axis % array.ndim))
    reduction = values.get("reduction", "none")
    reduction = spec.REDUCTIONS.get(reduction, reduction)
    spec._check_reduction(row, reduction, probe.dtype)
    return checked_call(
        row.name,
        row.kernel,
        array,
        *arrays[1:],
        axis=axis,
        batch_dims=values.get("batch_dims", 0),
        mode="fill" if row.index_range == "zeros" else "raise",
        negative=row.index_range != "nonnegative",
        options=Options(reduction, values.get("use_init_val", True), spec._own_way(row, probe)),
    )

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
    probe = np.broadcast_to(np.zeros((), np.dtype(array.dtype)), array.shape)  # no memory
    arrays, values = spec.checked_inputs(row, (probe, *inputs), attributes)
    arrays, how = spec.kernel_arguments(row, arrays, values)
    options = Options(*(how.pop(name) for name in ("reduction", "include_self", "accumulate")))
    return checked_call(row.name, row.kernel, array, *arrays[1:], options=options, **how)

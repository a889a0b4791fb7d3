"""What the recipes have in common: runtimes that do not implement the specification, but have something like it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gatherscatter.conformance.case import Case
from gatherscatter.conformance.runtimes.runtime import NotAskedError, row_of
from gatherscatter.spec import REDUCTIONS
from gatherscatter.versions import REQUIRED

# Index types that PyTorch and TensorFlow index with; the others are widened, as one would.
_COMMON_INDEX = ("int32", "int64")


@dataclass(frozen=True)
class Plan:
    """A call in the words that all recipes share. ``axis`` counts from the front where it is one of data's."""

    kernel: str
    axis: int
    batch_dims: int
    reduction: str
    include_self: bool
    mode: str
    rank: int  # of data

    def at(self, name: str) -> str:
        """``[:, :, name]``: the subscript that puts ``name`` on the axis, behind the batch dimensions."""
        if not self.batch_dims <= self.axis < self.rank:
            raise NotAskedError("a subscript can't be written for an axis that is not there")
        return f"[{':, ' * (self.axis - self.batch_dims)}{name}]"


def plan(case: Case, types: tuple[str, ...]) -> Plan:
    """The call in those words; what only a table of types and attributes could refuse is not asked."""
    row = row_of(case)
    if row.kernel == "gather_tree":
        raise NotAskedError("there is no beam search")
    if case.error == "TypeError" or case.kind == "attribute":
        raise NotAskedError("there is no table of types and attributes that a call could depart from")
    for each, array in zip(row.inputs, case.inputs, strict=False):
        if array is not None and each.kind == "data" and case.type not in types:
            raise NotAskedError(f"there is no {case.type}")
    values = {one.name: one.default for one in row.attributes if one.default is not REQUIRED} | case.attributes
    rank = case.inputs[0].ndim  # type: ignore[union-attr]
    axis = _axis(case, values)
    axis = axis + rank if -rank <= axis < 0 else axis
    if row.kernel == "tensor_scatter" and not 0 < axis < rank:
        raise NotAskedError("a subscript can't be written for an axis that is not there")
    batch_dims = _batch_dims(case, values.get("batch_dims", 0), axis)
    reduction = values.get("reduction", "none")
    return Plan(
        kernel=row.kernel,
        axis=axis,
        batch_dims=batch_dims,
        reduction=REDUCTIONS.get(reduction, reduction),
        include_self=values.get("use_init_val", True),
        mode=values.get("mode", "linear"),
        rank=rank,
    )


def widened(case: Case, line: str) -> str:
    """``line``, after which indices of an unusual type are int64."""
    given = dict(zip((each.name for each in row_of(case).inputs), case.inputs, strict=False))
    indices = given.get("indices")
    if indices is not None and indices.dtype == np.uint64:
        raise NotAskedError("there are no indices of uint64")
    return "" if indices is None or indices.dtype.name in _COMMON_INDEX else line


def fused(case: Case, how: Plan) -> str:
    """OpenVINO's GatherND-5 makes one dimension of all batch dimensions."""
    if case.op != "openvino.GatherND-5" or how.batch_dims < 2:
        return ""
    return f"got = got.reshape(int(np.prod(got.shape[:{how.batch_dims}])), *got.shape[{how.batch_dims}:])\n"


def _batch_dims(case: Case, batch_dims: int, axis: int) -> int:
    data, indices = case.inputs[0], case.inputs[1]
    assert data is not None
    rank = 0 if indices is None else indices.ndim
    number = batch_dims + rank if batch_dims < 0 and row_of(case).kernel == "gather" else batch_dims
    if not 0 <= number <= min(data.ndim, rank) or (row_of(case).kernel == "gather" and 0 < number > axis):
        raise NotAskedError("a call can't be written for batch dimensions that are not there")
    return number


def _axis(case: Case, values: dict[str, Any]) -> int:
    if row_of(case).inputs[-1].kind != "axis":
        return int(values.get("axis", 0))
    given = case.inputs[-1]
    if given is None or given.size != 1 or given.ndim > 1:
        raise NotAskedError("an axis is a number, not a tensor")
    return int(given.reshape(-1)[0])

"""Convert gather and scatter nodes of ONNX to OpenVINO layers with the same results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from gatherscatter.operation import Kernel
from gatherscatter.specs.table import OpVersion
from gatherscatter_models.interface import ModelError
from gatherscatter_models.openvino.conversion.ir_builder import IrBuilder, Operand
from gatherscatter_models.openvino.conversion.mapping import (
    REDUCTIONS_TO_OPENVINO,
    Shape,
    check_types,
    is_half,
    make_refusal,
    rank_of,
)
from gatherscatter_models.openvino.ir_write import Output

Attributes = Mapping[str, Any]


class FamilyInput(NamedTuple):
    """An input of a node: its tensor in the IR, and the facts known about it."""

    output: Output
    shape: Shape
    value: np.ndarray | None

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.output.element_type.dtype


def family_from_onnx(
    builder: IrBuilder, row: OpVersion, inputs: list[FamilyInput | None], attributes: Attributes, indices: str
) -> Output:
    """Return the result of the layers for one node. ``indices`` is that of `gatherscatter_models.openvino.convert`."""
    values = {attribute.name: attributes.get(attribute.name, attribute.default) for attribute in row.attributes}
    for known in row.attributes:
        if known.choices is not None and values[known.name] not in known.choices:
            raise ModelError(f"{known.name} must be one of {', '.join(map(repr, known.choices))}")
    given = [one for one in inputs if one is not None]
    if given[0].shape == ():
        raise ModelError(f"{row.inputs[0].name} must have at least one dim")
    reduction = values.get("reduction", "none")
    if given[0].dtype.kind == "O" and reduction == "add":
        raise make_refusal("OpenVINO does not concatenate strings")
    check_types(row, [one.dtype for one in given], reduction)
    if row.kernel == Kernel.TENSOR_SCATTER:
        return _tensor_scatter(builder, given, values)
    if is_half(given[0].dtype) and reduction in ("add", "mul"):
        raise make_refusal(
            f"ONNX rounds {given[0].dtype} after every step, OpenVINO once; cast data and updates to float32 around it"
        )
    return _RULES[row.kernel](builder, given, values, indices)


# ---------------------------------------------------------------------------------------------------------- gathers


def _gather(b: IrBuilder, inputs: list[FamilyInput], values: Attributes, known: str) -> Output:
    """Convert a Gather. For an index out of range, Gather-8 gives zeros, and Gather-7 an error.

    Gather-7 also gives an error for a negative index.
    """
    data, indices = inputs
    axis = values["axis"]
    if known != "any" or _all_valid(data, indices, axis):
        return b.layer("Gather", "opset8", [data.output, indices.output, np.int64(axis)], attributes={"batch_dims": 0})
    from_front = _count_from_front(b, data, indices, axis, known)
    return b.layer("Gather", "opset7", [data.output, from_front, np.int64(axis)], attributes={"batch_dims": 0})


def _all_valid(data: FamilyInput, indices: FamilyInput, axis: int) -> bool:
    """Whether constant indices are in range of an axis of known size."""
    size = _size(data, axis)
    return (
        indices.value is not None
        and size is not None
        and bool(np.all((indices.value >= -size) & (indices.value < size)))
    )


def _size(data: FamilyInput, axis: int) -> int | None:
    """Return the size of an axis; None if unknown."""
    if data.shape is None:
        return None
    if not -len(data.shape) <= axis < len(data.shape):
        raise ModelError(f"axis {axis} is out of range for data of rank {len(data.shape)}")
    return data.shape[axis]


def _count_from_front(b: IrBuilder, data: FamilyInput, indices: FamilyInput, axis: int, known: str) -> Output:
    """Add the size to negative indices. Indices out of range stay out of range."""
    size = _size(data, axis)
    if known == "nonnegative" or (indices.value is not None and not (indices.value < 0).any()):
        return indices.output
    if indices.value is not None and size is not None:
        value = indices.value
        return b.constant(np.where(value < 0, value + value.dtype.type(size), value))
    kind = indices.output.element_type
    length = b.shape(data.output, axis, kind.name)
    negative = b.compare("Less", indices.output, kind.dtype.type(0))
    counted = b.elementwise("Add", indices.output, length)
    return b.elementwise("Select", negative, counted, indices.output, like=1)


def _gather_elements(b: IrBuilder, inputs: list[FamilyInput], values: Attributes, known: str) -> Output:
    """Convert a GatherElements. Version 6 requires equal dims off the axis, so data is cut to the dims of indices."""
    data, indices = inputs
    axis = values["axis"]
    from_front = _count_from_front(b, data, indices, axis, known)
    rank = rank_of(data.shape if indices.shape is None else indices.shape, "indices")
    ours, theirs = ((None,) * rank if one.shape is None else one.shape for one in (data, indices))
    if rank == 0 or len(ours) != len(theirs):
        raise ModelError(f"data of rank {len(ours)} and indices of rank {len(theirs)}")
    axis %= rank
    cut = [d != axis and (ours[d] is None or ours[d] != theirs[d]) for d in range(rank)]
    source = _cut(b, data.output, b.shape(indices.output), cut) if any(cut) else data.output
    return b.layer("GatherElements", "opset6", [source, from_front], attributes={"axis": axis})


def _cut(b: IrBuilder, data: Output, sizes: Output, cut: list[bool]) -> Output:
    """Return the first ``sizes`` entries along some axes.

    OpenVINO 2026.4 removes a Slice before GatherElements, but not these layers.
    """
    start, step = np.zeros(len(cut), np.int64), np.ones(len(cut), np.int64)
    whole = [int(not one) for one in cut]
    masks: dict[str, object] = dict.fromkeys(("new_axis_mask", "shrink_axis_mask", "ellipsis_mask"), "")
    masks |= {"begin_mask": whole, "end_mask": whole}
    return b.layer("StridedSlice", "opset1", [data, start, sizes, step], attributes=masks)


def _gather_nd(b: IrBuilder, inputs: list[FamilyInput], values: Attributes, known: str) -> Output:
    attributes = {"batch_dims": values.get("batch_dims", 0)}
    return b.layer("GatherND", "opset8", [one.output for one in inputs], attributes=attributes)


# --------------------------------------------------------------------------------------------------------- scatters


def _scatter_elements(b: IrBuilder, inputs: list[FamilyInput], values: Attributes, known: str) -> Output:
    attributes = {"reduction": _reduction(values), "use_init_val": True}
    feeding: list[Operand] = [*(one.output for one in inputs), np.int64(values["axis"])]
    return b.layer("ScatterElementsUpdate", "opset12", feeding, attributes=attributes)


def _scatter_nd(b: IrBuilder, inputs: list[FamilyInput], values: Attributes, known: str) -> Output:
    data, indices, updates = inputs
    if data.dtype.kind == "O":
        raise make_refusal("OpenVINO's ScatterNDUpdate has no strings")
    if data.shape is not None and indices.shape == (len(data.shape),) and updates.shape not in (None, ()):
        raise ModelError("updates must have rank 0")  # OpenVINO accepts any tensor with one element (V13)
    attributes = {"reduction": _reduction(values)}
    return b.layer("ScatterNDUpdate", "opset15", [one.output for one in inputs], attributes=attributes)


def _reduction(values: Attributes) -> str:
    reduction: str = values.get("reduction", "none")
    return REDUCTIONS_TO_OPENVINO.get(reduction, reduction)


def _tensor_scatter(b: IrBuilder, inputs: list[FamilyInput], values: Attributes) -> Output:
    """Convert a TensorScatter to ScatterElementsUpdate-3 at write_indices + 0, 1, 2, ...

    Its shapes and its range of indices are just as strict.
    """
    past, update, *write = inputs
    if past.dtype.kind == "O":
        raise make_refusal("OpenVINO's ScatterElementsUpdate-3 has no strings")
    rank = rank_of(past.shape, "past_cache")
    if values["axis"] % rank == 0 or not -rank <= values["axis"] < rank:
        raise ModelError(f"axis {values['axis']} is the batch axis, or out of range for rank {rank}")
    axis = values["axis"] % rank
    length = b.shape(update.output, axis)
    ends: list[Operand] = [np.int64(0), length, np.int64(1)]
    steps = b.layer("Range", "opset4", ends, attributes={"output_type": "i64"}, outputs=["i64"])
    positions = b.reshape(steps, np.array([-1 if d == axis else 1 for d in range(rank)], np.int64))
    if write:
        batch = b.concat(b.shape(past.output, [0]), np.ones(rank - 1, np.int64))
        positions = b.elementwise("Add", b.reshape(write[0].output, batch), positions)
    if values["mode"] == "circular":
        positions = b.elementwise("FloorMod", positions, b.shape(past.output, axis))
    # The shape of the cache except along the axis, so an update with another shape stays an error.
    sizes = [b.shape(past.output, [d]) if d != axis else b.shape(update.output, [d]) for d in range(rank)]
    indices = b.layer("Broadcast", "opset3", [positions, b.concat(*sizes)], attributes={"mode": "numpy"})
    return b.layer("ScatterElementsUpdate", "opset3", [past.output, indices, update.output, np.int64(axis)])


_RULES: dict[str, Callable[[IrBuilder, list[FamilyInput], Attributes, str], Output]] = {
    "gather": _gather,
    "gather_elements": _gather_elements,
    "gather_nd": _gather_nd,
    "scatter_elements": _scatter_elements,
    "scatter_nd": _scatter_nd,
}

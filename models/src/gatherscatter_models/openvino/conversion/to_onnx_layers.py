"""Convert other layers of an IR to ONNX nodes: those that compute shapes and indices, and those that move data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gatherscatter_models.interface import ModelError
from gatherscatter_models.onnx.builder import BuiltTensor, OnnxBuilder
from gatherscatter_models.openvino.conversion.mapping import (
    CONVERT_KNOWS,
    ELEMENTWISE,
    REDUCTIONS_OF_AXES,
    make_refusal,
    one_integer,
)

Attributes = Mapping[str, Any]
_MASKS_OF_AXES = ("new_axis_mask", "shrink_axis_mask", "ellipsis_mask")
Rule = Callable[[OnnxBuilder, list[BuiltTensor], Attributes], BuiltTensor]


def layer_to_onnx(
    builder: OnnxBuilder, kind: str, inputs: list[BuiltTensor], attributes: Attributes
) -> list[BuiltTensor]:
    """Return the results of the nodes for one layer that is not a gather or scatter."""
    if kind in ("Split", "VariadicSplit"):
        return _split(builder, kind, inputs, attributes)
    rule = _RULES.get(kind)
    if rule is None:
        raise ModelError(f"{CONVERT_KNOWS} layers of this type")
    return [rule(builder, inputs, attributes)]


def _elementwise(name: str) -> Rule:
    def rule(b: OnnxBuilder, inputs: list[BuiltTensor], attributes: Attributes) -> BuiltTensor:
        return b.node(name, *inputs)

    return rule


def _flatten_to_int64(b: OnnxBuilder, tensor: BuiltTensor) -> BuiltTensor:
    """Convert axes, sizes or similar numbers to int64 with rank 1."""
    if tensor.value is not None:
        return b.constant(tensor.value.astype(np.int64).reshape(-1))
    wide = b.cast(tensor, np.int64)
    return wide if wide.rank == 1 else b.node("Reshape", wide, np.array([-1], np.int64))


def _broadcast(b: OnnxBuilder, inputs: list[BuiltTensor], attributes: Attributes) -> BuiltTensor:
    if attributes.get("mode") == "explicit":
        raise make_refusal("ONNX has no Broadcast of mode explicit")
    return b.node("Expand", inputs[0], _flatten_to_int64(b, inputs[1]))


def _convert(b: OnnxBuilder, inputs: list[BuiltTensor], attributes: Attributes) -> BuiltTensor:
    return _cast(b, inputs[0], attributes["destination_type"])


def _convert_like(b: OnnxBuilder, inputs: list[BuiltTensor], attributes: Attributes) -> BuiltTensor:
    return _cast(b, inputs[0], inputs[1].dtype)


def _cast(b: OnnxBuilder, data: BuiltTensor, wanted: np.dtype[Any]) -> BuiltTensor:
    if "O" in (data.dtype.kind, wanted.kind) and data.dtype != wanted:
        raise make_refusal("strings and numbers are not converted to each other")
    return b.cast(data, wanted)


def _concat(b: OnnxBuilder, inputs: list[BuiltTensor], attributes: Attributes) -> BuiltTensor:
    return b.node("Concat", *inputs, axis=attributes["axis"])


def _divide(b: OnnxBuilder, inputs: list[BuiltTensor], attributes: Attributes) -> BuiltTensor:
    if inputs[0].dtype.kind in "iu" and attributes.get("m_pythondiv", True):
        raise make_refusal("ONNX divides integers towards zero, Divide with m_pythondiv rounds down")
    return b.node("Div", *inputs)


def _floor_mod(b: OnnxBuilder, inputs: list[BuiltTensor], attributes: Attributes) -> BuiltTensor:
    if inputs[0].dtype.kind not in "iu":
        raise make_refusal("ONNX has FloorMod of integers only")
    return b.node("Mod", *inputs)


def _mod(b: OnnxBuilder, inputs: list[BuiltTensor], attributes: Attributes) -> BuiltTensor:
    return b.node("Mod", *inputs, fmod=1)


def _range(b: OnnxBuilder, inputs: list[BuiltTensor], attributes: Attributes) -> BuiltTensor:
    wanted = attributes.get("output_type") or inputs[0].dtype
    if any(dtype.kind not in "iu" for dtype in (wanted, *(one.dtype for one in inputs))):
        raise make_refusal("only a Range of integers has the same steps in ONNX")
    ends = [b.node("Reshape", b.cast(one, np.int64), np.array([], np.int64)) for one in inputs]
    return b.cast(b.node("Range", *ends), wanted)


def _reduce(name: str) -> Rule:
    def rule(b: OnnxBuilder, inputs: list[BuiltTensor], attributes: Attributes) -> BuiltTensor:
        data, axes = inputs
        if data.dtype.name not in ("int32", "int64"):
            raise make_refusal(f"{name} of {data.dtype} may round differently in ONNX, or is not defined there")
        keep = attributes.get("keep_dims", False)
        return b.node(name, data, _flatten_to_int64(b, axes), keepdims=int(keep), noop_with_empty_axes=1)

    return rule


def _reshape(b: OnnxBuilder, inputs: list[BuiltTensor], attributes: Attributes) -> BuiltTensor:
    return b.node("Reshape", inputs[0], _flatten_to_int64(b, inputs[1]), allowzero=int(not attributes["special_zero"]))


def _shape_of(b: OnnxBuilder, inputs: list[BuiltTensor], attributes: Attributes) -> BuiltTensor:
    return b.cast(b.node("Shape", inputs[0]), attributes.get("output_type", np.dtype(np.int64)))


def _slice(b: OnnxBuilder, inputs: list[BuiltTensor], attributes: Attributes) -> BuiltTensor:
    data, start, stop, step, *axes = [inputs[0], *(_flatten_to_int64(b, one) for one in inputs[1:])]
    if not axes:
        if start.shape is None or start.shape[0] is None:
            raise ModelError("the number of its starts must be known")
        axes = [b.constant(np.arange(start.shape[0]))]
    return b.node("Slice", data, start, stop, axes[0], step)


def _split(b: OnnxBuilder, kind: str, inputs: list[BuiltTensor], attributes: Attributes) -> list[BuiltTensor]:
    axis = one_integer(inputs[1].value, "axis")
    if kind == "Split":
        count = attributes["num_splits"]
        return b.nodes("Split", inputs[0], count=count, num_outputs=count, axis=axis)
    lengths = _flatten_to_int64(b, inputs[2])
    if lengths.value is None or lengths.value.min(initial=0) < 0:
        raise ModelError("its split_lengths must be known, and none of them -1")
    return b.nodes("Split", inputs[0], lengths, count=lengths.value.size, axis=axis)


def _squeeze(b: OnnxBuilder, inputs: list[BuiltTensor], attributes: Attributes) -> BuiltTensor:
    data, *axes = inputs
    if not axes:
        return b.node("Squeeze", data)
    if axes[0].value is None or data.shape is None:
        return b.node("Squeeze", data, _flatten_to_int64(b, axes[0]))
    ones = [axis for axis in axes[0].value.reshape(-1).tolist() if data.shape[axis] in (1, None)]
    return b.node("Squeeze", data, np.array(ones, np.int64))  # a named axis of another size stays


def _strided_slice(b: OnnxBuilder, inputs: list[BuiltTensor], attributes: Attributes) -> BuiltTensor:
    """Convert to a Slice along the axes that the masks don't leave whole.

    Steps must be positive, and no axes may be added or removed.
    """
    if len(inputs) < 3 or any(any(attributes.get(name, ())) for name in _MASKS_OF_AXES):
        raise make_refusal("convert supports StridedSlice only with an end, and without masks that add or remove axes")
    data, begin, end, *steps = [inputs[0], *(_flatten_to_int64(b, one) for one in inputs[1:])]
    if begin.shape is None or (count := begin.shape[0]) is None:
        raise ModelError("the number of its begins must be known")
    whole = [np.resize(np.array((*attributes[name], *[0] * count), bool), count) for name in ("begin_mask", "end_mask")]
    axes = np.flatnonzero(~(whole[0] & whole[1]))
    step = np.ones(count, np.int64) if not steps else steps[0].value
    if step is None or (step < 1).any():
        raise make_refusal("the steps of a StridedSlice must be known, and positive")
    starts, stops = (
        b.node("Where", mask[axes], np.array(instead), b.node("Gather", bounds, axes))
        for mask, instead, bounds in ((whole[0], 0, begin), (whole[1], np.iinfo(np.int32).max, end))
    )
    return b.node("Slice", data, starts, stops, axes, step[axes])


def _transpose(b: OnnxBuilder, inputs: list[BuiltTensor], attributes: Attributes) -> BuiltTensor:
    order = inputs[1].value
    if order is None:
        raise ModelError("its order is computed at run time, but is an attribute in ONNX")
    return b.node("Transpose", inputs[0], **({"perm": order.tolist()} if order.size else {}))


def _unsqueeze(b: OnnxBuilder, inputs: list[BuiltTensor], attributes: Attributes) -> BuiltTensor:
    return b.node("Unsqueeze", inputs[0], _flatten_to_int64(b, inputs[1]))


_RULES: dict[str, Rule] = {
    **{theirs: _elementwise(ours) for ours, (theirs, _) in ELEMENTWISE.items()},
    **{name: _reduce(name) for name in REDUCTIONS_OF_AXES},
    "Broadcast": _broadcast,
    "Concat": _concat,
    "Convert": _convert,
    "ConvertLike": _convert_like,
    "Divide": _divide,
    "FloorMod": _floor_mod,
    "Identity": _elementwise("Identity"),
    "Mod": _mod,
    "Range": _range,
    "Reshape": _reshape,
    "ShapeOf": _shape_of,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "StridedSlice": _strided_slice,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}

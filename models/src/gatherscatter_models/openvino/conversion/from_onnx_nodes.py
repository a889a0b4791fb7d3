"""Convert other nodes of ONNX to OpenVINO layers: those that compute shapes and indices, and those that move data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx

from gatherscatter_models.interface import ModelError
from gatherscatter_models.onnx.tensors import to_array
from gatherscatter_models.openvino.conversion.from_onnx_family import FamilyInput
from gatherscatter_models.openvino.conversion.ir_builder import IrBuilder
from gatherscatter_models.openvino.conversion.mapping import (
    COMPARISONS,
    CONVERT_KNOWS,
    ELEMENTWISE,
    REDUCTIONS_OF_AXES,
    make_refusal,
)
from gatherscatter_models.openvino.ir_write import Output

Attributes = Mapping[str, Any]
Rule = Callable[[IrBuilder, list[FamilyInput | None], Attributes], Output]


def node_from_onnx(
    builder: IrBuilder, op_type: str, inputs: list[FamilyInput | None], attributes: Attributes, outputs: int
) -> list[Output]:
    """Return the results of the layers for one node that is not a gather or scatter."""
    if op_type == "Split":
        return _split(builder, inputs, attributes, outputs)
    rule = _RULES.get(op_type)
    if rule is None:
        raise ModelError(f"{CONVERT_KNOWS} nodes of this type")
    return [rule(builder, inputs, attributes)]


def _first(inputs: list[FamilyInput | None]) -> Output:
    assert inputs[0] is not None  # because the model was checked
    return inputs[0].output


def _input_or_attribute(inputs: list[FamilyInput | None], position: int, attributes: Attributes, name: str) -> Any:
    """Return axes or similar numbers: an input in newer versions, an attribute in older ones; None if absent."""
    given = inputs[position] if position < len(inputs) else None
    if given is not None:
        return given.output
    return np.array(attributes[name], np.int64) if name in attributes else None


def _elementwise(op_type: str) -> Rule:
    kind, version = ELEMENTWISE[op_type]

    def rule(b: IrBuilder, inputs: list[FamilyInput | None], attributes: Attributes) -> Output:
        feeding = [one.output for one in inputs if one is not None]
        if op_type in COMPARISONS:
            return b.layer(kind, version, feeding, outputs=["boolean"])
        return b.layer(kind, version, feeding, outputs=[feeding[-1].element_type.name])

    return rule


def _cast(b: IrBuilder, inputs: list[FamilyInput | None], attributes: Attributes) -> Output:
    data = _first(inputs)
    wanted = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(attributes["to"]))
    if "O" in (wanted.kind, data.element_type.dtype.kind) and wanted != data.element_type.dtype:
        raise make_refusal("OpenVINO does not convert between strings and numbers")
    return b.convert(data, wanted)


def _concat(b: IrBuilder, inputs: list[FamilyInput | None], attributes: Attributes) -> Output:
    feeding = [one.output for one in inputs if one is not None]
    return b.layer("Concat", "opset1", feeding, attributes={"axis": attributes["axis"]})


def _constant_of_shape(b: IrBuilder, inputs: list[FamilyInput | None], attributes: Attributes) -> Output:
    value = to_array(attributes["value"], "attribute 'value'") if attributes else np.zeros(1, np.float32)
    return b.layer("Broadcast", "opset3", [value.reshape(()), _first(inputs)], attributes={"mode": "numpy"})


def _div(b: IrBuilder, inputs: list[FamilyInput | None], attributes: Attributes) -> Output:
    feeding = [one.output for one in inputs if one is not None]
    return b.layer("Divide", "opset1", feeding, attributes={"m_pythondiv": False})


def _expand(b: IrBuilder, inputs: list[FamilyInput | None], attributes: Attributes) -> Output:
    shape = _input_or_attribute(inputs, 1, attributes, "shape")
    return b.layer("Broadcast", "opset3", [_first(inputs), shape], attributes={"mode": "bidirectional"})


def _mod(b: IrBuilder, inputs: list[FamilyInput | None], attributes: Attributes) -> Output:
    feeding = [one.output for one in inputs if one is not None]
    if feeding[0].element_type.dtype.kind not in "iu":
        raise make_refusal("only the Mod of integers is the same in ONNX and OpenVINO")
    return b.layer("Mod" if attributes.get("fmod") else "FloorMod", "opset1", feeding)


def _range(b: IrBuilder, inputs: list[FamilyInput | None], attributes: Attributes) -> Output:
    feeding = [one.output for one in inputs if one is not None]
    kind = feeding[0].element_type
    if kind.dtype.kind not in "iu":
        raise make_refusal("only a Range of integers has the same steps in OpenVINO")
    return b.layer("Range", "opset4", feeding, attributes={"output_type": kind.name})


def _reduce(op_type: str) -> Rule:
    def rule(b: IrBuilder, inputs: list[FamilyInput | None], attributes: Attributes) -> Output:
        data = _first(inputs)
        if data.element_type.name not in ("i32", "i64"):
            raise make_refusal(
                f"{op_type} of {data.element_type.dtype} may round differently in IR, or is not defined there"
            )
        axes = _input_or_attribute(inputs, 1, attributes, "axes")
        if axes is None:
            raise ModelError("convert does not support reductions without axes")
        return b.layer(op_type, "opset1", [data, axes], attributes={"keep_dims": bool(attributes.get("keepdims", 1))})

    return rule


def _reshape(b: IrBuilder, inputs: list[FamilyInput | None], attributes: Attributes) -> Output:
    shape = _input_or_attribute(inputs, 1, attributes, "shape")
    special_zero = not attributes.get("allowzero", 0)
    return b.layer("Reshape", "opset1", [_first(inputs), shape], attributes={"special_zero": special_zero})


def _shape(b: IrBuilder, inputs: list[FamilyInput | None], attributes: Attributes) -> Output:
    sizes = b.shape(_first(inputs))
    start, end = attributes.get("start", 0), attributes.get("end")
    if start == 0 and end is None:
        return sizes
    ends = [np.array([number], np.int64) for number in (start, np.iinfo(np.int32).max if end is None else end, 1, 0)]
    return b.layer("Slice", "opset8", [sizes, *ends])


def _slice(b: IrBuilder, inputs: list[FamilyInput | None], attributes: Attributes) -> Output:
    starts, ends = (
        _input_or_attribute(inputs, 1, attributes, "starts"),
        _input_or_attribute(inputs, 2, attributes, "ends"),
    )
    axes, steps = (
        _input_or_attribute(inputs, 3, attributes, "axes"),
        _input_or_attribute(inputs, 4, attributes, "steps"),
    )
    if steps is None or axes is None:
        given = inputs[1] if len(inputs) > 1 else None
        shape = np.shape(starts) if given is None else given.shape
        if shape is None or shape[0] is None:
            raise ModelError("the number of its starts must be known")
        dtype = np.int64 if given is None else given.dtype
        steps = np.ones(shape[0], dtype) if steps is None else steps
        axes = np.arange(shape[0], dtype=dtype) if axes is None else axes
    return b.layer("Slice", "opset8", [_first(inputs), starts, ends, steps, axes])


def _split(b: IrBuilder, inputs: list[FamilyInput | None], attributes: Attributes, count: int) -> list[Output]:
    data, axis = _first(inputs), np.int64(attributes.get("axis", 0))
    lengths = _input_or_attribute(inputs, 1, attributes, "split")
    names = [data.element_type.name] * count
    if lengths is None:
        shape = inputs[0].shape if inputs[0] is not None else None
        if shape is None or (size := shape[int(axis)]) is None or size % count:
            raise ModelError("a Split into equal parts needs an axis whose size is known and divisible")
        first = b.layer("Split", "opset1", [data, axis], attributes={"num_splits": count}, outputs=names)
    else:
        first = b.layer("VariadicSplit", "opset1", [data, axis, lengths], outputs=names)
    return [first.output(i) for i in range(count)]


def _squeeze(b: IrBuilder, inputs: list[FamilyInput | None], attributes: Attributes) -> Output:
    axes = _input_or_attribute(inputs, 1, attributes, "axes")
    return b.layer("Squeeze", "opset1", [_first(inputs), *([] if axes is None else [axes])])


def _transpose(b: IrBuilder, inputs: list[FamilyInput | None], attributes: Attributes) -> Output:
    return b.layer("Transpose", "opset1", [_first(inputs), np.array(attributes.get("perm", ()), np.int64)])


def _unsqueeze(b: IrBuilder, inputs: list[FamilyInput | None], attributes: Attributes) -> Output:
    return b.layer("Unsqueeze", "opset1", [_first(inputs), _input_or_attribute(inputs, 1, attributes, "axes")])


_RULES: dict[str, Rule] = {
    **{op_type: _elementwise(op_type) for op_type in ELEMENTWISE},
    **{op_type: _reduce(op_type) for op_type in REDUCTIONS_OF_AXES},
    "Cast": _cast,
    "Concat": _concat,
    "ConstantOfShape": _constant_of_shape,
    "Div": _div,
    "Expand": _expand,
    "Identity": lambda b, inputs, attributes: _first(inputs),
    "Mod": _mod,
    "Range": _range,
    "Reshape": _reshape,
    "Shape": _shape,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}

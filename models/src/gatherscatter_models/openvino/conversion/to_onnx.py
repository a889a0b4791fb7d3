"""Convert an OpenVINO IR to an ONNX model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx

from gatherscatter.messages.text import one_line, quote_if_needed
from gatherscatter.specs.table import OpVersion
from gatherscatter_models.interface import ModelError
from gatherscatter_models.onnx.builder import BuiltTensor, OnnxBuilder
from gatherscatter_models.onnx.scopes import Scope
from gatherscatter_models.openvino.conversion.mapping import check_knowledge
from gatherscatter_models.openvino.conversion.to_onnx_family import family_to_onnx
from gatherscatter_models.openvino.conversion.to_onnx_layers import layer_to_onnx
from gatherscatter_models.openvino.graph import CONSTANTS, Layer, OutputPort, read_constant, read_ir
from gatherscatter_models.openvino.ir import IrModel
from gatherscatter_models.openvino.ir_call import bind
from gatherscatter_models.openvino.layers.table import ALIASES

OPSET = 18  # the newest version of every gather and scatter operator that graphs of OpenVINO need


def to_onnx(source: Path | Any, indices: str) -> onnx.ModelProto:
    """Return the ONNX model of an IR file or an `openvino.Model`; see `gatherscatter_models.openvino.convert`."""
    check_knowledge(indices)
    if not isinstance(source, Path):
        return _convert(source.get_friendly_name(), IrModel(source), indices)
    try:
        return _convert(source.stem, IrModel(read_ir(source)), indices)
    except ModelError as error:
        raise ModelError(f"{quote_if_needed(source.name)}: {error}") from None


def _convert(name: str, model: IrModel, indices: str) -> onnx.ModelProto:
    """Convert layer by layer. `IrModel` has already checked names and attributes."""
    builder = OnnxBuilder(Scope(OPSET))
    builder.reserve([info.name for info in model.outputs])
    tensors: dict[OutputPort, BuiltTensor] = {}
    for parameter, source in zip(model.parameters, model.parameter_sources, strict=True):
        shape = parameter.info.shape
        sizes = None if shape is None else [dim if isinstance(dim, int) else None for dim in shape]
        tensors[source] = builder.input(parameter.name, parameter.element_type.dtype, sizes)
    for position, layer in enumerate(model.layers):
        if layer.type in ("Parameter", "Result"):
            continue
        if layer.type in CONSTANTS:
            tensors[OutputPort(position, 0)] = builder.constant(read_constant(layer))
            continue
        builder.name_nodes(layer.name)
        try:
            made = _layer(builder, layer, [tensors[each] for each in layer.sources], indices)
        except (ModelError, ValueError, TypeError) as error:
            raise ModelError(f"{layer}: {one_line(error)}") from None
        tensors.update((OutputPort(position, i), tensor) for i, tensor in enumerate(made))
    for result, info in zip(model.results, model.outputs, strict=True):
        builder.output(info.name, tensors[result])
    return builder.model(name)


def _layer(builder: OnnxBuilder, layer: Layer, inputs: list[BuiltTensor], indices: str) -> list[BuiltTensor]:
    call = bind(layer)
    if isinstance(call.function, OpVersion):
        return [family_to_onnx(builder, call.function, inputs, call.attributes, indices)]
    return layer_to_onnx(builder, ALIASES.get(layer.type, layer.type), inputs, call.attributes)

"""Convert an OpenVINO IR to an ONNX model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gatherscatter.model_interface import ModelError
from gatherscatter.onnx.builder import BuiltTensor, OnnxBuilder
from gatherscatter.onnx.extra import onnx
from gatherscatter.onnx.scopes import Scope
from gatherscatter.openvino import element_types
from gatherscatter.openvino.conversion.mapping import check_knowledge
from gatherscatter.openvino.conversion.to_onnx_family import family_to_onnx
from gatherscatter.openvino.conversion.to_onnx_layers import layer_to_onnx
from gatherscatter.openvino.ir import IrModel
from gatherscatter.openvino.ir_call import bind
from gatherscatter.openvino.ir_graph import Graph, OutputPort, build_graph
from gatherscatter.openvino.ir_read import one_line, quote_if_needed, read_net
from gatherscatter.openvino.ir_weights import Weights
from gatherscatter.openvino.layers.table import ALIASES
from gatherscatter.specs.table import OpVersion

OPSET = 18  # the newest version of every gather and scatter operator that graphs of OpenVINO need


def to_onnx(path: Path, indices: str) -> onnx.ModelProto:
    """Return the ONNX model of an IR file; see `gatherscatter.openvino.convert`."""
    check_knowledge(indices)
    try:
        if not path.is_file():
            raise ModelError("there is no such file")
        graph = build_graph(read_net(path), lambda layer: layer.type == "Result")
        weights = Weights(path.with_suffix(".bin"))
        return _convert(path.stem, graph, IrModel(graph, weights), weights, indices)
    except ModelError as error:
        raise ModelError(f"{quote_if_needed(path.name)}: {error}") from None


def _convert(name: str, graph: Graph, model: IrModel, weights: Weights, indices: str) -> onnx.ModelProto:
    """Convert layer by layer. `IrModel` has already checked names, ports and attributes."""
    builder = OnnxBuilder(Scope(OPSET))
    builder.reserve([info.name for info in model.outputs])
    tensors: dict[OutputPort, BuiltTensor] = {}
    parameters = [i for i, layer in enumerate(graph.layers) if layer.type == "Parameter"]
    for position, info in zip(parameters, model.inputs, strict=True):
        element_type = element_types.from_name(graph.layers[position].attributes["element_type"])
        shape = None if info.shape is None else [dim if isinstance(dim, int) else None for dim in info.shape]
        tensors[OutputPort(position, 0)] = builder.input(info.name, element_type.dtype, shape)
    for position in graph.order:
        layer = graph.layers[position]
        if layer.type in ("Parameter", "Result"):
            continue
        if layer.type in ("Const", "Constant"):
            tensors[OutputPort(position, 0)] = builder.constant(weights.constant(layer)())
            continue
        builder.name_nodes(layer.name)
        try:
            made = _layer(builder, layer, [tensors[source] for source in graph.sources[position]], indices)
        except (ModelError, ValueError, TypeError) as error:
            raise ModelError(f"{layer}: {one_line(error)}") from None
        tensors.update((OutputPort(position, i), tensor) for i, tensor in enumerate(made))
    results = [i for i, layer in enumerate(graph.layers) if layer.type == "Result"]
    for position, info in zip(results, model.outputs, strict=True):
        builder.output(info.name, tensors[graph.sources[position][0]])
    return builder.model(name)


def _layer(builder: OnnxBuilder, layer: Any, inputs: list[BuiltTensor], indices: str) -> list[BuiltTensor]:
    call = bind(layer)
    if isinstance(call.function, OpVersion):
        return [family_to_onnx(builder, call.function, inputs, call.attributes, indices)]
    return layer_to_onnx(builder, ALIASES.get(layer.type, layer.type), inputs, call.attributes)

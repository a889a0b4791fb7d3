"""Convert an ONNX model to an OpenVINO IR."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from gatherscatter.specs import table
from gatherscatter_models.interface import ModelError
from gatherscatter_models.onnx.graph import expand_functions, node_label, one_line
from gatherscatter_models.onnx.reading import name_model_in_errors, opset_versions, read_onnx, tensor_info
from gatherscatter_models.onnx.running import require_engine
from gatherscatter_models.onnx.scopes import Scope
from gatherscatter_models.onnx.value_info import is_constant, read_declared
from gatherscatter_models.openvino import element_types
from gatherscatter_models.openvino.conversion.from_onnx_family import FamilyInput, family_from_onnx
from gatherscatter_models.openvino.conversion.from_onnx_nodes import node_from_onnx
from gatherscatter_models.openvino.conversion.ir_builder import IrBuilder
from gatherscatter_models.openvino.conversion.mapping import check_knowledge
from gatherscatter_models.openvino.ir_write import IRWriter, Output


def from_onnx(model: Path | onnx.ModelProto, indices: str) -> IRWriter:
    """Return the IR of an ONNX model; see `gatherscatter_models.openvino.convert`."""
    check_knowledge(indices)
    with name_model_in_errors(model):
        return _convert(model, indices)


def _convert(model: Path | onnx.ModelProto, indices: str) -> IRWriter:
    proto, constants = _read(model)
    _check_names(proto.graph, constants)
    walk = _GraphConverter(proto, constants, indices)
    for position, node in enumerate(proto.graph.node, 1):
        label = node_label(node, position, len(proto.graph.node))
        try:
            walk.node(node)
        except (ModelError, ValueError, TypeError) as error:
            raise ModelError(f"{label}: {one_line(error)}") from None
    for value in proto.graph.output:
        walk.writer.result(value.name, walk.tensor(value.name).output)
    return walk.writer


def _read(model: Path | onnx.ModelProto) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """Return the model, checked as for a run and with functions expanded, and its initializers."""
    checked = read_onnx(model)
    require_engine(checked)
    proto, constants, _ = checked
    return (expand_functions(proto) if proto.functions else proto), constants


_NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _check_names(graph: onnx.GraphProto, constants: Iterable[str]) -> None:
    """Refuse graphs that an IR can't represent: no outputs, an output listed twice, names with control characters."""
    outputs = [value.name for value in graph.output]
    if not outputs:
        raise ModelError("the graph has no output, and an IR must have at least one")
    twice = next((name for name, count in Counter(outputs).items() if count > 1), None)
    if twice is not None:
        raise ModelError(f"the output {twice!r} is listed twice, and in an IR the names of outputs must differ")
    for name in (graph.name, *outputs, *(value.name for value in graph.input), *constants):
        if _NOT_IN_XML.search(name):
            raise ModelError(f"the name {name!r} has a character that an IR can't contain")


class _GraphConverter:
    """Converts an ONNX graph node by node. It holds the layers made so far, by the tensors that they produce."""

    def __init__(self, model: onnx.ModelProto, constants: dict[str, np.ndarray], indices: str) -> None:
        self.writer = IrBuilder(model.graph.name or "model")
        self._scope = Scope(opset_versions(model).get("", 0))  # 0: no node has the default domain
        self._indices = indices
        self._outputs: dict[str, Output] = {}
        for value in model.graph.input:
            if value.name not in constants:
                self._input(value)
            elif model.ir_version >= 4:  # before, every constant had to be an input
                raise ModelError(f"input {value.name!r} has a default, and inputs of an IR can't have one")
        for name, array in constants.items():
            self._scope.add_constant(name, array)
            self._constant(name, array)

    def _input(self, value: onnx.ValueInfoProto) -> None:
        info = tensor_info(value)
        try:
            dtype = element_types.STRING if info.element_type == "string" else np.dtype(info.element_type)
            kind = element_types.from_dtype(dtype)
        except (TypeError, ValueError) as error:
            raise ModelError(f"input {value.name!r}: {one_line(error)}") from None
        known = self._scope.infos[value.name] = read_declared(value.type)
        self._outputs[value.name] = self.writer.parameter(value.name, kind.name, known.sizes)

    def _constant(self, name: str, array: np.ndarray) -> None:
        try:
            self._outputs[name] = self.writer.constant(array, name)
        except ValueError as error:
            raise ModelError(f"constant {name!r}: {one_line(error)}") from None

    def tensor(self, name: str) -> FamilyInput:
        """Return a tensor of the ONNX graph."""
        return FamilyInput(self._outputs[name], self._scope.find(name).sizes, self._scope.value(name))

    def node(self, node: onnx.NodeProto) -> None:
        """Convert a node."""
        attributes = {one.name: _decode_bytes(onnx.helper.get_attribute_value(one)) for one in node.attribute}
        if node.domain:
            raise ModelError(f"convert does not support nodes of domain {node.domain}")
        if is_constant(node):
            self._scope.add_node(node)
            value = self._scope.value(node.output[0])
            assert value is not None
            self._constant(node.output[0], value)
            return
        inputs = [self.tensor(name) if name else None for name in node.input]
        made = self._layers(node, inputs, attributes)
        self._scope.add_node(node)
        self._outputs.update(zip(node.output, made, strict=True))

    def _layers(
        self, node: onnx.NodeProto, inputs: list[FamilyInput | None], attributes: dict[str, Any]
    ) -> list[Output]:
        try:
            row = table.find("onnx", node.op_type, self._scope.opset)
        except LookupError:
            return node_from_onnx(self.writer, node.op_type, inputs, attributes, len(node.output))
        return [family_from_onnx(self.writer, row, inputs, attributes, self._indices)]


def _decode_bytes(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value

"""What is known of the values of a model before it runs: types, shapes, and which are constant."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from gatherscatter.onnx.external_data import ExternalData
from gatherscatter.onnx.extra import onnx
from gatherscatter.onnx.rewrite import expanded, normalise, walk, without_initializers
from gatherscatter.onnx.tensors import is_external
from gatherscatter.onnx.value_info import infer_model, replaceable_names
from gatherscatter.versions import ops

FAMILY = {row.op_type for row in ops() if row.domain == "onnx"}
SMALL = 1024  # bytes of a tensor whose values may matter for shapes


class UncuttableError(Exception):
    """The model is unusual, or not what it should be; ONNX Runtime gets it whole, and says what is wrong."""


class Facts:
    """A model taken apart: ``model`` without its initializers, functions that hold nodes of the family expanded.

    ``types`` has what is known of values. ``overridable`` are the initializers that a caller may replace;
    ``constants`` all others, and what Constant nodes hold.
    """

    def __init__(self, model: onnx.ModelProto, path: Path | None) -> None:
        self._files = ExternalData(path)
        tensors = {tensor.name: tensor for tensor in model.graph.initializer}
        if len(tensors) < len(model.graph.initializer) or model.graph.sparse_initializer:
            raise UncuttableError("it has sparse initializers, or two of one name")
        replaceable = replaceable_names(model)
        self.overridable = {name: tensor for name, tensor in tensors.items() if name in replaceable}
        fixed = {name: tensor for name, tensor in tensors.items() if name not in replaceable}
        self.model = without_initializers(model)
        normalise(self.model)
        if any(node.op_type in FAMILY for function in self.model.functions for node in walk(function.node)):
            self.model.graph.initializer.extend(map(_outline, tensors.values()))
            self.model = without_initializers(expanded(self.model))
        self.inputs = [value for value in self.model.graph.input if value.name not in tensors]
        self.given = [*(value.name for value in self.inputs), *self.overridable]
        self.constants = fixed | _held(self.model.graph)
        self._scope = infer_model(self.model, self._files, list(tensors.values()))
        self.types = {name: info.type_proto() for name, info in self._scope.infos.items() if info.is_known}
        self._external = {name: self._file(name) for name, each in self.constants.items() if is_external(each)}
        folders = [str(file.parent) for file in self._external.values()]
        self.folder = os.path.commonpath(folders) if folders else None  # of all external data

    def element_type(self, name: str) -> str | None:
        """Our name of a tensor's element type; None if it is unknown, or the value is not a tensor."""
        return self._scope.find(name).element_type

    def shape(self, name: str) -> tuple[int | None, ...] | None:
        """The dims as far as they are known; None if not even the rank is."""
        return self._scope.find(name).sizes

    def copy_constant(self, name: str, target: onnx.TensorProto) -> None:
        """Copy a constant; the location of its external data becomes relative to ``folder``.

        A model cache keeps links to files elsewhere, which ONNX Runtime takes from a path only, not from bytes.
        """
        target.CopyFrom(self.constants[name])
        target.name = name
        if name in self._external:
            for entry in target.external_data:
                if entry.key == "location":
                    entry.value = os.path.relpath(self._external[name], self.folder)

    def _file(self, name: str) -> Path:
        return self._files.file(self.constants[name], f"initializer {name!r}")

    def array(self, name: str) -> np.ndarray:
        """An initializer, or what a Constant node holds."""
        tensor, where = (self.constants | self.overridable)[name], f"initializer {name!r}"
        array = self._files.load(tensor, where)
        array.flags.writeable = False
        return array


def _outline(tensor: onnx.TensorProto) -> onnx.TensorProto:
    """Name and type of a tensor."""
    external = onnx.TensorProto.EXTERNAL
    return onnx.TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims, data_location=external)


def _held(graph: onnx.GraphProto) -> dict[str, onnx.TensorProto]:
    """What Constant nodes hold, where it is a tensor."""
    held = {}
    for node in graph.node:
        if (node.domain, node.op_type) == ("", "Constant") and [each.name for each in node.attribute] == ["value"]:
            held[node.output[0]] = node.attribute[0].t
    return held


def is_typed(value: onnx.ValueInfoProto) -> bool:
    """Whether a type is given, and not only its place."""
    kind = value.type.WhichOneof("value")
    return kind is not None and (kind != "tensor_type" or value.type.tensor_type.elem_type != 0)

"""The model of a session: its nodes, its constants, and the scope that has what is known of its values."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from gatherscatter.onnx.extra import onnx
from gatherscatter.onnx.graph import expand_functions, is_family, normalise, walk, without_initializers
from gatherscatter.onnx.tensors import ExternalData, is_external
from gatherscatter.onnx.value_info import infer_model, replaceable_names


class UncuttableError(Exception):
    """The model is unusual, or not what it should be; ONNX Runtime gets it whole, and says what is wrong."""


class ModelFacts:
    """A model taken apart: ``model`` without its initializers, functions that hold nodes of the family expanded.

    ``scope`` has what is known of values, and ``types`` their types as messages. ``overridable`` are the initializers
    that a caller may replace; ``constants`` all others, and what Constant nodes hold.
    """

    def __init__(self, model: onnx.ModelProto, path: Path | None) -> None:
        self._files = ExternalData(path)
        tensors = {tensor.name: tensor for tensor in model.graph.initializer}
        if len(tensors) < len(model.graph.initializer) or model.graph.sparse_initializer:
            raise UncuttableError("it has sparse initializers, or two of one name")
        replaceable = replaceable_names(model)
        self.overridable = {name: tensor for name, tensor in tensors.items() if name in replaceable}
        self.model = without_initializers(model)
        normalise(self.model)
        if any(is_family(node) for function in self.model.functions for node in walk(function.node)):
            self.model.graph.initializer.extend(map(_outline, tensors.values()))
            self.model = without_initializers(expand_functions(self.model))
        self.inputs = [value for value in self.model.graph.input if value.name not in tensors]
        self.given = [*(value.name for value in self.inputs), *self.overridable]
        self.scope = infer_model(self.model, self._files, list(tensors.values()))
        self.constants = self.scope.tensors
        self.types = {name: info.type_proto() for name, info in self.scope.infos.items() if info.is_known}
        self._external = {name: self._file(name) for name, each in self.constants.items() if is_external(each)}
        folders = [str(file.parent) for file in self._external.values()]
        self.folder = os.path.commonpath(folders) if folders else None  # of all external data

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
        array = self.scope.value(name)
        if array is None:
            array = self._files.load(self.overridable[name], f"initializer {name!r}")
        array.flags.writeable = False
        return array


def _outline(tensor: onnx.TensorProto) -> onnx.TensorProto:
    """Name and type of a tensor."""
    external = onnx.TensorProto.EXTERNAL
    return onnx.TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims, data_location=external)


def is_typed(value: onnx.ValueInfoProto) -> bool:
    """Whether a type is given, and not only its place."""
    kind = value.type.WhichOneof("value")
    return kind is not None and (kind != "tensor_type" or value.type.tensor_type.elem_type != 0)

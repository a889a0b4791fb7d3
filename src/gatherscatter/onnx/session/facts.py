"""What is known of the values of a model before it runs: types, shapes, and which are constant."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from gatherscatter.onnx.external_data import ExternalData
from gatherscatter.onnx.extra import onnx
from gatherscatter.onnx.rewrite import expanded, normalise, walk, without_initializers
from gatherscatter.onnx.tensors import is_external, to_array, type_name
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
        listed = {value.name for value in model.graph.input}
        # Before IR version 4 all initializers were listed as inputs, and could not be told from defaults.
        override = listed if model.ir_version >= 4 else set()
        self.overridable = {name: tensor for name, tensor in tensors.items() if name in override}
        fixed = {name: tensor for name, tensor in tensors.items() if name not in override}
        skeleton = without_initializers(model)
        normalise(skeleton)
        skeleton.graph.initializer.extend(_outline(tensor) for tensor in tensors.values())
        if any(node.op_type in FAMILY for function in skeleton.functions for node in walk(function.node)):
            skeleton = expanded(skeleton)
        self.model = without_initializers(skeleton)
        self.inputs = [value for value in self.model.graph.input if value.name not in tensors]
        self.given = [*(value.name for value in self.inputs), *self.overridable]
        self.constants = fixed | _held(self.model.graph)
        self.types = _types(skeleton)
        self._external = {name: self._file(name) for name, each in self.constants.items() if is_external(each)}
        folders = [str(file.parent) for file in self._external.values()]
        self.folder = os.path.commonpath(folders) if folders else None  # of all external data

    def element_type(self, name: str) -> str | None:
        """The registry's name of a tensor's element type; None if it is unknown or no tensor."""
        elem = self.types.get(name, onnx.TypeProto()).tensor_type.elem_type
        return type_name(elem) if elem else None

    def shape(self, name: str) -> tuple[int | None, ...] | None:
        """The dims as far as they are known; None if not even the rank is."""
        tensor = self.types.get(name, onnx.TypeProto()).tensor_type
        if not tensor.HasField("shape"):
            return None
        return tuple(dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim)

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
        array = self._files.array(tensor, where) if is_external(tensor) else to_array(tensor, where)
        array.flags.writeable = False
        return array


def _outline(tensor: onnx.TensorProto) -> onnx.TensorProto:
    """Type and shape of a tensor; its values only where they are few."""
    if not is_external(tensor) and tensor.ByteSize() <= SMALL:
        return tensor
    return onnx.TensorProto(
        name=tensor.name, data_type=tensor.data_type, dims=tensor.dims, data_location=onnx.TensorProto.EXTERNAL
    )


def _held(graph: onnx.GraphProto) -> dict[str, onnx.TensorProto]:
    """What Constant nodes hold, where it is a tensor."""
    held = {}
    for node in graph.node:
        if (node.domain, node.op_type) == ("", "Constant") and [each.name for each in node.attribute] == ["value"]:
            held[node.output[0]] = node.attribute[0].t
    return held


def _types(skeleton: onnx.ModelProto) -> dict[str, onnx.TypeProto]:
    """What follows from the inputs. What a model says of later values may be wrong, for ONNX Runtime only warns: of
    that, nothing but element types is taken, and where there is no other word."""
    bare = onnx.ModelProto()
    bare.CopyFrom(skeleton)
    del bare.graph.value_info[:]
    for value in bare.graph.output:
        value.ClearField("type")
    graph = onnx.shape_inference.infer_shapes(bare, data_prop=True).graph
    types = {
        tensor.name: onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims) for tensor in graph.initializer
    }
    types |= {value.name: value.type for value in (*graph.value_info, *graph.output, *graph.input) if is_typed(value)}
    for value in (*skeleton.graph.value_info, *skeleton.graph.output):
        if value.name not in types and is_typed(value):
            types[value.name] = _without_shape(value.type)
    return types


def is_typed(value: onnx.ValueInfoProto) -> bool:
    """Whether a type is given, and not only its place."""
    kind = value.type.WhichOneof("value")
    return kind is not None and (kind != "tensor_type" or value.type.tensor_type.elem_type != 0)


def _without_shape(of: onnx.TypeProto) -> onnx.TypeProto:
    copy = onnx.TypeProto()
    copy.CopyFrom(of)
    if of.HasField("tensor_type"):
        copy.tensor_type.ClearField("shape")
    return copy

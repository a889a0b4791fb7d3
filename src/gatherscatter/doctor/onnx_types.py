"""What is known of the values of an ONNX model before it runs: types, constants, and which are sizes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gatherscatter.onnx.extra import onnx
from gatherscatter.onnx.rewrite import walk, without_initializers
from gatherscatter.onnx.tensors import is_external, to_array

SIZES = {"Shape", "Size", "NonZero", "ArgMax", "ArgMin"}  # what they give are sizes and positions
MOVES = {"Identity", "Cast", "Gather", "Slice", "Squeeze", "Unsqueeze", "Reshape"}  # give elements of their first input
SMALL = 1024  # bytes of a tensor whose values may matter for shapes


def inferred_graph(model: onnx.ModelProto) -> onnx.GraphProto | None:
    """The main graph with the types that follow from its inputs; what the file says of later values may be wrong."""
    bare = without_initializers(model)
    bare.graph.initializer.extend(_outline(tensor) for tensor in model.graph.initializer)
    del bare.graph.value_info[:]
    for body in (bare.graph, *bare.functions):
        for node in walk(body.node):
            if any(map(_crashes_inference, node.attribute)):
                node.op_type = "NotInferred"
    try:
        # Without its propagation of data, which makes whole arrays of the sizes that a model names.
        return onnx.shape_inference.infer_shapes(bare).graph
    except Exception:  # a model that is wrong somewhere; what is wrong shows when it is run
        return None


def _crashes_inference(attribute: onnx.AttributeProto) -> bool:
    """Whether the inference of onnx reads foreign memory: for a GatherND with batch_dims below 0."""
    return attribute.name == "batch_dims" and (attribute.i < 0 or bool(attribute.ref_attr_name))


def _outline(tensor: onnx.TensorProto) -> onnx.TensorProto:
    """Type and shape of a tensor; its values only where they are few."""
    if not is_external(tensor) and tensor.ByteSize() <= SMALL:
        return tensor
    return onnx.TensorProto(
        name=tensor.name, data_type=tensor.data_type, dims=tensor.dims, data_location=onnx.TensorProto.EXTERNAL
    )


def types_of(
    proto: onnx.GraphProto | onnx.FunctionProto, inferred: onnx.GraphProto | None
) -> dict[str, onnx.TypeProto]:
    """Types of the values of a body, its constants included."""
    types = {}
    if isinstance(proto, onnx.GraphProto):
        for tensor in proto.initializer:
            types[tensor.name] = onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
        graph = proto if inferred is None else inferred
        types |= {value.name: value.type for value in (*graph.value_info, *graph.output, *graph.input)}
    return types


def constant_of(node: onnx.NodeProto) -> np.ndarray:
    """What a Constant node holds."""
    value = onnx.helper.get_attribute_value(node.attribute[0])
    if isinstance(value, onnx.TensorProto):
        return to_array(value, "a Constant")
    if node.attribute[0].name.startswith("value_string"):
        return np.array(value, object)
    return np.array(value, np.float32 if node.attribute[0].name.startswith("value_float") else np.int64)


def is_size(name: str, makers: Mapping[str, onnx.NodeProto]) -> bool:
    """Whether a value is made of the sizes of arrays, moved about at most."""
    seen: set[str] = set()
    while name in makers and name not in seen:
        seen.add(name)
        node = makers[name]
        if node.domain or node.op_type not in MOVES:
            return not node.domain and node.op_type in SIZES
        name = node.input[0]
    return False

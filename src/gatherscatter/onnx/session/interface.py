"""What a session says about its model, as ONNX Runtime words it."""

from __future__ import annotations

from dataclasses import dataclass

from gatherscatter.onnx.extra import onnx
from gatherscatter.onnx.session.facts import is_typed

NO_VERSION = 2**63 - 1  # what ONNX Runtime says of a model without one


@dataclass(frozen=True)
class NodeArg:
    """An input or output: its name, ONNX Runtime's name of its type, and its dims: numbers, names, or None."""

    name: str
    type: str
    shape: list[int | str | None]


@dataclass(frozen=True)
class ModelMetadata:
    """Who made a model, and what it is."""

    producer_name: str
    graph_name: str
    domain: str
    description: str
    graph_description: str
    version: int
    custom_metadata_map: dict[str, str]


def node_arg(value: onnx.ValueInfoProto, inferred: onnx.TypeProto | None = None) -> NodeArg:
    """An input or output as ONNX Runtime's ``get_inputs`` and ``get_outputs`` give it.

    What the model leaves open is as it was inferred.
    """
    of = value.type if is_typed(value) or inferred is None else inferred
    shape = _dims(of)
    other = shape if inferred is None else _dims(inferred)
    if len(shape) == len(other):
        shape = [mine if mine is not None else theirs for mine, theirs in zip(shape, other, strict=True)]
    return NodeArg(value.name, type_text(of), shape if of.tensor_type.HasField("shape") else other)


def _dims(of: onnx.TypeProto) -> list[int | str | None]:
    dims = of.tensor_type.shape.dim
    return [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in dims]


def type_text(of: onnx.TypeProto) -> str:
    """ONNX Runtime's name of a type.

    >>> import onnx
    >>> type_text(onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, ["n", 3]))
    'tensor(float)'
    """
    kind = of.WhichOneof("value")
    if kind == "sequence_type":
        return f"seq({type_text(of.sequence_type.elem_type)})"
    if kind == "optional_type":
        return f"optional({type_text(of.optional_type.elem_type)})"
    if kind == "map_type":
        return f"map({_elem_text(of.map_type.key_type)},{type_text(of.map_type.value_type)})"
    text = _elem_text(getattr(of, kind or "tensor_type").elem_type)
    return f"{'sparse_' if kind == 'sparse_tensor_type' else ''}tensor({text})"


def model_metadata(model: onnx.ModelProto) -> ModelMetadata:
    """The metadata of a model."""
    return ModelMetadata(
        producer_name=model.producer_name,
        graph_name=model.graph.name,
        domain=model.domain,
        description=model.doc_string,
        graph_description=model.graph.doc_string,
        version=model.model_version if model.HasField("model_version") else NO_VERSION,
        custom_metadata_map={entry.key: entry.value for entry in model.metadata_props},
    )


def _elem_text(elem_type: int) -> str:
    return str(onnx.TensorProto.DataType.Name(elem_type).lower())

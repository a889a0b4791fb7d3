"""Small ONNX models for the tests, in compact notation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

Declared = Mapping[str, tuple[Any, Sequence[int | str | None] | None]]  # name: (dtype, shape)


def node(op_type: str, inputs: str, outputs: str, name: str = "", **attributes: Any) -> onnx.NodeProto:
    """Return a node. Inputs and outputs are names separated by blanks; ``-`` is an omitted one."""
    return helper.make_node(op_type, _names(inputs), _names(outputs), name=name, **attributes)


def graph(
    nodes: Sequence[onnx.NodeProto],
    inputs: Declared,
    outputs: Declared,
    constants: Mapping[str, Any] | None = None,
    name: str = "graph",
) -> onnx.GraphProto:
    """Return a graph. Constants become initializers."""
    initializers = [numpy_helper.from_array(np.asarray(value), key) for key, value in (constants or {}).items()]
    return helper.make_graph(nodes, name, _infos(inputs), _infos(outputs), initializers)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Declared,
    outputs: Declared,
    constants: Mapping[str, Any] | None = None,
    *,
    opset: int = 18,
    functions: Sequence[onnx.FunctionProto] = (),
    domains: Mapping[str, int] | None = None,
) -> onnx.ModelProto:
    """Return a model of one opset, and of opsets of other domains."""
    opsets = [helper.make_opsetid(domain, version) for domain, version in {"": opset, **(domains or {})}.items()]
    content = graph(nodes, inputs, outputs, constants)
    return helper.make_model(content, opset_imports=opsets, functions=functions, ir_version=10)


def function(
    domain: str,
    name: str,
    inputs: str,
    outputs: str,
    nodes: Sequence[onnx.NodeProto],
    *,
    opset: int = 18,
    attributes: Sequence[str] = (),
    defaults: Mapping[str, Any] | None = None,
    domains: Mapping[str, int] | None = None,
) -> onnx.FunctionProto:
    """Return a function of a model, with separate opset imports."""
    opsets = [helper.make_opsetid(key, version) for key, version in {"": opset, **(domains or {})}.items()]
    protos = [helper.make_attribute(key, value) for key, value in (defaults or {}).items()]
    return helper.make_function(
        domain,
        name,
        _names(inputs),
        _names(outputs),
        nodes,
        opsets,
        attributes=list(attributes),
        attribute_protos=protos,
    )


def referring(made: onnx.NodeProto, attribute: str, to: str, kind: int) -> onnx.NodeProto:
    """Add an attribute to a node, whose value is an attribute of the function that contains the node."""
    made.attribute.add(name=attribute, ref_attr_name=to, type=kind)
    return made


def _names(text: str) -> list[str]:
    return ["" if name == "-" else name for name in text.split()]


def _infos(declared: Declared) -> list[onnx.ValueInfoProto]:
    return [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)
        for name, (dtype, shape) in declared.items()
    ]


def scan_model() -> onnx.ModelProto:
    """Return a Scan that scatters into its state and gathers from it."""
    body = graph(
        [node("ScatterElements", "state at new", "next", axis=0), node("Gather", "next at", "seen")],
        {"state": (np.float32, [3]), "at": (np.int64, [1]), "new": (np.float32, [1])},
        {"next": (np.float32, [3]), "seen": (np.float32, [1])},
        name="body",
    )
    return model(
        [node("Scan", "start at_all new_all", "end seen_all", num_scan_inputs=2, body=body)],
        {"start": (np.float32, [3]), "at_all": (np.int64, [4, 1]), "new_all": (np.float32, [4, 1])},
        {"end": (np.float32, [3]), "seen_all": (np.float32, [4, 1])},
    )

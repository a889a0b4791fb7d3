"""Nodes of the domain `gatherscatter` in sessions of ONNX Runtime, with all its element types."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

import gatherscatter as gs
from gatherscatter.errors import KINDS
from gatherscatter.specs.rows import INTEGERS
from gatherscatter.system.native_library import library_path

DOMAIN = "gatherscatter"
LIBRARY = os.environ.get("GATHERSCATTER_LIBRARY") or str(library_path())  # the variable is for a build with sanitizers

# The types that its Python API accepts and returns. Others are constants of a model, and are read from the memory of
# the result.
PLAIN = {"bool", *INTEGERS, "float16", "float32", "float64", "object"}
FOUR_BITS = {"int4", "uint4", "float4_e2m1fn"}
MINOR = int(onnxruntime.__version__.split(".")[1])
ABSENT_TYPES = {"complex64", "complex128", "float8_e8m0fnu", *(["float4_e2m1fn"] if MINOR < 24 else [])}


def has_type(array: Any) -> bool:
    """Check whether ONNX Runtime has tensors with the type of an array."""
    return array is None or array.dtype.name not in ABSENT_TYPES


def options(**fields: Any) -> onnxruntime.SessionOptions:
    """Return options with the library. The keywords are fields of `SessionOptions`."""
    made = onnxruntime.SessionOptions()
    made.register_custom_ops_library(LIBRARY)
    made.log_severity_level = 4
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def session(model: onnx.ModelProto, made: onnxruntime.SessionOptions | None = None) -> onnxruntime.InferenceSession:
    """Return a session with the library."""
    return onnxruntime.InferenceSession(
        model.SerializeToString(), made or options(), providers=["CPUExecutionProvider"]
    )


def node(op_type: str, inputs: Sequence[str], output: str = "y", name: str = "", **attributes: Any) -> onnx.NodeProto:
    """Return a node of the domain."""
    return helper.make_node(op_type, inputs, [output], name=name, domain=DOMAIN, **attributes)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, tuple[Any, Any]],
    outputs: Mapping[str, tuple[Any, Any]],
    constants: Mapping[str, np.ndarray] | None = None,
    **others: Any,
) -> onnx.ModelProto:
    """Return a model of opset 18. Inputs and outputs are (type, shape) by name."""
    infos = [
        [helper.make_tensor_value_info(name, tensor_type(dtype), shape) for name, (dtype, shape) in declared.items()]
        for declared in (inputs, outputs)
    ]
    initializers = [make_initializer(array, name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(nodes, "graph", *infos, initializers)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10, **others)


def tensor_type(dtype: Any) -> int:
    """Return the number of an element type in ONNX."""
    dtype = np.dtype(dtype)
    return onnx.TensorProto.STRING if dtype.kind == "O" else helper.np_dtype_to_tensor_dtype(dtype)


def make_initializer(array: np.ndarray, name: str) -> onnx.TensorProto:
    if array.dtype.kind == "O":
        return helper.make_tensor(name, onnx.TensorProto.STRING, array.shape, [_encode(text) for text in array.flat])
    return numpy_helper.from_array(array, name)


def _encode(text: Any) -> bytes:
    return text if isinstance(text, bytes) else str(text).encode()


def run_node(
    op_type: str, arrays: Sequence[np.ndarray | None], attributes: Mapping[str, Any], shapes: str = "known"
) -> np.ndarray:
    """The outputs of a node; shapes are declared as "known", "ranks" or "unknown".

    Raises
    ------
    gs.OpError
        The library refuses the call. The message is what ONNX Runtime says, from the library's sentence on.
    """
    arrays = [array if array is None else plain(array) for array in arrays]
    names = [f"x{i}" if array is not None else "" for i, array in enumerate(arrays)]
    given = {name: array for name, array in zip(names, arrays, strict=True) if array is not None}
    made_node = node(op_type, names, name="sums", **attributes)
    result = arrays[2 if op_type == "GatherQuantized" else 0].dtype
    if all(array.dtype.name in PLAIN for array in given.values()):
        declare = {"known": lambda a: a.shape, "ranks": lambda a: [None] * a.ndim, "unknown": lambda a: None}[shapes]
        inputs = {name: (array.dtype, declare(array)) for name, array in given.items()}
        made = model([made_node], inputs, {"y": (result, None)})
        try:
            return session(made).run(None, given)[0]
        except Exception as error:
            raise op_error(error) from error
    made = model([made_node], {}, {"y": (result, None)}, given)
    no_folding = options(graph_optimization_level=onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
    try:
        return read_value(session(made, no_folding).run_with_ort_values(["y"], {})[0], result)
    except Exception as error:
        raise op_error(error) from error


def plain(array: np.ndarray) -> np.ndarray:
    """Return the array in ONNX's form: contiguous, in native byte order, text as objects."""
    if array.dtype.kind in "UST":
        texts = [text.decode() if isinstance(text, bytes) else str(text) for text in array.flat]
        return np.array([*texts, None], object)[:-1].reshape(array.shape)
    return array.astype(array.dtype.newbyteorder("="), order="C", subok=False)


def read_value(value: onnxruntime.OrtValue, dtype: np.dtype[Any]) -> np.ndarray:
    """Read the elements of a result of any type."""
    if dtype.name in PLAIN:
        return value.numpy()
    shape = value.shape()
    count = int(np.prod(shape))
    size = (count + 1) // 2 if dtype.name in FOUR_BITS else count * dtype.itemsize
    data = (ctypes.c_uint8 * size).from_address(value.data_ptr()) if size else b""
    raw = np.array(data, np.uint8) if size else np.empty(0, np.uint8)
    if dtype.name not in FOUR_BITS:
        return raw.view(dtype).reshape(shape)
    halves = np.stack([raw & 15, raw >> 4], -1).reshape(-1)[:count]
    if dtype.name == "float4_e2m1fn":
        return halves.view(dtype).reshape(shape)
    signed = halves.astype(np.int8) - 16 * (halves > 7) if dtype.name == "int4" else halves
    return signed.astype(dtype).reshape(shape)


_SENTENCE = re.compile(r"\b(IndexError|ValueError|TypeError): (([\w.]+(?:-\d+)?)[: ].*)", re.DOTALL)
_POSITION = re.compile(r": \w+(?:\[([\d, ]*)\])? = -?\d+ is out of range")


def op_error(error: Exception) -> Exception:
    """Return the library's error inside an error of ONNX Runtime, or else that error."""
    found = _SENTENCE.search(str(error))
    if not isinstance(error, onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument) or not found:
        return error
    kind, sentence, op = found.groups()
    made: gs.OpError = KINDS[kind](sentence, op=op)
    if position := _POSITION.search(sentence):
        made.positions = (tuple(int(n) for n in (position[1] or "").split(",") if n),)
    return made

"""ONNX models: read, checked, and run on the reference evaluator with this package's kernels in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from numpy.typing import ArrayLike

from gatherscatter.model_interface import ModelError, TensorInfo
from gatherscatter.onnx.check import check_model, opset_versions
from gatherscatter.onnx.evaluator import Evaluator
from gatherscatter.onnx.external_data import ExternalData
from gatherscatter.onnx.extra import onnx
from gatherscatter.onnx.inputs import check_inputs
from gatherscatter.onnx.labels import one_line
from gatherscatter.onnx.rewrite import FunctionKey, called, callees_first, normalise, without_initializers
from gatherscatter.onnx.tensors import type_name
from gatherscatter.onnx.time_limit import node_time_limit

MAX_BYTES = 2**31 - 1  # of one protobuf message


class OnnxModel:
    """A loaded ONNX model. Running it changes nothing in it, so threads may share it."""

    def __init__(
        self,
        graph: onnx.GraphProto,
        evaluator: Evaluator,
        initializers: dict[str, np.ndarray],
        time_limit: float | None = None,
    ) -> None:
        infos = [tensor_info(value) for value in graph.input]
        self.inputs = tuple(info for info in infos if info.name not in initializers)
        self.outputs = tuple(tensor_info(value) for value in graph.output)
        self.node_count = len(graph.node)
        self._defaults = tuple(info for info in infos if info.name in initializers)
        self._evaluator = evaluator
        self._initializers = initializers
        self._node_time_limit = time_limit

    def run(
        self, inputs: Mapping[str, ArrayLike], progress: Callable[[str], None] | None = None
    ) -> dict[str, np.ndarray]:
        """Run the graph; an input with a default may be left out. A node's error carries a note with its name."""
        given = check_inputs(self.inputs, inputs, optional=self._defaults)
        evaluator = self._evaluator if progress is None else self._evaluator.reporting(progress)
        limit = node_time_limit.set(self._node_time_limit)
        try:
            with np.errstate(all="ignore"):  # infinities and NaN are results like any other
                values = evaluator.run(None, {**self._initializers, **given})
        finally:
            node_time_limit.reset(limit)
        return {info.name: value for info, value in zip(self.outputs, values, strict=True)}


def load_onnx(model: str | os.PathLike[str] | onnx.ModelProto, *, time_limit: float | None = None) -> OnnxModel:
    """Load a model from a file, external data included, or from a ``ModelProto``; raise `ModelError` if it is bad.

    ``time_limit`` is how many seconds a node may take.
    """
    with errors_naming(model):
        checked, initializers = read_onnx(model)
        return OnnxModel(checked.graph, _evaluator(checked), initializers, time_limit)


@contextmanager
def errors_naming(model: str | os.PathLike[str] | onnx.ModelProto) -> Iterator[None]:
    """Make all errors ModelErrors that name the model."""
    source = "ModelProto" if isinstance(model, onnx.ModelProto) else str(os.fspath(model))
    try:
        yield
    except ModelError as error:
        raise ModelError(f"{source}: {one_line(error)}") from error.__cause__
    except OSError as error:
        raise ModelError(f"{source}: {error.strerror or error}") from error
    except Exception as error:  # names that aren't UTF-8 (protobuf returns bytes), and damage nobody thought of
        reason = one_line(f"{type(error).__name__}: {error}")
        raise ModelError(f"{source}: a part of it can't be read ({reason})") from error


def read_onnx(source: str | os.PathLike[str] | onnx.ModelProto) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """A model without the initializers of its main graph, and these; checked and normalised, as if it were to run."""
    if isinstance(source, onnx.ModelProto):
        model, files = source, ExternalData()
    else:
        model, files = parse_onnx(Path(source)), ExternalData(Path(source))
    if not model.HasField("graph"):
        raise ModelError("not an ONNX model (it has no graph)")
    initializers: dict[str, np.ndarray] = {}
    for tensor in model.graph.initializer:
        where = f"initializer {tensor.name!r}"
        if not tensor.name or tensor.name in initializers:
            raise ModelError(f"{where}: there is one of that name already" if tensor.name else "a nameless initializer")
        array = files.load(tensor, where)
        array.flags.writeable = False  # it may be an output too, and then it is in the caller's hands
        initializers[tensor.name] = array
    model = without_initializers(model)
    normalise(model)
    check_model(model, initializers, files)
    _check_defaults(model.graph.input, initializers)
    return model, initializers


def _evaluator(model: onnx.ModelProto) -> Evaluator:
    try:
        made: dict[FunctionKey, Evaluator] = {}
        for key, function in callees_first(model.functions, model.graph.node).items():
            made[key] = Evaluator(function, functions=[made[callee] for callee in called(function.node, made)])
        functions = [made[key] for key in called(model.graph.node, made)]
        return Evaluator(model.graph, opsets=opset_versions(model), functions=functions)
    except (ModelError, RecursionError):
        raise
    except Exception as error:  # whatever the onnx package finds wrong with an operator, in its many types
        raise ModelError(one_line(error) or type(error).__name__) from error


def parse_onnx(path: Path) -> onnx.ModelProto:
    """The model in a file, without its external data and unchecked; ModelError if it is not an ONNX model."""
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise ModelError(f"{size} bytes are more than an ONNX file can have; large tensors go into external data")
    model = onnx.ModelProto()
    try:
        model.ParseFromString(path.read_bytes())
    except DecodeError as error:
        raise ModelError(f"not an ONNX model, or a truncated one ({one_line(error)})") from error
    return model


def _check_defaults(inputs: Iterable[onnx.ValueInfoProto], initializers: Mapping[str, np.ndarray]) -> None:
    defaults = [tensor_info(value) for value in inputs if value.name in initializers]
    check_inputs((), {info.name: initializers[info.name] for info in defaults}, optional=defaults)


def tensor_info(value: onnx.ValueInfoProto) -> TensorInfo:
    """What a graph says about an input or output; a negative dimension counts as unknown, as it does elsewhere."""
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        return TensorInfo(value.name, (kind or "undefined").removesuffix("_type"), None)
    tensor = value.type.tensor_type
    shape = tuple(_dim(dim) for dim in tensor.shape.dim) if tensor.HasField("shape") else None
    return TensorInfo(value.name, type_name(tensor.elem_type), shape)


def _dim(dim: onnx.TensorShapeProto.Dimension) -> int | str | None:
    if dim.HasField("dim_value"):
        return dim.dim_value if dim.dim_value >= 0 else None
    return dim.dim_param or None

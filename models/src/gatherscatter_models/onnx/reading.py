"""Read ONNX models. Another process checks them first (`checking`)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from gatherscatter_models.interface import ModelError, TensorInfo
from gatherscatter_models.onnx.checking import Refusal, check_model
from gatherscatter_models.onnx.graph import normalise, one_line, without_initializers
from gatherscatter_models.onnx.tensors import ExternalData, external_tensors, type_name
from gatherscatter_models.onnx.value_info import declared_dim

MAX_BYTES = 2**31 - 1  # of one protobuf message


class CheckedModel(NamedTuple):
    """A model that was checked as for a run.

    Attributes
    ----------
    proto : the normalised model, without the initializers of its main graph
    initializers : these, by name. They cannot be written to
    refusal : what ONNX Runtime, with gatherscatter's library, can't do with the model
    """

    proto: onnx.ModelProto
    initializers: dict[str, np.ndarray]
    refusal: Refusal


@contextmanager
def name_model_in_errors(model: str | os.PathLike[str] | onnx.ModelProto) -> Iterator[None]:
    """Turn all errors in a block into ModelErrors that name the model."""
    source = "ModelProto" if isinstance(model, onnx.ModelProto) else one_line(str(os.fspath(model)))
    try:
        yield
    except ModelError as error:
        raise ModelError(f"{source}: {one_line(error)}") from error.__cause__
    except OSError as error:
        raise ModelError(f"{source}: {error.strerror or error}") from error
    except Exception as error:  # names that aren't UTF-8 (protobuf returns bytes), and unforeseen damage
        reason = one_line(f"{type(error).__name__}: {error}")
        raise ModelError(f"{source}: a part of it can't be read ({reason})") from error


def read_onnx(source: str | os.PathLike[str] | onnx.ModelProto) -> CheckedModel:
    """Read a model and check it as for a run."""
    path, model = None, source
    if not isinstance(model, onnx.ModelProto):
        path = Path(model)
        model = parse_onnx(path)
    if not model.HasField("graph"):
        raise ModelError("not an ONNX model (it has no graph)")
    files = ExternalData(path)
    if path is None and any(external_tensors(model)):
        raise ModelError("its data is in another file; give the model's path instead of a ModelProto")
    refusal = check_model(source)
    initializers: dict[str, np.ndarray] = {}
    for tensor in model.graph.initializer:
        array = initializers[tensor.name] = files.load(tensor, f"initializer {tensor.name!r}")
        array.flags.writeable = False  # it may also be an output, which the caller could change
    model = without_initializers(model)
    normalise(model)
    for tensor in external_tensors(model):  # the onnx package reads tensors in nodes
        files.embed(tensor, f"tensor {tensor.name!r}")
    return CheckedModel(model, initializers, refusal)


def parse_onnx(path: Path) -> onnx.ModelProto:
    """Return the model in a file, unchecked and without its external data; ModelError if it is not an ONNX model."""
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise ModelError(f"{size} bytes are more than an ONNX file can have; store large tensors as external data")
    return parse_bytes(path.read_bytes())


def parse_bytes(content: bytes) -> onnx.ModelProto:
    """Return the model in the bytes of a file, unchecked; ModelError if they are not an ONNX model."""
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError as error:
        raise ModelError(f"not an ONNX model, or a truncated one ({one_line(error)})") from error
    return model


def tensor_info(value: onnx.ValueInfoProto) -> TensorInfo:
    """Return the declaration of an input or output. A negative dimension counts as unknown."""
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        return TensorInfo(value.name, (kind or "undefined").removesuffix("_type"), None)
    tensor = value.type.tensor_type
    shape = tuple(map(declared_dim, tensor.shape.dim)) if tensor.HasField("shape") else None
    return TensorInfo(value.name, type_name(tensor.elem_type), shape)


def opset_versions(proto: onnx.ModelProto | onnx.FunctionProto, graph: str = "") -> dict[str, int]:
    """Return the opset imports as a mapping of domains to versions."""
    opsets: dict[str, int] = {}
    for entry in proto.opset_import:
        if opsets.setdefault(entry.domain, entry.version) != entry.version:
            raise ModelError(f"two opsets of domain {entry.domain or 'ai.onnx'!r} are imported{graph}")
    if not opsets and isinstance(proto, onnx.ModelProto) and proto.ir_version < 3:
        opsets[""] = 1  # before IR version 3 there were no opset imports
    newest = onnx.defs.onnx_opset_version()
    if "" in opsets and not 1 <= opsets[""] <= newest:
        raise ModelError(f"opset {opsets['']}{graph} isn't supported; the installed onnx package has 1 to {newest}")
    return opsets

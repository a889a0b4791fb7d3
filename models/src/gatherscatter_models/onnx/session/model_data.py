"""A model in the form that ONNX Runtime reads: bytes, and the folder of its external data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import onnx

from gatherscatter_models.onnx.graph import without_initializers
from gatherscatter_models.onnx.tensors import ExternalData, append_data, external_tensors, is_external, layout

_MOST_BYTES = 2**31 - 2**26  # of all tensors in a message; the rest is for nodes
_LEAST_BYTES = 1024  # of a tensor that is written to a file


class ModelData(NamedTuple):
    """The bytes of a model. ``folder`` is the folder of its external data; None if it has none."""

    content: bytes
    folder: str | None


def is_too_large(model: onnx.ModelProto) -> bool:
    """Whether the tensors of a model are too large for one message."""
    tensors = (tensor for tensor in model.graph.initializer if not is_external(tensor))
    return sum(layout(tensor, f"initializer {tensor.name!r}").nbytes for tensor in tensors) > _MOST_BYTES


def write_tensors(model: onnx.ModelProto, file: Path) -> onnx.ModelProto:
    """Return a copy of a model with its large initializers as external data in a new file."""
    copy = without_initializers(model)
    with file.open("wb") as stream:
        for tensor in model.graph.initializer:
            data = tensor.raw_data
            if len(data) < _LEAST_BYTES:
                copy.graph.initializer.append(tensor)
                continue
            stub = copy.graph.initializer.add(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
            append_data(stub, data, stream, file.name)
    return copy


def serialise(model: onnx.ModelProto, path: Path) -> ModelData:
    """Serialise a model from ``path``, which need not exist. The paths of its external data are changed in place.

    They become relative to the folder that holds all files. A model cache keeps links to files elsewhere, and ONNX
    Runtime follows links for a model with a path, but not for bytes.
    """
    files = ExternalData(path)
    tensors = list(external_tensors(model))
    found = [files.file(tensor, f"initializer {tensor.name!r}") for tensor in tensors]
    folder = os.path.commonpath([file.parent for file in found]) if found else None
    for tensor, file in zip(tensors, found, strict=True):
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = os.path.relpath(file, folder)
    return ModelData(model.SerializeToString(), folder)

"""The files of a model: those that it is read from, and those written when it is saved."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gatherscatter.system.files import find_overwritten_input
from gatherscatter_models.interface import ModelError
from gatherscatter_models.onnx.tensors import external_tensors


def model_outputs(path: Path) -> list[Path]:
    """Return the files that saving a model may write: an .xml has a .bin next to it, a large .onnx a tensor file."""
    suffix = path.suffix.lower()
    data_files = {".xml": [path.with_suffix(".bin")], ".onnx": [path.with_name(f"{path.name}.data")]}
    return [path, *data_files.get(suffix, [])]


def model_inputs(path: Path) -> list[Path]:
    """Return the files that a model is read from: its own, the .bin of an .xml, and external data of an .onnx."""
    suffix = path.suffix.lower()
    weights = [path.with_suffix(".bin")] if suffix != ".onnx" else []
    return [path, *weights, *(_external_data(path) if suffix != ".xml" else ())]


def _external_data(path: Path) -> list[Path]:
    try:
        from gatherscatter_models.onnx.reading import parse_onnx

        tensors = list(external_tensors(parse_onnx(path)))
    except (ImportError, OSError, ModelError):
        return []  # a model that can't be read has no data to protect
    values = {entry.value for tensor in tensors for entry in tensor.external_data if entry.key == "location"}
    return [path.parent / value for value in values if isinstance(value, str) and "\0" not in value]


def refuse_own_input(out: str | os.PathLike[str], model: Any) -> None:
    """Raise ModelError if writing a model to ``out`` would overwrite the model that it is made from."""
    if not isinstance(model, str | os.PathLike):
        return
    if (found := find_overwritten_input(model_outputs(Path(out)), model_inputs(Path(model)))) is not None:
        raise ModelError(
            f"{found[0]}: this would overwrite {found[1]}, which the model is read from; give another name"
        )

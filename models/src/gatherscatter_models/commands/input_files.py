"""Read the inputs of a model from files: arrays by name if it is known, otherwise in order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gatherscatter.arrays.tensor_files import read_tensors
from gatherscatter.cli.input_files import choose_tensor, split_name
from gatherscatter.messages.text import shape_text
from gatherscatter_models.interface import Model, ModelError, TensorInfo


def read_inputs(model: Model, named: Sequence[str], files: Sequence[Path]) -> dict[str, np.ndarray]:
    """Read arrays from ``NAME=FILE`` texts and from files, and return them by input name."""
    names = [info.name for info in model.inputs]
    arrays: dict[str, np.ndarray] = {}
    unnamed: list[tuple[Path, np.ndarray]] = []
    for text in named:
        name, file = split_name(text, names) or (text, "")
        if not file:
            raise ModelError(f"--input {text}: write it as NAME=FILE")
        _add_array(arrays, name, choose_tensor(Path(file), name), file)
    for path in files:
        for name, array in read_tensors(path).items():
            if name in names or path.suffix == ".npz":
                _add_array(arrays, name, array, str(path))
            else:  # an array without a name, or a .pb with a name that the model does not have
                unnamed.append((path, array))
    free = [name for name in names if name not in arrays]
    for path, array in unnamed:
        if not free:
            raise ModelError(f"{path}: all {len(names)} inputs of the model are given already")
        arrays[free.pop(0)] = array
    return arrays


def require_all(model: Model, arrays: dict[str, np.ndarray]) -> None:
    """Raise an error that lists the inputs without an array, if there are any."""
    missing = [info for info in model.inputs if info.name not in arrays]
    if missing:
        raise ModelError(
            f"no array for {', '.join(map(describe, missing))}: give files (--input NAME=FILE) or use --random-inputs"
        )


def describe(info: TensorInfo) -> str:
    """Describe an input or output in a message: ``indices int64 (n, 2)``."""
    return f"{info.name} {info.element_type} {shape_text(info.shape)}"


def _add_array(arrays: dict[str, np.ndarray], name: str, array: np.ndarray, file: str) -> None:
    if name in arrays:
        raise ModelError(f"{file}: input {name!r} is given twice")
    arrays[name] = array

"""Read tensors from files that a command names."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from gatherscatter.arrays.tensor_files import TensorFileError, read_tensors


def split_name(text: str, names: Iterable[str]) -> tuple[str, str] | None:
    """Split ``NAME=VALUE``. A known name can contain ``=``. Return None if there is no name."""
    for name in sorted(names, key=len, reverse=True):
        if text.startswith(f"{name}="):
            return name, text[len(name) + 1 :]
    name, found, value = text.partition("=")
    return (name, value) if found else None


def read_one(path: Path) -> np.ndarray:
    """Read the only tensor in a file."""

    return _require_one_tensor(read_tensors(path), path)


def choose_tensor(path: Path, name: str) -> np.ndarray:
    """Return the tensor with this name in a file, or its only tensor with any name."""

    tensors = read_tensors(path)
    return tensors[name] if name in tensors else _require_one_tensor(tensors, path)


def _require_one_tensor(tensors: dict[str, np.ndarray], path: Path) -> np.ndarray:
    if len(tensors) != 1:
        names = f" ({', '.join(tensors)})" if tensors else ""
        raise TensorFileError(f"{path} has {len(tensors)} arrays{names}; it must have one")
    return next(iter(tensors.values()))

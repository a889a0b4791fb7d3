"""The names of files with tensors that a command writes."""

from __future__ import annotations

from pathlib import Path

from gatherscatter.arrays.tensor_files import TensorFileError

SUFFIXES = (".npy", ".npz", ".pb")


def check_suffix(path: Path) -> Path:
    """Return the path. Raise an error unless its suffix is one that can be written."""
    if path.suffix not in SUFFIXES:
        raise TensorFileError(f"{path}: the name must end in {', '.join(SUFFIXES)} (or in / for a folder)")
    return path

"""Write the outputs of a model: all to one file, all to a folder, or each to its own file."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np

from gatherscatter.arrays.tensor_files import write_tensors
from gatherscatter.cli.files import OutputText, check_outputs
from gatherscatter.cli.input_files import split_name
from gatherscatter.cli.output_files import check_suffix
from gatherscatter_models.interface import ModelError


class OutputFiles:
    """The files of the outputs. They are checked before the run, so a bad file name does not waste a long run."""

    def __init__(self, targets: Sequence[str], names: Sequence[str]) -> None:
        self._names = list(names)
        self._files: list[tuple[Path, list[str]]] = []
        self._folders: list[Path] = []
        for target in targets:
            self._add(target)

    def _add(self, target: str) -> None:
        name, file = split_name(target, self._names) or ("", target)
        if name and name not in self._names:
            raise ModelError(f"--output {target}: no output {name!r}; the outputs are {', '.join(self._names)}")
        if name:
            self._files.append((check_suffix(Path(file)), [name]))
        elif target.endswith(("/", os.sep)) or Path(target).is_dir():
            self._folders.append(Path(target))
            self._files += [(Path(target) / file_name, [name]) for name, file_name in self._file_names().items()]
        else:
            path = check_suffix(Path(target))
            if path.suffix != ".npz" and len(self._names) != 1:
                raise ModelError(
                    f"--output {target}: a {path.suffix} file holds one tensor, the model has {len(self._names)} "
                    "outputs: use a .npz file, a folder (out/) or NAME=FILE"
                )
            self._files.append((path, self._names))

    def check(self) -> None:
        """Raise a usage error unless all files can be written without data loss."""
        context = click.get_current_context()
        option = next(one for one in context.command.params if isinstance(one.type, OutputText))
        check_outputs(context, [(option, path) for path, _ in self._files], folders=self._folders)

    def _file_names(self) -> dict[str, str]:
        """Return a distinct file name for each output. Slashes, colons and the like in output names are replaced."""
        names: dict[str, str] = {}
        for name in self._names:
            stem = re.sub(r"[^\w.-]", "_", name).lstrip(".") or "output"
            while f"{stem}.npy" in names.values():
                stem += "_"
            names[name] = f"{stem}.npy"
        return names

    def write(self, outputs: dict[str, np.ndarray]) -> list[Path]:
        """Write every file and return their paths."""
        for folder in self._folders:
            folder.mkdir(exist_ok=True)
        for path, names in self._files:
            write_tensors(path, {name: outputs[name] for name in names})
        return [path for path, _ in self._files]

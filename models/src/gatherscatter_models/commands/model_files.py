"""Parameters of commands that name model files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gatherscatter.cli.files import InputFile, OutputFile


class ModelFile(InputFile):
    """An existing model file, with the files that hold its tensors."""

    def inputs(self, value: Any) -> Iterable[Path]:
        """Return the files that are read."""
        from gatherscatter_models.onnx.model_files import model_inputs

        return model_inputs(value)


class ModelOutput(OutputFile):
    """A model file that is written, with the file that holds its tensors."""

    def outputs(self, value: Any) -> Iterable[Path]:
        """Return the files that are written."""
        from gatherscatter_models.onnx.model_files import model_outputs

        return model_outputs(value)

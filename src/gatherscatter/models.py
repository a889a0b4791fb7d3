"""Model files to results: one front door for ONNX and OpenVINO IR."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    import onnx as onnx_package

    ModelSource = str | os.PathLike[str] | onnx_package.ModelProto

ENGINES = ("gatherscatter", "openvino")


class ModelError(ValueError):
    """A model file or its inputs can't be used; the text is one clear line."""


class TensorInfo(NamedTuple):
    """Name, element type and shape of a model's input or output; ``None`` stands for what is unknown."""

    name: str
    element_type: str
    shape: tuple[int | str | None, ...] | None


class Model(Protocol):
    """What `load` returns, whatever the file format."""

    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    node_count: int

    def run(
        self, inputs: Mapping[str, ArrayLike], progress: Callable[[str], None] | None = None
    ) -> dict[str, np.ndarray]:
        """Run the graph; ``progress`` is called with a description before every top-level node."""
        ...


def load(model: ModelSource, *, engine: str = "gatherscatter") -> Model:
    """Load a model from a path (``.onnx``, or ``.xml`` of an OpenVINO IR) or from an ``onnx.ModelProto``.

    ``engine="gatherscatter"`` runs the gather and scatter nodes on this package's kernels;
    ``engine="openvino"`` runs the whole model in the ``openvino`` package.
    Raises `ModelError` when the model can't be used.
    """
    if engine not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(ENGINES)}; got {engine!r}")
    if isinstance(model, str | os.PathLike):
        model = _existing_file(model)
    if engine == "openvino":
        from gatherscatter.openvino.engine import load_openvino

        return load_openvino(model)
    if isinstance(model, Path) and _is_xml(model):
        from gatherscatter.openvino.ir import load_ir

        return load_ir(model)
    from gatherscatter.onnx.model import load_onnx

    return load_onnx(model)


def run(
    model: ModelSource, inputs: Mapping[str, ArrayLike] | Sequence[ArrayLike], *, engine: str = "gatherscatter"
) -> dict[str, np.ndarray]:
    """Load a model, run it once, and return its outputs by name.

    ``inputs`` maps the names of the model's inputs to arrays, or lists the arrays in the model's order.
    """
    loaded = load(model, engine=engine)
    return loaded.run(name_inputs(loaded.inputs, inputs))


def name_inputs(
    infos: Sequence[TensorInfo], inputs: Mapping[str, ArrayLike] | Sequence[ArrayLike]
) -> Mapping[str, Any]:
    """Give each array of a sequence the name of the input at its position; a mapping stays what it is."""
    if isinstance(inputs, Mapping):
        return inputs
    if len(inputs) != len(infos):
        names = ", ".join(info.name for info in infos)
        raise ModelError(f"the model has {len(infos)} inputs ({names}); {len(inputs)} arrays were given")
    return {info.name: array for info, array in zip(infos, inputs, strict=True)}


def _existing_file(model: str | os.PathLike[str]) -> Path:
    path = Path(model)
    if path.is_file():
        return path
    raise ModelError(f"{path}: {'not a regular file' if path.exists() else 'no such file'}")


def _is_xml(path: Path) -> bool:
    """The suffix decides; a file with neither suffix is XML if it looks like a tag (no ONNX file begins with ``<``)."""
    suffix = path.suffix.lower()
    if suffix in (".xml", ".onnx"):
        return suffix == ".xml"
    with path.open("rb") as file:
        return file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<")

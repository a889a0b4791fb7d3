"""The interface of models in all file formats, and the names of their inputs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter.arrays.convert import as_array
from gatherscatter.arrays.kinds import check_kind
from gatherscatter.errors import OpError


class ModelError(ValueError):
    """A model file or its inputs can't be used. The message is one line."""


class TensorInfo(NamedTuple):
    """Name, element type and shape of a model's input or output. ``None`` means an unknown rank or size."""

    name: str
    element_type: str
    shape: tuple[int | str | None, ...] | None


class Model(Protocol):
    """A loaded model of any file format; `gatherscatter_models.loading.load` returns it."""

    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    node_count: int

    def run(
        self, inputs: Mapping[str, ArrayLike], progress: Callable[[str], None] | None = None
    ) -> dict[str, np.ndarray]:
        """Run the graph. ``progress`` is called with a description before every top-level node."""
        ...


def is_openvino_model(model: object) -> bool:
    """Whether an object is an `openvino.Model`. It is known by its methods, so OpenVINO need not be imported."""
    return hasattr(model, "get_ordered_ops") and hasattr(model, "get_results")


def is_ir(model: object) -> bool:
    """Whether a model is an ``openvino.Model`` or the XML file of an IR. A file is known by its suffix or its begin."""
    if not isinstance(model, str | os.PathLike):
        return is_openvino_model(model)
    path = Path(model)
    suffix = path.suffix.lower()
    return suffix == ".xml" or (suffix != ".onnx" and path.is_file() and begins_as_xml(path))


def begins_as_xml(file: Path) -> bool:
    """Whether a file begins with ``<``, as no ONNX file does."""
    with file.open("rb") as opened:
        return opened.read(64).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<")


def check_model(model: object, *, kinds: str = "a path, bytes, a ModelProto or an openvino.Model") -> None:
    """Refuse an object of another library that is not one of the kinds of models that are read."""
    if "openvino.Model" in kinds and is_openvino_model(model):
        return
    if isinstance(model, str | os.PathLike) or (hasattr(model, "SerializeToString") and hasattr(model, "graph")):
        return
    if isinstance(model, bytes) and "bytes" in kinds:
        return
    packages = [base.__module__.partition(".")[0] for base in type(model).__mro__]
    name = type(model).__name__ if packages[0] == "builtins" else f"{packages[0]}.{type(model).__name__}"
    advice = next((_INSTEAD[package] for package in packages if package in _INSTEAD), "")
    raise ModelError(f"the model must be {kinds}, not {name}{advice}")


_INSTEAD = {
    "openvino": "; give the openvino.Model, or the path of a file that openvino.save_model(model, path) has written",
    "torch": "; export it with torch.onnx.export(model, arguments, 'model.onnx'), and give this path",
    "jax": "; export it to ONNX, and give the path of the file",
    "jaxlib": "; export it to ONNX, and give the path of the file",
    "onnxruntime": "; give the path of the file that it was made from",
}


def name_inputs(
    infos: Sequence[TensorInfo], inputs: Mapping[str, ArrayLike] | Sequence[ArrayLike]
) -> Mapping[str, Any]:
    """Give each array of a sequence the name of the input at its position. A mapping is returned unchanged."""
    if isinstance(inputs, Mapping):
        for name in inputs:
            if not isinstance(name, str):
                raise ModelError(f"the names of inputs must be text, not {name!r}")
        return inputs
    names = ", ".join(info.name for info in infos)
    if not isinstance(inputs, list | tuple):
        text = f"inputs must be a list of arrays, or a dict with the names {names}, not {type(inputs).__name__}"
        raise ModelError(f"{text}; for one input, pass [inputs]" if hasattr(inputs, "ndim") else text)
    if len(inputs) != len(infos):
        raise ModelError(f"the model has {len(infos)} inputs ({names}), but got {len(inputs)}")
    return {info.name: array for info, array in zip(infos, inputs, strict=True)}


def read_model_input(name: str, value: Any) -> Any:
    """Return an input of a model as an array. Lists and numbers have no type yet, and stay what they are.

    Raises
    ------
    ModelError
        The value is of a kind that is not read as an array.
    """
    argument = f"inputs[{name!r}]"
    try:
        if isinstance(value, list | tuple):
            check_kind("run", argument, value)
        elif type(value) is not np.ndarray and not isinstance(value, int | float | complex | str | bytes | np.generic):
            return as_array("run", argument, value)
    except OpError as error:
        raise ModelError(str(error).removeprefix("run: ")) from None
    return value

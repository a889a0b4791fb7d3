"""The runtimes that can be asked: one file per library."""

from __future__ import annotations

from importlib import import_module

from gatherscatter.conformance.runtimes.runtime import NotAskedError, Runtime

__all__ = ["NAMES", "NotAskedError", "Runtime", "find", "installed"]

# name: file and class
_FILES = {
    "gatherscatter": "ours:Arrays",
    "gatherscatter-model": "ours:Models",
    "onnxruntime": "by_onnxruntime:OnnxRuntime",
    "onnxruntime-1-thread": "by_onnxruntime:OnnxRuntimeOneThread",
    "onnx-reference": "by_onnx_reference:OnnxReference",
    "openvino": "by_openvino:OpenVino",
    "openvino-onnx": "by_openvino:OpenVinoOnnx",
    "tract": "by_tract:Tract",
    "onnx2torch": "by_onnx2torch:Onnx2Torch",
    "numpy": "by_numpy:Numpy",
    "pytorch": "by_pytorch:PyTorch",
    "jax": "by_jax:Jax",
    "jax-x64": "by_jax:Jax64",
    "tensorflow": "by_tensorflow:TensorFlow",
}

NAMES = tuple(_FILES)
"""The runtimes that this package knows."""


def find(name: str) -> Runtime:
    """The runtime of a name, or the class ``module:Class`` of somebody's own.

    >>> from gatherscatter.conformance import runtimes
    >>> runtimes.find("numpy").title
    'NumPy recipes'

    Raises
    ------
    LookupError
        There is none of that name.
    ImportError
        There is no such module.
    """
    place = f"{__name__}.{_FILES[name]}" if name in _FILES else name
    module, _, attribute = place.partition(":")
    if not attribute:
        raise LookupError(f"there is no runtime {name!r}; there are {', '.join(NAMES)}, and module:Class of your own")
    made = getattr(import_module(module), attribute, None)
    if not (isinstance(made, type) and issubclass(made, Runtime)):
        raise LookupError(f"{name!r} is no subclass of gatherscatter.conformance.runtimes.Runtime")
    return made()


def installed() -> list[str]:
    """The names of those whose packages are there."""
    return [name for name in NAMES if not find(name).missing()]

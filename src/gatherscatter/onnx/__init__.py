"""The operators of ONNX, as their specification has them: ``ScatterND(data, indices, updates, opset=18)``.

Needs nothing but NumPy. The modules that work on model files are beside it and need the ``onnx`` extra. Loaded when
first used: `reference_ops`, our operators in ONNX's reference evaluator, and `InferenceSession`, ONNX Runtime with our
kernels.
"""

from importlib import import_module
from typing import Any

from gatherscatter.families import family

_functions = family("onnx")
globals().update(_functions)
__all__ = list(_functions)

_LATER = {"reference_ops": "reference", "InferenceSession": "session"}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""The operators of OpenVINO, as their specification has them: ``GatherND(data, indices, batch_dims=1, opset=8)``.

Needs nothing but NumPy. Models in OpenVINO's own format are read without the ``openvino`` package, too. Loaded when
first used: `convert`, between ONNX and that format; `extensions` and `op_class`, our operators in OpenVINO itself.
"""

from importlib import import_module
from typing import Any

from gatherscatter.families import family

_functions = family("openvino")
globals().update(_functions)
__all__ = list(_functions)

_LATER = {"convert": "conversion", "extensions": "core_extensions", "op_class": "extension_ops"}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

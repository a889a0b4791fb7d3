"""The ``onnx`` package, or an ImportError that names the extra which brings it."""

from __future__ import annotations

try:
    import onnx
except ModuleNotFoundError as error:
    if error.name != "onnx":
        raise
    raise ImportError("ONNX models and .pb files need the 'onnx' extra: pip install 'gatherscatter[onnx]'") from error

__all__ = ["onnx"]

"""The ``onnxruntime`` package, or an ImportError that names the extra which brings it."""

from __future__ import annotations

try:
    import onnxruntime  # type: ignore[import-untyped]
except ModuleNotFoundError as error:
    if error.name != "onnxruntime":
        raise
    text = "InferenceSession needs the 'onnxruntime' extra: pip install 'gatherscatter[onnxruntime]'"
    raise ImportError(text) from error

__all__ = ["onnxruntime"]

"""The ``onnxruntime`` package, or an ImportError that names the extra to install."""

from __future__ import annotations

from gatherscatter.extras import require

with require("onnxruntime", text="InferenceSession needs ONNX Runtime", install="gatherscatter[onnxruntime]"):
    import onnxruntime  # type: ignore[import-untyped]

__all__ = ["onnxruntime"]

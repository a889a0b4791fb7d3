"""The ``onnx`` package, or an ImportError that names the extra to install."""

from __future__ import annotations

from gatherscatter.extras import require

with require("onnx", text="ONNX models and .pb files need ONNX", install="gatherscatter[onnx]"):
    import onnx

__all__ = ["onnx"]

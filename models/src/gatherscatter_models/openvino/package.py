"""The ``openvino`` package, or an ImportError that names the extra to install."""

from __future__ import annotations

from gatherscatter.system.extras import require

with require("openvino", text="this needs OpenVINO", install="gatherscatter-models[openvino]"):
    import openvino  # type: ignore[import-untyped]

__all__ = ["openvino"]

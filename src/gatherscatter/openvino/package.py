"""The ``openvino`` package, or an ImportError that names the extra which brings it."""

from __future__ import annotations

try:
    import openvino  # type: ignore[import-untyped]
except ModuleNotFoundError as error:
    if error.name != "openvino":
        raise
    raise ImportError("this needs the 'openvino' extra: pip install 'gatherscatter[openvino]'") from error

__all__ = ["openvino"]

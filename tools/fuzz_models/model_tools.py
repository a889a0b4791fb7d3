"""The tools that read a model without running it: doctor, converter and planner."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def plan_session(path: Path) -> object:
    """Move nodes to the native library as InferenceSession does, without ONNX Runtime."""
    from gatherscatter_models.interface import ModelError
    from gatherscatter_models.onnx.native_nodes import move_nodes
    from gatherscatter_models.onnx.reading import parse_onnx

    try:
        return move_nodes(parse_onnx(path), path)
    except Exception as error:  # after any error, ONNX Runtime runs the whole model
        raise ModelError("ONNX Runtime runs the whole model") from error


def examine(path: Path) -> object:
    from gatherscatter_models.doctor import examine

    return examine(path)


def convert(path: Path) -> object:
    from gatherscatter_models.openvino import convert

    return convert(path)


TOOLS: dict[str, Callable[[Path], object]] = {"doctor": examine, "convert": convert, "session": plan_session}

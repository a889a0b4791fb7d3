"""The tools that read a model without running it: doctor, converter and planner."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def plan_session(path: Path) -> object:
    """Cut a model as InferenceSession does, without ONNX Runtime."""
    from gatherscatter.model_interface import ModelError
    from gatherscatter.onnx.session import _read
    from gatherscatter.onnx.session.facts import ModelFacts
    from gatherscatter.onnx.session.family_nodes import family_nodes
    from gatherscatter.onnx.session.partition import partition

    try:
        facts = ModelFacts(_read(path), path)
        known = family_nodes(facts, 0)
        ours = {position for position, made in known.items() if made.needed}
        return partition(facts.model.graph, ours, known.keys() - ours, facts.given, [*facts.constants])
    except Exception as error:  # any error: ONNX Runtime gets the whole model then
        raise ModelError("ONNX Runtime has the whole model") from error


def examine(path: Path) -> object:
    from gatherscatter.doctor import examine

    return examine(path)


def convert(path: Path) -> object:
    from gatherscatter.openvino import convert

    return convert(path)


TOOLS: dict[str, Callable[[Path], object]] = {"doctor": examine, "convert": convert, "session": plan_session}

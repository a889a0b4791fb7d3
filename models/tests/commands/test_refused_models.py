"""run, doctor and convert refuse a model that can't run with the same sentence and exit code 2."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from gatherscatter_models.interface import ModelError
from gatherscatter_models.openvino import convert
from gatherscatter_models.openvino.ir_write import IRWriter
from tests.support.command_line import call
from tests.support.onnx_graphs import model, node

F32, I64 = np.float32, np.int64
X = {"x": (F32, [4])}
AT = {**X, "at": (I64, [2, 1]), "u": (F32, [2])}

REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "unknown operator": (node("Gahter", "x x", "y"), X, "No Op registered for Gahter"),
    "operator of an unknown domain": (node("Thing", "x", "y", domain="far"), X, "'Thing' from domain 'far' is unknown"),
    "missing input": (node("Gather", "x", "y"), X, "has input size 1 not in range [min=2, max=2]"),
    "undefined input": (node("Gather", "x z", "y"), X, "input 'z' of node:"),
    "unknown attribute": (node("Gather", "x at", "y", axes=1), AT, "Unrecognized attribute: axes"),
    "float indices": (node("Gather", "x x", "y"), X, "onnx.Gather-13: indices must be integers, not float32"),
    "float tuples": (node("GatherND", "x x", "y"), X, "onnx.GatherND-13: indices must be integers, not float32"),
    "narrow indices": (
        node("GatherND", "x at", "y"),
        {**X, "at": (np.int32, [2, 1])},
        "onnx.GatherND-13: indices can't be of type int32; allowed: int64",
    ),
    "mixed types": (
        node("ScatterND", "x at u", "y"),
        {**AT, "u": (np.float64, [2])},
        "onnx.ScatterND-18: updates must have the same type as data (float32), not float64",
    ),
    "unknown reduction": (
        node("ScatterND", "x at u", "y", reduction="median"),
        AT,
        "onnx.ScatterND-18: reduction must be one of 'none', 'add', 'mul', 'max', 'min', not 'median'",
    ),
    "shapes of updates": (
        node("ScatterND", "x at u", "y"),
        {**AT, "u": (F32, [3])},
        "onnx.ScatterND-18: updates has shape (3,), but must have (2,)",
    ),
    "ranks": (
        node("GatherElements", "x at", "y"),
        AT,
        "onnx.GatherElements-13: indices must have the same rank as data (1), not rank 2",
    ),
    "axis": (node("Gather", "x at", "y", axis=3), AT, "onnx.Gather-13: axis 3 is out of range"),
    "batch_dims": (node("GatherND", "x at", "y", batch_dims=-7), AT, "onnx.GatherND-13: batch_dims -7 is out of range"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_an_onnx_model_that_can_not_run_is_refused_by_all(kind: str, tmp_path: Path) -> None:
    one, inputs, reason = REFUSED[kind]
    domains = {one.domain: 1} if one.domain else {}
    made = model([one], inputs, {"y": (F32, None)}, domains=domains)
    path = tmp_path / "model.onnx"
    onnx.save(made, path)
    commands = {
        "run": ("run", path, "--random-inputs"),
        "doctor": ("doctor", path),
        "doctor with inputs": ("doctor", path, "--random-inputs"),
        "fix": ("doctor", path, "--fix", tmp_path / "fixed.onnx"),
        "convert": ("convert", path, tmp_path / "model.xml"),
        "convert for ONNX Runtime": ("convert", path, "--for", "onnxruntime", "-o", tmp_path / "fixed.onnx"),
    }
    results = {name: call(*map(str, words)) for name, words in commands.items()}
    texts = {name: result.stderr for name, result in results.items()}
    assert {name: result.exit_code for name, result in results.items()} == dict.fromkeys(commands, 2), texts
    assert reason in texts["run"]
    assert texts == dict.fromkeys(commands, texts["run"])
    assert sorted(each.name for each in tmp_path.iterdir()) == ["model.onnx"]


REFUSED_LAYERS: dict[str, tuple[str, str, list[str], dict[str, Any], str]] = {
    "unknown layer": ("Thing", "extension", ["x"], {}, "Thing"),
    "shapes of updates": (
        "ScatterNDUpdate",
        "opset15",
        ["x", "at", "long"],
        {"reduction": "none"},
        "updates_shape[0:indices_rank-1] shape must be indices_shape[:-1]",
    ),
    "unknown reduction": (
        "ScatterNDUpdate",
        "opset15",
        ["x", "at", "u"],
        {"reduction": "median"},
        '"median" is not a member of enum op::v15::ScatterNDUpdate::Reduction',
    ),
}


@pytest.mark.parametrize("kind", REFUSED_LAYERS)
def test_an_ir_that_can_not_run_is_refused_by_all(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    op_type, opset, inputs, attributes, reason = REFUSED_LAYERS[kind]
    writer = IRWriter("layers")
    given = {
        "x": writer.parameter("x", "f32", [4]),
        "at": writer.parameter("at", "i64", [2, 1]),
        "u": writer.parameter("u", "f32", [2]),
        "long": writer.parameter("long", "f32", [3]),
    }
    writer.result("y", writer.layer(op_type, opset, [given[name] for name in inputs], attributes=attributes))
    path = writer.save(tmp_path / "model.xml")
    commands = (
        ("run", path, "--random-inputs"),
        ("doctor", path),
        ("doctor", path, "--random-inputs"),
        ("convert", path, tmp_path / "made.onnx"),
    )
    results = [call(*map(str, words)) for words in commands]
    assert [result.exit_code for result in results] == [2] * len(commands)
    assert reason in results[0].stderr
    numbered = re.compile(r"_\d+")  # OpenVINO numbers nodes without names
    assert len({numbered.sub("", result.stderr) for result in results}) == 1
    with pytest.raises(ModelError):
        convert(path)

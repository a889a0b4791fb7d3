"""run, doctor and convert refuse a model that can't run with the same sentence and exit code 2."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest

from gatherscatter_models.interface import ModelError
from gatherscatter_models.openvino import convert
from gatherscatter_models.openvino.ir_write import IRWriter
from tests.support.command_line import call
from tests.support.onnx_graphs import function, model, node

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
    "axis of unknown sizes": (
        node("Gather", "x at", "y", axis=3),
        {"x": (F32, ["n"]), "at": (I64, ["m"])},
        "onnx.Gather-13: axis 3 is out of range for data of rank 1 (valid: -1..0); in node",
    ),
    "ranks of unknown sizes": (
        node("ScatterND", "x at u", "y"),
        {"x": (F32, ["n"]), "at": (I64, ["m", 1]), "u": (F32, ["m", "k"])},
        "onnx.ScatterND-18: no call has data of rank 1, indices of rank 2, updates of rank 2; in node",
    ),
    "tuples for unknown sizes": (
        node("GatherND", "x at", "y"),
        {"x": (F32, ["n"]), "at": (I64, ["m", 2])},
        "onnx.GatherND-13: index tuples of length 2 are too long",
    ),
    "batch_dims of unknown sizes": (
        node("GatherND", "x at", "y", batch_dims=3),
        {"x": (F32, ["n"]), "at": (I64, ["m", 1])},
        "onnx.GatherND-13: batch_dims 3 is out of range",
    ),
    "inputs of an own operator": (
        node("Gather", "x at at", "y", domain="gatherscatter"),
        AT,
        "gatherscatter.Gather takes the inputs data, indices, but got 3",
    ),
    "segment ids": (
        node("GatherReduce", "x line - long", "y", domain="gatherscatter"),
        {"x": (F32, [4, 2]), "line": (I64, [3]), "long": (I64, [5])},
        "gatherscatter.GatherReduce: segment_ids has shape (5,), but must have (3,)",
    ),
    "blocks": (
        node("GatherQuantized", "codes line scales", "y", domain="gatherscatter", block_size=7),
        {"codes": (np.uint8, [4, 8]), "line": (I64, [3]), "scales": (F32, [4, 1])},
        "gatherscatter.GatherQuantized: scales has shape (4, 1)",
    ),
    "size of a block": (
        node("GatherBlockQuantized", "codes line scales", "y", domain="com.microsoft", block_size=7),
        {"codes": (np.uint8, [4, 8]), "line": (I64, [3]), "scales": (F32, [4, 1])},
        "com.microsoft.GatherBlockQuantized-1: block_size must be a power of 2",
    ),
    "length of an update": (
        node("TensorScatter", "past new", "y"),
        {"past": (F32, [2, 3, 4]), "new": (F32, [2, 5, 4])},
        "onnx.TensorScatter-24: update must have the shape of past_cache",
    ),
    "batch_dims": (node("GatherND", "x at", "y", batch_dims=-7), AT, "onnx.GatherND-13: batch_dims -7 is out of range"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_an_onnx_model_that_can_not_run_is_refused_by_all(kind: str, tmp_path: Path) -> None:
    one, inputs, reason = REFUSED[kind]
    domains = {one.domain: 1} if one.domain else {}
    opset = 24 if one.op_type == "TensorScatter" else 18
    made = model([one], inputs, {"y": (F32, None)}, opset=opset, domains=domains)
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


def in_calls(*calls: tuple[str, str]) -> onnx.ModelProto:
    """Return a model that calls a function with a ScatterND, once for each pair of inputs and reduction."""
    body = node("ScatterND", "x at u", "y")
    body.attribute.add(name="reduction", ref_attr_name="reduction", type=onnx.AttributeProto.STRING)
    put = function("my", "Put", "x at u", "y", [body])
    put.attribute.append("reduction")
    nodes = [
        node("Put", f"x at {updates}", f"y{number}", domain="my", reduction=reduction)
        for number, (updates, reduction) in enumerate(calls)
    ]
    outputs: dict[str, Any] = {f"y{number}": (F32, None) for number in range(len(calls))}
    return model(nodes, {**AT, "long": (F32, [3])}, outputs, functions=[put], domains={"my": 1})


def test_each_call_of_a_function_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    for calls, reason in (
        ([("u", "add"), ("long", "add")], "updates has shape (3,), but must have (2,)"),
        ([("u", "add"), ("u", "avg")], "reduction must be one of 'none', 'add', 'mul', 'max', 'min', not 'avg'"),
    ):
        onnx.save(in_calls(*calls), path)
        for words in (["run", path, "--random-inputs"], ["doctor", path], ["convert", path, tmp_path / "model.xml"]):
            result = call(*map(str, words))
            assert result.exit_code == 2
            assert reason in result.stderr
    onnx.save(in_calls(("u", "add"), ("u", "max")), path)
    assert call("doctor", str(path)).exit_code == 0


@pytest.mark.parametrize("op_type", ["GatherBlockQuantized", "GatherQuantized"])
def test_the_check_of_a_large_table_takes_no_memory(op_type: str, tmp_path: Path) -> None:
    domain = "com.microsoft" if op_type == "GatherBlockQuantized" else "gatherscatter"
    table = {"codes": (np.uint8, [1 << 24, 1 << 16]), "line": (I64, [1 << 40]), "scales": (F32, [1 << 24, 1 << 12])}
    made = model([node(op_type, "codes line scales", "y", domain=domain, block_size=32)], table, {"y": (F32, None)},
                 domains={domain: 1})  # fmt: skip
    onnx.save(made, tmp_path / "model.onnx")
    result = call("doctor", str(tmp_path / "model.onnx"))
    assert result.exit_code == 0, result.stderr


def accepted() -> dict[str, onnx.ModelProto]:
    """Return valid models that the checker of the onnx package, or ONNX Runtime's Python interface, refuses."""
    made = {name: model([node("ScatterND", "x at u", "y")], AT, {"y": (F32, [4])}) for name in ("name", "version")}
    made["name"].graph.name = ""
    made["version"].ir_version = 0
    old = function("my", "Put", "x at u", "y", [node("ScatterND", "x at u", "y", reduction="add")], opset=16)
    made["opset of a function"] = model(
        [node("Put", "x at u", "y", domain="my")], AT, {"y": (F32, [4])}, functions=[old], domains={"my": 1}
    )
    scatter = function("my", "Put", "x at u", "y", [node("Scatter", "x at u", "y")], opset=11)
    made["retired operator"] = model(
        [node("Put", "x at u", "y", domain="my")],
        {**X, "at": (I64, [2]), "u": (F32, [2])},
        {"y": (F32, [4])},
        opset=11,
        functions=[scatter],
        domains={"my": 1},
    )
    unused = function("my", "Thing", "x", "y", [node("Thing", "x", "y")])
    made["unused function"] = model(
        [node("ScatterND", "x at u", "y")], AT, {"y": (F32, [4])}, functions=[unused], domains={"my": 1}
    )
    cache = {"past": (F32, [2, 3, 4]), "new": (F32, [2, 1, 4]), "at": (I64, [2])}
    made["strings"] = model([node("TensorScatter", "past new at", "y")], cache, {"y": (F32, [2, 3, 4])}, opset=24)
    for value in (*made["strings"].graph.input[:2], *made["strings"].graph.output):
        value.type.tensor_type.elem_type = onnx.TensorProto.STRING
    narrow = {"x": (ml_dtypes.bfloat16, [4]), "at": (I64, [2, 1]), "u": (ml_dtypes.bfloat16, [2])}
    made["bfloat16"] = model([node("ScatterND", "x at u", "y")], narrow, {"y": (ml_dtypes.bfloat16, [4])})
    return made


@pytest.mark.parametrize("name", accepted())
def test_a_model_that_onnxruntime_runs_is_not_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "line\nbreak.onnx"
    onnx.save(accepted()[name], path)
    for words in (
        ["run", path, "--random-inputs"],
        ["doctor", path],
        ["convert", path, "--for", "onnxruntime", "-o", tmp_path / "fixed.onnx"],
    ):
        result = call(*map(str, words))
        assert result.exit_code == 0, result.stderr


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
    path = writer.save(tmp_path / "model.xml").rename(tmp_path / "model")  # known by its content
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

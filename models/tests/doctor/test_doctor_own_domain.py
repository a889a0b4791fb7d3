"""The doctor's results for nodes of the domain ``gatherscatter``, and its recommendations of that domain."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx

from gatherscatter_models.doctor import examine, fix
from gatherscatter_models.doctor.page import page
from tests.support.command_line import succeed
from tests.support.onnx_graphs import model, node


def scatter(**attributes: object) -> onnx.ModelProto:
    """Return a ScatterND with a reduction, in our domain if it has the attribute ``opset``, and a Gather of ONNX."""
    domain = "gatherscatter" if "opset" in attributes else ""
    return model(
        [
            node("ScatterND", "x at new", "sums", "adding", domain=domain, reduction="add", **attributes),  # type: ignore[arg-type]
            node("Neg", "sums", "out"),
        ],
        {"x": (np.float32, ["n"]), "at": (np.int64, ["m", 1]), "new": (np.float32, ["m"])},
        {"out": (np.float32, ["n"])},
        domains={"gatherscatter": 1},
    )


CONVERT = (
    "onnxruntime: for any language, gatherscatter convert MODEL FIXED.onnx --for onnxruntime writes a model with "
    "correct results"
)
PYTHON = "onnxruntime: in Python, gatherscatter_models.onnx.InferenceSession(MODEL) gives correct results"
LIBRARY = (
    "onnxruntime: nodes of the domain gatherscatter need gatherscatter's library; gatherscatter library prints its path"
)
ELSEWHERE = "no library has the domain gatherscatter; use the model without this domain"


def test_the_library_is_recommended_where_onnx_runtime_departs() -> None:
    assert examine(scatter()).advice == [PYTHON, CONVERT]
    assert examine(scatter(), targets=["openvino"]).advice == []
    open_to_order = scatter()
    open_to_order.graph.node[0].attribute[0].s = b"none"
    promised = [line.replace("correct results", "the same results in every run") for line in (PYTHON, CONVERT)]
    assert examine(open_to_order).advice == promised
    gather = model([node("Gather", "x at", "out")], {"x": (np.float32, [4]), "at": (np.int64, [1])}, {})
    assert examine(gather, targets=["onnxruntime"]).advice == []


def test_nodes_of_the_domain_are_right_in_onnx_runtime_only() -> None:
    inputs = {"x": np.zeros(4, np.float32), "at": np.array([[1], [1], [-1]]), "new": np.ones(3, np.float32)}
    for given in (None, inputs):
        diagnosis = examine(scatter(opset=18), given)
        [found] = diagnosis.nodes
        assert found.site.row.name == "gatherscatter.ScatterND-18"
        verdicts = {target: str(verdict) for target, verdict in found.verdicts.items()}
        assert verdicts == {"onnxruntime": "supported", "openvino": "not for this format"}
        assert diagnosis.advice == [LIBRARY, f"openvino: {ELSEWHERE}"]
        assert found.facts == ("computed at run time" if given is None else "3 tuples, -1..1, 1 negative, 1 repeated")
    assert examine(scatter(opset=18), targets=["onnxruntime"]).advice == [LIBRARY]


def test_nodes_of_the_domain_are_not_rewritten(tmp_path: Path) -> None:
    fixed = fix(scatter(opset=18), tmp_path / "fixed.onnx", run_on=())
    assert (fixed.made, fixed.left, fixed.path) == ((), (), None)


def test_the_advice_is_in_all_reports(tmp_path: Path) -> None:
    diagnosis = examine(scatter())
    assert diagnosis.data()["advice"] == [PYTHON, CONVERT]
    assert CONVERT in page(diagnosis)
    onnx.save(scatter(), tmp_path / "model.onnx")
    lines = succeed("doctor", tmp_path / "model.onnx").splitlines()
    assert lines.index(CONVERT) == lines.index(PYTHON) + 1

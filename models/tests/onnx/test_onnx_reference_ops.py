"""The package's operators in the reference evaluator of the onnx package."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import gatherscatter as gs
from gatherscatter_models.onnx.evaluator import reference_ops
from tests.support.onnx_graphs import graph, model, node

ROWS = [row for row in gs.ops() if row.domain == "onnx"]
SCATTER = {
    "x": np.arange(4, dtype=np.float32),
    "at": np.array([[1], [-1], [1]]),
    "new": np.array([10, 20, 40], np.float32),
}


def scatter(opset: int = 18, **attributes: object) -> onnx.ModelProto:
    return model(
        [node("ScatterND", "x at new", "out", **attributes)],
        {"x": (np.float32, [4]), "at": (np.int64, [3, 1]), "new": (np.float32, [3])},
        {"out": (np.float32, [4])},
        opset=opset,
    )


def names_of_classes(opset: int | None = None) -> set[str]:
    return {each.__name__ for each in reference_ops(opset) if not each.op_domain}


def test_there_is_a_class_for_every_operator_of_the_table() -> None:
    assert names_of_classes() == {row.op_type for row in ROWS}
    assert {each.op_domain for each in reference_ops()} == {"", "com.microsoft", "gatherscatter"}


@pytest.mark.parametrize("opset", range(1, 25))
def test_there_are_classes_for_the_operators_that_an_opset_has(opset: int) -> None:
    assert names_of_classes(opset) == {row.op_type for row in ROWS if row.version <= opset}


def test_the_evaluator_runs_our_kernels() -> None:
    """The onnx package's operator wraps around indices that are out of range."""
    made = model(
        [node("GatherElements", "x at", "out")],
        {"x": (np.float32, [4]), "at": (np.int64, [1])},
        {"out": (np.float32, [1])},
    )
    inputs = {"x": SCATTER["x"], "at": np.array([99])}
    assert ReferenceEvaluator(made).run(None, inputs)[0].tolist() == [3]
    with pytest.raises(gs.OpIndexError, match=r"onnx.GatherElements-13: indices\[0\] = 99 is out of range"):
        ReferenceEvaluator(made, new_ops=reference_ops()).run(None, inputs)


def test_results_are_those_of_the_evaluator_itself() -> None:
    for reduction in ("none", "add", "mul", "min", "max"):
        made = scatter(reduction=reduction)
        (expected,) = ReferenceEvaluator(made).run(None, SCATTER)
        (result,) = ReferenceEvaluator(made, new_ops=reference_ops()).run(None, SCATTER)
        np.testing.assert_array_equal(result, expected, strict=True)


def test_the_model_decides_the_version_or_the_opset_that_is_given() -> None:
    made = scatter(reduction="max", opset=16)
    with pytest.raises(gs.OpValueError, match=r"onnx.ScatterND-16: reduction must be one of 'none', 'add', 'mul'"):
        ReferenceEvaluator(made, new_ops=reference_ops()).run(None, SCATTER)
    (result,) = ReferenceEvaluator(made, new_ops=reference_ops(18)).run(None, SCATTER)
    assert result.tolist() == [0, 40, 2, 20]
    with pytest.raises(gs.OpValueError, match=r"onnx.ScatterND-13 has no attribute 'reduction'"):
        ReferenceEvaluator(scatter(reduction="add"), new_ops=reference_ops(15)).run(None, SCATTER)


def test_nodes_of_subgraphs_are_ours_too() -> None:
    bodies = {
        f"{side}_branch": graph(
            [node("ScatterND", "x at new", side, reduction=reduction)], {}, {side: (np.float32, [4])}
        )
        for side, reduction in (("then", "add"), ("else", "sub"))
    }
    made = scatter()
    made.graph.node[0].CopyFrom(node("If", "flag", "out", **bodies))
    made.graph.input.append(onnx.helper.make_tensor_value_info("flag", onnx.TensorProto.BOOL, []))
    evaluator = ReferenceEvaluator(made, new_ops=reference_ops())
    assert evaluator.run(None, {**SCATTER, "flag": np.array(True)})[0].tolist() == [0, 51, 2, 23]
    with pytest.raises(gs.OpValueError, match=r"onnx.ScatterND-18: reduction must be one of"):
        evaluator.run(None, {**SCATTER, "flag": np.array(False)})


@pytest.mark.parametrize(("opset", "error"), [(0, ValueError), (-3, ValueError), (999, ValueError), ("18", TypeError)])
def test_a_bad_opset(opset: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="reference_ops: opset must be") as caught:
        reference_ops(opset)  # type: ignore[arg-type]
    assert isinstance(caught.value, gs.OpError)


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match=r"module 'gatherscatter.onnx' has no attribute 'nothing'"):
        gs.onnx.nothing  # noqa: B018

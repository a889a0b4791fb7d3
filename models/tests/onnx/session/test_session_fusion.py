"""A session runs a Gather and the reader of its rows as one node, with the bits of two nodes."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import gatherscatter as gs
from gatherscatter_models.onnx.session import InferenceSession
from models.tests.onnx.test_native_fusion import ADD, AXIS, GATHER, INPUTS, OUT, TUPLES, make_feed
from tests.support.onnx_graphs import model, node
from tests.support.session_graphs import F32, I64, Arrays, assert_same_bits, load_onnxruntime, make_quiet_options


def make_model(reduction: str = "add") -> onnx.ModelProto:
    return model([GATHER, TUPLES, node("ScatterND", "init tuples some", "out", reduction=reduction)], INPUTS, OUT, AXIS)


def load(made: onnx.ModelProto) -> InferenceSession:
    session = InferenceSession(made, make_quiet_options())
    assert "one step" in session.plan.moved[0].reason
    return session


@pytest.mark.parametrize("reduction", ["add", "mul", "min", "max"])
@pytest.mark.parametrize("bags", [1, 50, 3000])
@pytest.mark.parametrize("zeros", [False, True], ids=["any init", "zeros"])
def test_a_scatter_of_gathered_rows(reduction: str, bags: int, zeros: bool) -> None:
    made, feed = make_model(reduction), make_feed(bags=bags)
    feed["ids"] -= bags // 2  # negative ids count from the end
    feed["init"] *= not zeros
    feed["table"][:, :8] = -0.0
    expected = load_onnxruntime(made).run(None, feed)
    assert_same_bits(load(made).run(None, feed), expected)
    assert_same_bits(InferenceSession(made, make_quiet_options(), fuse=False).run(None, feed), expected)


def test_a_table_that_is_its_own_init() -> None:
    """A layer that adds messages to its nodes does this. Sums must not be written into the rows that are read."""
    nodes = [node("Abs", "x", "table"), GATHER, TUPLES, node("ScatterND", "table tuples some", "out", reduction="add")]
    made = model(nodes, {"x": INPUTS["table"], "rows": (I64, ["m"]), "ids": (I64, ["m"])}, OUT, AXIS)
    feed = {name: make_feed()[name] for name in ("rows", "ids")} | {"x": make_feed()["table"]}
    assert_same_bits(load(made).run(None, feed), load_onnxruntime(made).run(None, feed))


@pytest.mark.parametrize("op_type", ["ReduceSum", "ReduceMean"])
def test_sums_of_gathered_rows(op_type: str) -> None:
    """ONNX Runtime adds in a different order."""
    made = model(
        [GATHER, node(op_type, "some axis", "out", keepdims=0)],
        {"table": INPUTS["table"], "rows": (I64, ["m", 20])},
        {"out": (F32, ["m", 64])},
        AXIS,
    )
    feed = {"table": make_feed()["table"], "rows": make_feed()["rows"].reshape(100, 20)}
    session = load(made)
    (result,), (expected,) = session.run(None, feed), load_onnxruntime(made).run(None, feed)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5, strict=True)
    reduction = {"ReduceSum": "add", "ReduceMean": "mean"}[op_type]
    assert_same_bits([result], [gs.gather_reduce(feed["table"], feed["rows"], reduction=reduction)])
    assert "ONNX Runtime adds in another order" in session.plan.moved[0].reason


BAD: dict[str, tuple[Arrays, str]] = {
    "row": ({"rows": np.full(2000, 300)}, r"indices\[0\] = 300 is out of range"),
    "target": ({"ids": np.full(2000, 50)}, r"segment_ids\[0\] = 50 is out of range"),
    "negative target": ({"ids": np.full(2000, -51)}, r"segment_ids\[0\] = -51 is out of range"),
}


@pytest.mark.parametrize(("changed", "message"), BAD.values(), ids=BAD)
def test_a_bad_index_names_the_node(changed: Arrays, message: str) -> None:
    session = load(model([GATHER, TUPLES, ADD], INPUTS, OUT, AXIS))
    with pytest.raises(gs.OpIndexError, match=message) as caught:
        session.run(None, make_feed() | changed)
    assert caught.value.__notes__ == ["in node GatherReduce 'sums'"]

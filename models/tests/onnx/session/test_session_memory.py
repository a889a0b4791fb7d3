"""No array that a caller holds is overwritten, and a model of any size can be loaded."""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from gatherscatter_models.onnx.session import InferenceSession, model_data
from tests.support.onnx_graphs import model, node
from tests.support.session_graphs import (
    ADD,
    F32,
    I64,
    SCATTER,
    SUMS,
    assert_same_bits,
    load_onnxruntime,
    make_scatter_model,
)

IN_PLACE = {
    "an intermediate that nobody else needs": (
        [node("Abs", "x", "a"), node("ScatterND", "a at new", "b", reduction="add"), node("Neg", "b", "out")],
        "out",
    ),
    "the result of a scatter": ([ADD, node("ScatterND", "sum at new", "out", reduction="add")], "out"),
    "an input": ([ADD, node("Neg", "sum", "out")], "out"),
    "an output": ([node("Abs", "x", "a"), node("ScatterND", "a at new", "b", reduction="add")], "a b"),
    "needed later": (
        [node("Abs", "x", "a"), node("ScatterND", "a at new", "b", reduction="add"), node("Sub", "b a", "out")],
        "out",
    ),
}


@pytest.mark.parametrize("case", IN_PLACE.values(), ids=IN_PLACE)
def test_a_scatter_writes_in_place_only_where_nobody_notices(case: tuple[list[onnx.NodeProto], str]) -> None:
    nodes, outputs = case
    made = make_scatter_model(*nodes, outputs=outputs)
    session, expected = InferenceSession(made), load_onnxruntime(made).run(None, SCATTER)
    inputs = {name: array.copy() for name, array in SCATTER.items()}
    for _ in range(2):
        assert_same_bits(session.run(None, inputs), expected)
    assert_same_bits(list(inputs.values()), list(SCATTER.values()))


def test_data_that_is_its_own_update_is_not_written_in_place() -> None:
    made = model(
        [node("Abs", "x", "a"), node("ScatterND", "a at a", "out", reduction="add")],
        {"x": (F32, ["n"]), "at": (I64, ["n", 1])},
        {"out": (F32, ["n"])},
    )
    inputs = {"x": np.array([1, 2, 4], F32), "at": np.array([[1], [2], [2]])}
    assert InferenceSession(made).run(None, inputs)[0].tolist() == [1, 3, 10]


def test_an_initializer_is_never_written() -> None:
    made = model(
        [node("Identity", "table", "same"), node("ScatterND", "same at new", "out", reduction="add")],
        {"at": (I64, ["m", 1]), "new": (F32, ["m", 2])},
        {"out": (F32, [4, 2]), "table": (F32, [4, 2])},
        {"table": SCATTER["x"]},
    )
    session, inputs = InferenceSession(made), {"at": SCATTER["at"], "new": SCATTER["new"]}
    first = session.run(None, inputs)
    first[1][...] = -1
    assert_same_bits(session.run(None, inputs), load_onnxruntime(made).run(None, inputs))


def test_results_are_the_caller_s() -> None:
    session = InferenceSession(make_scatter_model(ADD, outputs="sum x table", constants={"table": SCATTER["x"]}))
    expected = [each.copy() for each in session.run(None, SCATTER)]
    before = SCATTER["x"].copy()
    for result in session.run(None, SCATTER):
        result[...] = 0
    assert_same_bits([SCATTER["x"]], [before])
    assert_same_bits(session.run(None, SCATTER), expected)


def test_arrays_of_ort_values_outlive_them() -> None:
    session = InferenceSession(onnx.parser.parse_model(SUMS % "Identity"))
    feeds = {"data": np.zeros(4, np.float32), "indices": np.array([[0]]), "updates": np.ones(1, np.float32)}
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array) for name, array in feeds.items()}
    view = session.run_with_ort_values(None, values)[0].numpy()
    others = [np.full(4, 7, np.float32) for _ in range(100)]
    assert view.tolist() == [1, 0, 0, 0]
    assert len(others) == 100


def test_the_bytes_of_a_model_from_a_file_are_not_kept(tmp_path: Path) -> None:
    """ONNX Runtime has a separate copy of the tensors. Another set of providers reads the file again."""
    made = make_scatter_model(ADD, node("Add", "sum table", "out"), constants={"table": SCATTER["x"]})
    onnx.save(made, tmp_path / "model.onnx")
    session = InferenceSession(tmp_path / "model.onnx")
    assert not session._model_bytes
    for _ in range(2):
        session.set_providers(["CPUExecutionProvider"])
        assert not session._model_bytes
        assert_same_bits(session.run(None, SCATTER), load_onnxruntime(made).run(None, SCATTER))


def test_a_model_in_memory_that_is_too_large_for_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tensors are stored in a temporary file, which is deleted with the session."""
    monkeypatch.setattr(model_data, "_MOST_BYTES", 4000)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    table, small = np.arange(2000, dtype=F32).reshape(1000, 2), np.array([999, 3, 0, 0])
    made = make_scatter_model(
        node("Gather", "table rows", "some"),
        node("ScatterND", "some at new", "sum", reduction="add"),
        node("Add", "sum x", "out"),
        constants={"table": table, "rows": small},
    )
    before = made.SerializeToString()
    session = InferenceSession(made)
    (folder,) = tmp_path.iterdir()
    assert [file.stat().st_size for file in folder.iterdir()] == [table.nbytes]
    session.set_providers(["CPUExecutionProvider"])
    assert_same_bits(session.run(None, SCATTER), load_onnxruntime(made).run(None, SCATTER))
    assert made.SerializeToString() == before
    del session
    gc.collect()
    assert not list(tmp_path.iterdir())

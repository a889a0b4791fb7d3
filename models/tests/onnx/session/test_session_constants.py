"""A model whose nodes were moved keeps its initializers and external data, and each session has separate ones."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from gatherscatter_models.onnx.session import InferenceSession
from tests.support.onnx_graphs import node
from tests.support.session_graphs import (
    F32,
    SCATTER,
    assert_same_bits,
    list_moved,
    load_onnxruntime,
    make_one_thread_options,
    make_scatter_model,
)


def test_an_initializer_may_be_overridden() -> None:
    made = make_scatter_model(node("ScatterND", "x at bias", "sum", reduction="add"), node("Add", "sum x", "out"))
    made.graph.input.append(helper.make_tensor_value_info("bias", TensorProto.FLOAT, [3, 2]))
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((3, 2), F32), "bias"))
    session = InferenceSession(made)
    for more in ({}, {"bias": np.full((3, 2), 5, F32)}):
        assert_same_bits(session.run(None, {**SCATTER, **more}), load_onnxruntime(made).run(None, {**SCATTER, **more}))


def test_external_data_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_scatter_model(
        node("MatMul", "new w", "turned"),
        node("ScatterND", "table at turned", "sum", reduction="add"),
        node("MatMul", "sum w", "product"),
        node("Add", "product table", "out"),
        constants={"w": np.array([[2, 1], [1, 3]], F32), "table": SCATTER["x"]},
    )
    expected = load_onnxruntime(made).run(None, SCATTER)
    folder = tmp_path / "model"
    folder.mkdir()
    onnx.save(made, folder / "model.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    monkeypatch.chdir(tmp_path)
    for path, options in (("model/model.onnx", None), (folder / "model.onnx", make_one_thread_options())):
        assert_same_bits(InferenceSession(path, options).run(None, SCATTER), expected)
    assert list_moved(InferenceSession(folder / "model.onnx")) == ["ScatterND"]


def test_external_data_that_links_lead_to(tmp_path: Path) -> None:
    """Caches of model hubs have this form: a folder of links to files with other names."""
    if sys.platform == "win32":
        pytest.skip("links need a privilege there")
    made = make_scatter_model(
        node("MatMul", "new w", "turned"),
        node("ScatterND", "x at turned", "out", reduction="add"),
        constants={"w": np.array([[2, 1], [1, 3]], F32)},
    )
    expected = load_onnxruntime(made).run(None, SCATTER)
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshot"
    blobs.mkdir()
    snapshot.mkdir()
    onnx.save(made, blobs / "a", save_as_external_data=True, location="weights.bin", size_threshold=0)
    (blobs / "weights.bin").rename(blobs / "b")
    (snapshot / "model.onnx").symlink_to(blobs / "a")
    (snapshot / "weights.bin").symlink_to(blobs / "b")
    session = InferenceSession(snapshot / "model.onnx")
    assert list_moved(session) == ["ScatterND"]
    assert_same_bits(session.run(None, SCATTER), expected)


def test_options_can_be_used_twice() -> None:
    """Two models may have tensors with the same name."""
    options = onnxruntime.SessionOptions()
    for factor in (2, 3):
        made = make_scatter_model(
            node("Gather", "table first", "factor"),
            node("Mul", "new factor", "a"),
            node("ScatterND", "x at a", "sum", reduction="add"),
            node("Mul", "sum factor", "out"),
            constants={"table": np.full((1000, 2), factor, F32), "first": np.array([0])},
        )
        session = InferenceSession(made, options)
        assert list_moved(session) == ["ScatterND"]
        assert_same_bits(session.run(None, SCATTER), load_onnxruntime(made).run(None, SCATTER))


def test_options_are_the_caller_s_again(tmp_path: Path) -> None:
    def model(folder: str, first: float) -> Path:
        made = onnx.parser.parse_model(
            """<ir_version: 10, opset_import: ["": 18]>
            g (int64[m, 1] indices, float[m] updates) => (float[n] out)
            { a = Relu (weights)  z = ScatterND <reduction = "max"> (a, indices, updates)  out = Add (z, weights) }"""
        )
        weights = np.arange(5000, dtype=np.float32) + first
        made.graph.initializer.append(onnx.numpy_helper.from_array(weights, "weights"))
        path = tmp_path / folder / "model.onnx"
        path.parent.mkdir()
        onnx.save(made, path, save_as_external_data=True, location="weights.bin")
        return path

    options = onnxruntime.SessionOptions()
    feeds = {"indices": np.array([[0]]), "updates": np.array([1], np.float32)}
    one, other = model("one", 0), model("other", 70)
    for path, first in ((one, 1), (other, 140), (one, 1)):
        assert InferenceSession(path, options).run(None, feeds)[0][0] == first
        assert onnxruntime.InferenceSession(path, options).run(None, feeds)[0][0] == first
        assert options.get_session_config_entry("session.model_external_initializers_file_folder_path") == ""

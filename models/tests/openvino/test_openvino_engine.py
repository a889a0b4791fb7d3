"""``engine="openvino"`` runs the whole model in the openvino package."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from gatherscatter_models.interface import ModelError
from gatherscatter_models.openvino import engine
from gatherscatter_models.openvino.engine import load_openvino
from gatherscatter_models.openvino.ir_write import IRWriter


@pytest.fixture
def needs_openvino() -> None:
    pytest.importorskip("openvino")


def concat(element_type: str, path: Path) -> Path:
    writer = IRWriter()
    data = writer.parameter("data", element_type, [None])
    writer.result("twice", writer.layer("Concat", "opset1", [data, data], attributes={"axis": 0}))
    return writer.save(path)


@pytest.mark.usefixtures("needs_openvino")
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_, np.float16, ml_dtypes.bfloat16])
def test_runs(dtype: type, tmp_path: Path) -> None:
    short = {"float32": "f32", "int64": "i64", "bool": "boolean", "float16": "f16", "bfloat16": "bf16"}
    values = np.array([1, 0], dtype)
    model = load_openvino(concat(short[values.dtype.name], tmp_path / "m.xml"))
    twice = model.run({"data": values})["twice"]
    assert (twice.dtype, twice.tolist()) == (values.dtype, [1, 0, 1, 0])


@pytest.mark.usefixtures("needs_openvino")
def test_strings(tmp_path: Path) -> None:
    writer = IRWriter()
    words, ids = writer.parameter("words", "string", [None]), writer.parameter("ids", "i64", [None])
    writer.result("rows", writer.layer("Gather", "opset8", [words, ids, np.int64(0)]))
    model = load_openvino(writer.save(tmp_path / "m.xml"))
    assert model.run({"words": np.array(["a", "bcd"]), "ids": [1, 0]})["rows"].tolist() == ["bcd", "a"]


@pytest.mark.usefixtures("needs_openvino")
@pytest.mark.parametrize(("element_type", "value"), [("i64", 2**31), ("i64", -(2**31) - 1), ("u64", 3 * 10**9)])
def test_values_it_would_change_are_refused(element_type: str, value: int, tmp_path: Path) -> None:
    model = load_openvino(concat(element_type, tmp_path / "m.xml"))
    with pytest.raises(ModelError, match="input 'data' holds values beyond 32 bits"):
        model.run({"data": [value]})


@pytest.mark.usefixtures("needs_openvino")
def test_a_kernels_exception_is_not_swallowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one thread, OpenVINO's synchronous call would instead return uninitialised memory."""
    monkeypatch.setitem(engine._CONFIG, "INFERENCE_NUM_THREADS", "1")
    writer = IRWriter()
    data, indices = writer.parameter("data", "f32", [3]), writer.parameter("indices", "i32", [1])
    scattered = writer.layer("ScatterUpdate", "opset3", [data, indices, np.ones(1, np.float32), np.int64(0)])
    writer.result("out", scattered)
    model = load_openvino(writer.save(tmp_path / "m.xml"))
    with pytest.raises(ModelError, match="the openvino package failed: ") as error:
        model.run({"data": np.zeros(3, np.float32), "indices": np.array([-1], np.int32)})
    assert "\n" not in str(error.value)


@pytest.mark.usefixtures("needs_openvino")
def test_unusable_files(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"^none\.xml: there is no such file$"):
        load_openvino(tmp_path / "none.xml")
    (tmp_path / "bad.xml").write_text("<net")
    with pytest.raises(ModelError, match=r"^bad\.xml: the openvino package refuses it: ") as error:
        load_openvino(tmp_path / "bad.xml")
    assert "\n" not in str(error.value)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"pip install openvino"):
        load_openvino("m.xml")

"""Constants: Constants of every element type, at odd offsets, and as packed strings. Also strings as inputs."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from gatherscatter.model_interface import ModelError
from gatherscatter.openvino.ir import load_ir
from gatherscatter.openvino.ir_read import Layer
from gatherscatter.openvino.ir_weights import Weights
from gatherscatter.openvino.ir_write import IRWriter


@pytest.mark.parametrize(
    "dtype",
    [np.bool_, *"bhilBHIL", np.float16, ml_dtypes.bfloat16, np.float32, np.float64],
    ids=lambda dtype: np.dtype(dtype).name,
)
def test_constants_of_every_type(dtype: type, tmp_path: Path) -> None:
    """As in OpenVINO's files, a string constant comes first, so that the others start at an odd offset."""
    values = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    writer = IRWriter()
    writer.result("text", writer.constant(np.array(["é", "", "xyz"], object)))
    writer.result("out", writer.constant(values))
    writer.result("empty", writer.constant(np.zeros((0, 3), dtype)))
    result = load_ir(writer.save(tmp_path / "m.xml")).run({})
    assert result["text"].tolist() == ["é", "", "xyz"]
    assert (result["out"].dtype, result["out"].tolist()) == (values.dtype, values.tolist())
    assert (result["empty"].dtype, result["empty"].shape) == (values.dtype, (0, 3))


def test_constants_at_odd_offsets_are_aligned(tmp_path: Path) -> None:
    (tmp_path / "m.bin").write_bytes(b"?" + np.arange(3.0).tobytes())
    data = {"element_type": "f64", "shape": "3", "offset": "1", "size": "24"}
    constant = Weights(tmp_path / "m.bin").constant(Layer(0, "odd", "Const", "opset1", attributes=data))()
    assert constant.flags.aligned
    assert constant.tolist() == [0, 1, 2]


@pytest.mark.parametrize("numbers", [[3, 0, 2, 2], [2, 1, 2, 2], [2, 0, 3, 1], [2, 0, 2, 99], [-1, 0, 2, 2]])
def test_strings_whose_offsets_lie(numbers: list[int], tmp_path: Path) -> None:
    (tmp_path / "m.bin").write_bytes(np.array(numbers, "<i4").tobytes() + b"abcde")
    data = {"element_type": "string", "shape": "2", "offset": "0", "size": "21"}
    constant = Weights(tmp_path / "m.bin").constant(Layer(0, "words", "Const", "opset1", attributes=data))
    with pytest.raises(ModelError, match="the offsets of its 2 strings contradict each other or its size"):
        constant()


def test_strings_that_are_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / "m.bin").write_bytes(np.array([1, 0, 1], "<i4").tobytes() + b"\xff")
    data = {"element_type": "string", "shape": "", "offset": "0", "size": "13"}
    constant = Weights(tmp_path / "m.bin").constant(Layer(0, "words", "Const", "opset1", attributes=data))
    with pytest.raises(ModelError, match=r"layer 0 'words' \(Const\): a string is not valid UTF-8"):
        constant()


def test_strings_move(tmp_path: Path) -> None:
    writer = IRWriter()
    words, ids = writer.parameter("words", "string", [None]), writer.parameter("ids", "i64", [None])
    rows = writer.layer("Gather", "opset8", [words, ids, np.int64(0)])
    writer.result("rows", writer.layer("Reshape", "opset1", [rows, [1, -1]], attributes={"special_zero": False}))
    model = load_ir(writer.save(tmp_path / "m.xml"))
    for dtype in ("U3", "S3", object, np.dtypes.StringDType()):
        assert model.run({"words": np.array(["a", "bcd"], dtype), "ids": [1, 0]})["rows"].tolist() == [["bcd", "a"]]
    with pytest.raises(ModelError, match="input 'words' is int64, the model takes strings"):
        model.run({"words": [1], "ids": [0]})

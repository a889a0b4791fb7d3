"""Constants: Constants of every element type, at odd offsets, and as packed strings; and strings as inputs."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import openvino
import openvino.opset15
import pytest

from gatherscatter_models.interface import ModelError
from gatherscatter_models.openvino.graph import list_layers, read_constant
from gatherscatter_models.openvino.ir import load_ir
from gatherscatter_models.openvino.ir_write import IRWriter


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


def save_constant(constant: Any, folder: Path) -> Path:
    """Write a model with one constant of OpenVINO."""
    openvino.save_model(openvino.Model([constant.output(0)], [], "m"), folder / "m.xml", compress_to_fp16=False)
    return folder / "m.xml"


@pytest.mark.parametrize(
    ("name", "dtype", "values"),
    [
        ("i4", ml_dtypes.int4, [-8, 7, 0, -1, 3]),
        ("u4", ml_dtypes.uint4, [0, 15, 8, 1, 3]),
        ("f4e2m1", ml_dtypes.float4_e2m1fn, [-6, 0.5, 0, 1.5, 3]),
        ("f8e4m3", ml_dtypes.float8_e4m3fn, [-448, 0.5, 0, 1.5, 3]),
        ("f8e5m2", ml_dtypes.float8_e5m2, [-57344, 0.5, 0, 1.5, 3]),
        ("f8e8m0", ml_dtypes.float8_e8m0fnu, [0.5, 1, 2, 4, 2.0**-100]),
    ],
)
def test_narrow_constants_are_unpacked(name: str, dtype: type, values: list[float], tmp_path: Path) -> None:
    constant = openvino.op.Constant(getattr(openvino.Type, name), openvino.Shape([1, 5]), values)
    model = load_ir(save_constant(constant, tmp_path))
    for _ in range(2):  # results share no memory with the constant
        (result,) = model.run({}).values()
        assert (result.dtype, result.tolist()) == (np.dtype(dtype), [values])
        result[...] = 0


@pytest.mark.parametrize("name", ["u1", "nf4", "u2"])
def test_types_that_numpy_lacks_are_refused(name: str, tmp_path: Path) -> None:
    constant = openvino.op.Constant(getattr(openvino.Type, name), openvino.Shape([4]), [0, 1, 1, 0])
    with pytest.raises(ModelError, match=f"element type '{name}' is not supported"):
        load_ir(save_constant(constant, tmp_path))


def test_constants_at_odd_offsets_are_aligned() -> None:
    for layer in list_layers(openvino.Model([openvino.opset15.constant(np.arange(3.0)).output(0)], [], "m")):
        if layer.type == "Constant":
            assert read_constant(layer).flags.aligned


@pytest.mark.parametrize("numbers", [[3, 0, 2, 2], [2, 1, 2, 2], [2, 0, 3, 1], [2, 0, 2, 99], [-1, 0, 2, 2]])
def test_strings_whose_offsets_lie_do_not_end_the_process(numbers: list[int], tmp_path: Path) -> None:
    writer = IRWriter()
    writer.result("text", writer.constant(np.array(["ab", "cde"], object)))
    path = writer.save(tmp_path / "m.xml")
    path.with_suffix(".bin").write_bytes(np.array(numbers, "<i4").tobytes() + b"abcde")
    with contextlib.suppress(ModelError):
        assert load_ir(path).run({})["text"].shape == (2,)


def test_strings_that_are_not_utf_8(tmp_path: Path) -> None:
    writer = IRWriter()
    writer.result("text", writer.constant(np.array("a", object)))
    path = writer.save(tmp_path / "m.xml")
    path.with_suffix(".bin").write_bytes(np.array([1, 0, 1], "<i4").tobytes() + b"\xff")
    with pytest.raises(ModelError, match=r"\(Constant\): its values can't be read"):
        load_ir(path)


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

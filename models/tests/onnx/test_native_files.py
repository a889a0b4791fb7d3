"""Model files that `convert --for onnxruntime` writes keep their meaning and include all files that they need."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import gatherscatter_models as gm
from gatherscatter.system.native_library import library_path
from gatherscatter_models.interface import ModelError
from gatherscatter_models.onnx.native_files import convert_for_onnxruntime
from tests.support.command_line import fail, succeed
from tests.support.onnx_graphs import model, node
from tests.support.paths import EXAMPLES

onnxruntime = pytest.importorskip("onnxruntime")

MODEL = EXAMPLES / "message_passing" / "message_passing.onnx"


def write_with_external_data(folder: Path) -> Path:
    """Write a scatter into a table that is in another file. A constant of a node is also there."""
    made = model(
        [
            node("Constant", "", "weights", value=numpy_helper.from_array(np.float32([1, 2, 3] * 7000), "w")),
            node("Reshape", "weights shape", "new"),
            node("ScatterND", "table at new", "out", reduction="add"),
        ],
        {"at": (np.int64, ["m", 1])},
        {"out": (np.float32, [1000, 3])},
        {"table": np.arange(3000, dtype=np.float32).reshape(1000, 3), "shape": np.array([7000, 3])},
    )
    path = folder / "model.onnx"
    onnx.save(
        made, path, save_as_external_data=True, location="weights.bin", size_threshold=1000, convert_attribute=True
    )
    assert (folder / "weights.bin").stat().st_size == 4 * (3000 + 21000)
    return path


def test_external_data_is_copied_beside_the_model(tmp_path: Path) -> None:
    source = write_with_external_data(tmp_path)
    at = np.random.default_rng(0).integers(-1000, 1000, (7000, 1))
    expected = gm.run(source, [at])["out"]
    (tmp_path / "other").mkdir()
    target = tmp_path / "other" / "fixed.onnx"
    assert len(convert_for_onnxruntime(source, target).moved) == 1
    assert sorted(path.name for path in target.parent.iterdir()) == ["fixed.onnx", "fixed.onnx.data"]
    source.unlink()
    (tmp_path / "weights.bin").unlink()
    np.testing.assert_array_equal(gm.run(target, [at])["out"], expected, strict=True)
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(str(library_path()))
    (result,) = onnxruntime.InferenceSession(target, options).run(None, {"at": at})
    np.testing.assert_array_equal(result, expected, strict=True)
    written = onnx.load(target, load_external_data=False)
    [table] = [each for each in written.graph.initializer if each.name == "table"]
    offsets = {entry.key: entry.value for entry in table.external_data}
    assert offsets["location"] == "fixed.onnx.data"
    assert int(offsets["offset"]) % 4096 == 0


def test_quantized_tables_that_onnxruntime_refuses_are_converted(tmp_path: Path) -> None:
    codes, scales = np.random.default_rng(0).integers(0, 256, (6, 32, 2), np.uint8), np.ones((6, 2, 4), np.float32)
    gather = node("GatherBlockQuantized", "codes rows scales", "out", domain="com.microsoft", block_size=16)
    made = model([gather], {"rows": (np.int64, ["n"])}, {"out": (np.float32, None)}, {"codes": codes, "scales": scales},
                 domains={"com.microsoft": 1})  # fmt: skip
    source, target = tmp_path / "model.onnx", tmp_path / "fixed.onnx"
    onnx.save(made, source)
    assert "refuses a quantized axis" in convert_for_onnxruntime(source, target).moved[0].reason
    rows = np.array([0, 6, -6, -7])
    expected = gm.run(source, [rows])["out"]
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(str(library_path()))
    (result,) = onnxruntime.InferenceSession(target, options).run(None, {"rows": rows})
    for other in (result, gm.run(target, [rows])["out"]):
        np.testing.assert_array_equal(other, expected, strict=True)


def test_a_damaged_model_leaves_no_file(tmp_path: Path) -> None:
    source = write_with_external_data(tmp_path)
    (tmp_path / "weights.bin").write_bytes(b"short")
    with pytest.raises(ModelError, match=r"model\.onnx: "):
        convert_for_onnxruntime(source, tmp_path / "fixed.onnx")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.onnx", "weights.bin"]
    (tmp_path / "empty.onnx").write_bytes(b"")
    with pytest.raises(ModelError, match=r"empty\.onnx: "):
        convert_for_onnxruntime(tmp_path / "empty.onnx", tmp_path / "fixed.onnx")


def test_the_model_and_its_data_are_never_overwritten(tmp_path: Path) -> None:
    source = write_with_external_data(tmp_path)
    with pytest.raises(ModelError, match="would overwrite"):
        convert_for_onnxruntime(source, source)
    copy = tmp_path / "weights.onnx"
    onnx.save(onnx.load(source), copy, save_as_external_data=True, location="out.onnx.data", size_threshold=1000)
    with pytest.raises(ModelError, match="would overwrite"):
        convert_for_onnxruntime(copy, tmp_path / "out.onnx")


def test_the_command_names_the_nodes_and_the_library(tmp_path: Path) -> None:
    lines = succeed("convert", MODEL, "--for", "onnxruntime", "-o", tmp_path / "fixed.onnx").splitlines()
    assert lines[0].startswith("gatherscatter  ScatterND (4/11): ONNX Runtime: ScatterND with a reduction loses")
    assert lines[1].startswith("onnxruntime    10 nodes: ")
    assert lines[2] == f"written: {tmp_path / 'fixed.onnx'}"
    library = lines[3].removeprefix("library: ")
    assert Path(library).is_file()
    assert succeed("library") == f"{library}\n"
    assert lines[5] == f'  Python  options.register_custom_ops_library("{library}")'
    inputs = dict(np.load(EXAMPLES / "message_passing" / "inputs.npz"))
    expected, made = gm.run(MODEL, inputs), gm.run(tmp_path / "fixed.onnx", inputs)
    assert all(np.array_equal(made[name], expected[name]) for name in expected)


def test_a_model_with_nothing_to_move_is_written(tmp_path: Path) -> None:
    made = model([node("Neg", "x", "out")], {"x": (np.float32, [2])}, {"out": (np.float32, [2])})
    onnx.save(made, tmp_path / "model.onnx")
    lines = succeed("convert", tmp_path / "model.onnx", tmp_path / "out.onnx", "--for", "onnxruntime").splitlines()
    assert lines[-1] == "nothing was changed: ONNX Runtime runs this model correctly without the library"
    assert onnx.load(tmp_path / "out.onnx") == made


def test_mistakes_give_one_line(tmp_path: Path) -> None:
    fixed = tmp_path / "fixed.onnx"
    assert "give TARGET once" in fail("convert", MODEL)
    assert "give TARGET once" in fail("convert", MODEL, fixed, "-o", tmp_path / "other.onnx")
    assert "--indices needs a conversion" in fail("convert", MODEL, fixed, "--for", "onnxruntime", "--indices", "valid")
    assert "must end in .onnx" in fail("convert", MODEL, tmp_path / "fixed.xml", "--for", "onnxruntime")
    fixed.write_text("there already")
    assert "exists already" in fail("convert", MODEL, "--for", "onnxruntime", "-o", fixed)
    xml = EXAMPLES / "beam_search" / "beam_search.xml"
    refused = fail("convert", xml, tmp_path / "out.onnx", "--for", "onnxruntime")
    assert "convert it to ONNX first: gatherscatter convert beam_search.xml" in refused


def test_the_folders_for_building_are_printed() -> None:
    assert (Path(succeed("library", "--include").strip()) / "gatherscatter.h").is_file()
    assert (Path(succeed("library", "--cmake").strip()) / "gatherscatter-config.cmake").is_file()

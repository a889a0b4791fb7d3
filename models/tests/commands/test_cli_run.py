"""`gatherscatter run`: model files with their inputs and outputs."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

import gatherscatter_models as gm
from tests.support.command_line import INPUTS, MODEL, fail, succeed, write_arrays
from tests.support.paths import EXAMPLES


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def arrays(folder: Path) -> Path:
    write_arrays(folder)
    return folder


def expected_caches() -> dict[str, np.ndarray]:
    return gm.run(MODEL, dict(np.load(INPUTS)))


def test_run_prints_a_table_and_the_values() -> None:
    text = succeed("run", MODEL, INPUTS)
    rows = {line.split()[1]: line.split()[2:] for line in text.splitlines() if line.startswith(("input", "output"))}
    assert rows["positions"] == ["int64", "(2,)", "(batch,)"]
    assert rows["present_key"] == shlex.split("float32 (2, 2, 6, 3) (batch, heads, length, width)")
    assert "present_value =\n[[[[ 2. ,  2. ,  2. ]," in text


@pytest.mark.parametrize("target", ["out.npz", "out", "files", "pb"])
def test_run_writes_the_outputs(target: str, folder: Path) -> None:
    from gatherscatter.arrays.tensor_files import read_tensors

    arguments = {
        "out.npz": ["-o", "out.npz"],
        "out": ["--output", "out/"],
        "files": ["-o", "present_key=key.npy", "-o", "present_value=value.npy"],
        "pb": ["-o", "present_key=key.pb", "-o", "present_value=value.pb"],
    }[target]
    succeed("run", MODEL, INPUTS, *arguments)
    if target == "out.npz":
        written = dict(np.load("out.npz"))
    elif target == "out":
        written = {name: np.load(f"out/{name}.npy") for name in ("present_key", "present_value")}
    else:
        suffix = "npy" if target == "files" else "pb"
        written = {
            f"present_{it}": next(iter(read_tensors(Path(f"{it}.{suffix}")).values())) for it in ("key", "value")
        }
    for name, array in expected_caches().items():
        np.testing.assert_array_equal(written[name], array)


def test_run_takes_inputs_in_order_by_name_and_from_pb(folder: Path) -> None:
    from gatherscatter.arrays.tensor_files import write_tensors

    arrays = dict(np.load(INPUTS))
    np.save("first.npy", arrays["key_cache"])
    np.save("second.npy", arrays["value_cache"])
    np.save("new.npy", arrays["new_key"])
    write_tensors(Path("any.pb"), {"new_value": arrays["new_value"]})
    np.savez("rest.npz", positions=arrays["positions"])
    succeed("run", MODEL, "first.npy", "any.pb", "second.npy", "rest.npz", "--input", "new_key=new.npy", "-o", "o.npz")
    written = dict(np.load("o.npz"))
    for name, array in expected_caches().items():
        np.testing.assert_array_equal(written[name], array)


def test_run_knows_a_npy_file_by_its_name(folder: Path) -> None:
    with np.load(INPUTS) as file:
        for name, array in file.items():
            np.save(f"{name}.npy", array)
    names = ("positions", "new_value", "new_key", "value_cache", "key_cache")
    succeed("run", MODEL, *(f"{name}.npy" for name in names), "-o", "o.npz")
    np.testing.assert_array_equal(np.load("o.npz")["present_value"], expected_caches()["present_value"])


def test_run_says_which_node_failed(folder: Path) -> None:
    np.save("positions.npy", np.array([5, 1]))  # two new tokens from position 5 do not fit into 6 positions
    with np.load(INPUTS) as file:
        np.savez("most.npz", **{name: array for name, array in file.items() if name != "positions"})
    assert "; in node ScatterND " in fail("run", MODEL, "most.npz", "positions.npy")


def test_run_makes_up_inputs(folder: Path) -> None:
    sizes = ["--dim", "batch=3", "--dim", "heads=2", "--dim", "length=5", "--dim", "new=2", "--dim", "width=4"]
    succeed("run", MODEL, "--random-inputs", *sizes, "--seed", "5", "-o", "a.npz")
    succeed("run", MODEL, "--random-inputs", *sizes, "--seed", "5", "-o", "b.npz")
    succeed("run", MODEL, "--random-inputs", *sizes, "--seed", "6", "-o", "c.npz")
    a, b, c = (np.load(f"{name}.npz")["present_key"] for name in "abc")
    assert a.shape == (3, 2, 5, 4)
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)


def test_run_makes_up_only_what_no_file_gives(folder: Path) -> None:
    np.save("positions.npy", np.array([2]))
    shapes = ["--shape", "key_cache=1,1,4,1", "--shape", "value_cache=1x1x4x1"]
    succeed("run", MODEL, "--input", "positions=positions.npy", "--random-inputs", *shapes, "-o", "o.npz")
    assert np.load("o.npz")["present_key"].shape == (1, 1, 4, 1)


def test_run_benchmark() -> None:
    line = succeed("run", MODEL, INPUTS, "--benchmark", "3").splitlines()[-1]
    assert line.startswith("benchmark: 3 runs after a warm-up: min ")


def test_run_with_the_openvino_engine() -> None:
    pytest.importorskip("openvino")
    text = succeed("run", MODEL, INPUTS, "--engine", "openvino")
    assert "10.3, 10.4, 10.5" in text
    assert "(?, ?, ?, ?)" in text  # dimension names are only in ONNX, so the openvino package declares this


def test_run_ir_file() -> None:
    text = succeed("run", EXAMPLES / "beam_search" / "beam_search.xml", EXAMPLES / "beam_search" / "inputs.npz")
    assert "int32" in text


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (["missing.onnx"], "File 'missing.onnx' does not exist"),
        (["text.onnx"], "text.onnx"),
        (["text.xml"], "text.xml"),
        ([MODEL], "no array for key_cache float32 (batch, heads, length, width), value_cache float32"),
        ([MODEL, "missing.npz"], "missing.npz"),
        ([MODEL, "objects.npy"], "objects.npy"),
        ([MODEL, "text.npy"], "text.npy"),
        ([MODEL, "empty.npy"], "empty.npy"),
        ([MODEL, "short.npy"], "short.npy"),
        ([MODEL, "text.npz"], "text.npz"),
        ([MODEL, INPUTS, "data.npy"], "data.npy: all 5 inputs of the model are given already"),
        ([MODEL, INPUTS, "--input", "positions=data.npy"], "input 'positions' is given twice"),
        ([MODEL, INPUTS, "--input", "nothing=data.npy"], "nothing"),
        ([MODEL, "--input", "positions"], "--input positions: write it as NAME=FILE"),
        ([MODEL, "--input", "positions=missing.npy"], "missing.npy"),
        ([MODEL, INPUTS, "-o", "out.txt"], "out.txt: the name must end in .npy, .npz, .pb (or in / for a folder)"),
        ([MODEL, INPUTS, "-o", "out.npy"], "--output out.npy: a .npy file holds one tensor, the model has 2 outputs"),
        ([MODEL, INPUTS, "-o", "it=out.npy"], "no output 'it'; the outputs are present_key, present_value"),
        ([MODEL, INPUTS, "--dim", "batch=2"], "--dim and --shape are for --random-inputs"),
        (
            [MODEL, "--random-inputs", "--dim", "barch=2"],
            "'barch' is not a dynamic dimension of a random input; choose from batch",
        ),
        ([MODEL, "--random-inputs", "--dim", "batch=two"], "'two' is not a shape"),
        ([MODEL, "--random-inputs", "--dim", "batch=2,3"], "--dim batch=2,3: one size is needed"),
        ([MODEL, "--random-inputs", "--shape", "x=2"], "--shape x=2: 'x' is not the name of a random input"),
        ([MODEL, "--random-inputs", "--shape", "positions=2,2"], "(batch,), not (2, 2)"),
        ([MODEL, "--random-inputs", "--dim", "batch=100000000000"], "random inputs would take"),
        ([MODEL, "--random-inputs", "--benchmark", "0"], "--benchmark"),
        ([MODEL, INPUTS, "--engine", "other"], "--engine"),
        ([MODEL, INPUTS, "--endine", "other"], "(see 'gatherscatter run --help')"),
    ],
    ids=lambda value: None if isinstance(value, str) else " ".join(Path(part).name for part in value),
)
def test_mistakes_with_run_give_one_line(args: list[str], part: str, arrays: Path) -> None:
    assert part in fail("run", *args)


def test_a_wrong_output_name_is_found_before_the_run(folder: Path) -> None:
    fail("run", MODEL, INPUTS, "-o", "good.npz", "-o", "bad.txt")
    assert list(folder.iterdir()) == []

"""The files of the examples are those that their scripts write. The examples run as documented, with right results."""

from __future__ import annotations

import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import numpy as np
import pytest

import gatherscatter_models as gm
from tests.support.paths import EXAMPLES

MAKERS = sorted(path.parent.name for path in EXAMPLES.glob("*/make.py"))
PAGE = (EXAMPLES / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    ((?:gatherscatter|python) .+)$", PAGE, flags=re.MULTILINE)


def load(path: Path) -> ModuleType:
    """Import a script of the examples as a module."""
    spec = importlib.util.spec_from_file_location(f"example_{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def inputs_of(name: str) -> dict[str, np.ndarray]:
    with np.load(EXAMPLES / name / "inputs.npz") as file:
        return dict(file)


def content(path: Path) -> object:
    """Return the contents of a file, independent of the arrangement of its bytes."""
    if path.suffix == ".npz":
        with np.load(path) as file:
            return {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in file.items()}
    if path.suffix == ".onnx":
        onnx = pytest.importorskip("onnx")
        return onnx.load(path)
    if path.suffix == ".xml":
        return ElementTree.canonicalize(path.read_text(encoding="utf-8"), strip_text=True)
    return path.read_bytes()


def test_all_are_there() -> None:
    assert MAKERS == [
        "beam_search",
        "embedding",
        "kv_cache",
        "message_passing",
        "onnxruntime_cpp",
        "quantized_embedding",
    ]
    assert len(COMMANDS) == 13


@pytest.mark.parametrize("name", MAKERS)
def test_the_files_are_what_the_script_makes(name: str, tmp_path: Path) -> None:
    if name != "beam_search":
        pytest.importorskip("onnx")
    if name == "quantized_embedding":
        pytest.importorskip("onnxruntime")
        pytest.importorskip("onnx_ir")  # of its quantizer
    subprocess.run([sys.executable, EXAMPLES / name / "make.py", tmp_path], check=True)
    made = {path.name: content(path) for path in tmp_path.iterdir()}
    written_by_hand = (".py", ".cpp", ".txt", "")
    kept = {path.name: content(path) for path in (EXAMPLES / name).iterdir() if path.suffix not in written_by_hand}
    assert made == kept


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_page_work(command: str, tmp_path: Path) -> None:
    if ".onnx" in command or "kv_cache" in command:
        pytest.importorskip("onnx")
    if "karate_club" in command:
        pytest.importorskip("torch")
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    program, *args = shlex.split(command)
    module = ["-m", "gatherscatter"] if program == "gatherscatter" else []
    done = subprocess.run([sys.executable, *module, *args], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_kv_cache_forms_agree_with_slices() -> None:
    pytest.importorskip("onnx")
    inputs = inputs_of("kv_cache")
    for form in ("tensor_scatter", "scatter_nd"):
        results = gm.run(EXAMPLES / "kv_cache" / f"{form}.onnx", inputs)
        for cache in ("key", "value"):
            expected = inputs[f"{cache}_cache"].copy()
            for sequence, start in enumerate(inputs["positions"]):
                expected[sequence, :, start : start + 2] = inputs[f"new_{cache}"][sequence]
            np.testing.assert_array_equal(results[f"present_{cache}"], expected, err_msg=form)


def test_embedding_leaves_the_padding_out() -> None:
    pytest.importorskip("onnx")
    make = load(EXAMPLES / "embedding" / "make.py")
    results = gm.run(EXAMPLES / "embedding" / "embedding.onnx", inputs_of("embedding"))
    assert [" ".join(row).replace(" <pad>", "") for row in results["words"]] == make.SENTENCES
    for sentence, vector in zip(make.SENTENCES, results["sentence"], strict=True):
        rows = [make.vectors()[make.WORDS.index(word)] for word in sentence.split()]
        np.testing.assert_allclose(vector, np.mean(rows, axis=0), rtol=1e-6)


def test_message_passing_knows_the_neighbours() -> None:
    pytest.importorskip("onnx")
    make = load(EXAMPLES / "message_passing" / "make.py")
    results = gm.run(EXAMPLES / "message_passing" / "message_passing.onnx", inputs_of("message_passing"))
    for atom in range(len(make.ATOMS)):
        bonded = [make.ATOMS[b if a == atom else a] for a, b in make.BONDS if atom in (a, b)]
        assert results["neighbours"][atom].tolist() == [bonded.count(element) for element in make.ELEMENTS]
        assert results["largest_charge"][atom] == max(make.CHARGE[element] for element in bonded)


def test_beam_search_reads_the_best_sentences() -> None:
    make = load(EXAMPLES / "beam_search" / "make.py")
    ids = gm.run(EXAMPLES / "beam_search" / "beam_search.xml", inputs_of("beam_search"))["sentences"]
    found = [[" ".join(make.WORDS[i] for i in beam if i != make.END) for beam in search] for search in ids]
    assert found == [
        ["the cat", "the cat sleeps", "the dog chases the cat"],
        ["a dog", "a cat", "a dog chases the cat"],
    ]


def test_voxels_agree_with_numpy() -> None:
    example = load(EXAMPLES / "voxels" / "voxelise.py")
    points, brightness = example.scan()
    voxels = example.voxelise(points, brightness)
    cells = np.floor(points / example.CELL).astype(int)
    inside = ((cells >= 0) & (cells < example.GRID)).all(axis=1)
    assert 0 < inside.sum() < len(points)
    at = tuple(cells[inside].T)
    count = np.zeros(example.GRID, int)
    np.add.at(count, at, 1)
    np.testing.assert_array_equal(voxels["count"], count)
    light = np.zeros(example.GRID)
    np.add.at(light, at, brightness[inside])
    np.testing.assert_allclose(voxels["brightness"][count > 0], (light / np.maximum(count, 1))[count > 0], rtol=1e-5)
    assert not voxels["brightness"][count == 0].any()
    height = np.full(example.GRID[:2], -np.inf)
    np.maximum.at(height, at[:2], points[inside, 2])
    np.testing.assert_array_equal(voxels["height"], height)


def test_the_karate_club_splits_as_it_did() -> None:
    pytest.importorskip("torch")
    example = load(EXAMPLES / "karate_club" / "train.py")
    losses, found = example.train(50)
    assert losses[-1] < losses[0] / 5
    assert len(example.WITH_THE_INSTRUCTOR ^ set(found)) <= 2

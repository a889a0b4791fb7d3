"""`gatherscatter apply`: one operator version on files."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.cli.apply import operator_command
from tests.support.command_line import examples_of, fail, succeed, write_arrays


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def arrays(folder: Path) -> Path:
    write_arrays(folder)
    return folder


def test_apply_writes_what_the_operator_returns(arrays: Path) -> None:
    succeed(*shlex.split("apply onnx.ScatterND-18 data.npy indices.npy updates.npy --reduction add -o out.npy"))
    np.testing.assert_array_equal(np.load("out.npy"), np.array([0, 41, 2, 23, 4, 5, 6, 7], np.float32))


def test_apply_prints_the_result(arrays: Path) -> None:
    text = succeed(*shlex.split("apply onnx.ScatterND data.npy indices.npy updates.npy"))
    assert text == "output float32 (8,) =\n[ 0., 30.,  2., 20.,  4.,  5.,  6.,  7.]\n"


@pytest.mark.parametrize("option", ["--use_init_val", "--use-init-val"])
def test_apply_takes_bool_attributes_with_both_spellings(option: str, arrays: Path) -> None:
    np.save("flat.npy", np.array([1, 3, 1]))
    line = (
        f"apply openvino.ScatterElementsUpdate-12 data.npy flat.npy updates.npy --axis 0 --reduction sum {option} false"
    )
    assert "[ 0., 40.,  2., 20.," in succeed(*line.split())


def test_apply_takes_the_axis_as_number_option_or_file(arrays: Path) -> None:
    np.save("flat.npy", np.array([1, 3]))
    np.save("axis.npy", np.array(-1))
    line = shlex.split("apply openvino.Gather-8 data.npy flat.npy")
    texts = {succeed(*line, *axis) for axis in (["0"], ["axis.npy"], ["--axis", "-1"], ["--axis", "axis.npy"])}
    assert texts == {"output float32 (2,) =\n[1., 3.]\n"}
    assert "give the axis once" in fail(*line)
    assert "give the axis once" in fail(*line, "0", "--axis", "0")


def test_apply_takes_negative_attributes(arrays: Path) -> None:
    np.save("table.npy", np.arange(6).reshape(2, 3))
    np.save("last.npy", np.array([2, -1]))
    assert "[[2, 2],\n [5, 5]]" in succeed(*shlex.split("apply onnx.Gather-13 table.npy last.npy --axis -1"))


def test_apply_without_an_optional_input(folder: Path) -> None:
    np.save("past.npy", np.zeros((1, 3, 1)))
    np.save("update.npy", np.ones((1, 2, 1)))
    np.save("start.npy", np.array([1]))
    line = shlex.split("apply onnx.TensorScatter-24 past.npy update.npy")
    assert "[[[1.],\n  [1.],\n  [0.]]]" in succeed(*line)
    assert "[[[0.],\n  [1.],\n  [1.]]]" in succeed(*line, "start.npy")


@pytest.mark.parametrize("row", gs.ops(), ids=lambda row: row.name)
def test_apply_offers_what_the_table_lists(row: gs.OpVersion) -> None:
    text = succeed("apply", row.name, "--help")
    assert all(one.name.upper() in text for one in row.inputs)
    for attribute in row.attributes:
        assert f"--{attribute.name}" in text
        assert all(choice in text for choice in attribute.choices or ())


@pytest.mark.parametrize("row", gs.ops(), ids=lambda row: row.name)
def test_the_example_of_every_operator_parses(row: gs.OpVersion) -> None:
    made = operator_command(row)
    assert made.epilog is not None
    (line,) = examples_of(made.epilog)
    with made.make_context("apply", shlex.split(line)[3:]) as context:
        assert context.params["output"] == Path("out.npy")


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("onnx.ScatterND-18 data.npy far.npy updates.npy", "onnx.ScatterND-18: indices[1, 0] = 12 is out of range"),
        ("onnx.ScatterND-18 data.npy indices.npy data.npy", "onnx.ScatterND-18: "),
        ("onnx.ScatterND-18 data.npy updates.npy updates.npy", "onnx.ScatterND-18: "),
        ("onnx.ScatterND-18 data.npy indices.npy updates.npy --reduction mean", "'mean' is not one of"),
        ("onnx.ScatterND-13 data.npy indices.npy updates.npy --reduction add", "--reduction"),
        ("onnx.ScatterND-18 data.npy indices.npy", "UPDATES"),
        ("onnx.ScatterND-18 objects.npy indices.npy updates.npy", "objects.npy"),
        ("onnx.ScatterND-18 missing.npy indices.npy updates.npy", "missing.npy"),
        ("onnx.ScatterND-18 data.npy indices.npy updates.npy -o out.csv", "out.csv: the name must end in"),
        ("onnx.ScatterND-18 data.npy indices.npy updates.npy -o missing/out.npy", "there is no folder missing"),
        ("onnx.ScaterND data.npy", "onnx.ScaterND"),
        ("onnx.ScatterND-99 data.npy", "onnx.ScatterND has no version '99'; it has 11, 13, 16, 18"),
        ("openvino.GatherElements-6 data.npy indices.npy", "--axis"),
        ("onnx.Gather-13 data.npy indices.npy --axis x", "--axis"),
        ("openvino.Gather-8 data.npy indices.npy --axis x.npy", "x.npy"),
    ],
)
def test_mistakes_with_apply_give_one_line(line: str, part: str, arrays: Path) -> None:
    assert part in fail("apply", *line.split())

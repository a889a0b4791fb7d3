"""`gatherscatter explain`."""

from __future__ import annotations

import shlex
import textwrap
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import gatherscatter as gs
from gatherscatter.cli.explain import _operator_command
from tests.support.command_line import examples_of, fail, succeed


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_explain_prints_what_python_prints_and_the_code() -> None:
    text = succeed("explain", "onnx.GatherND-13", "--data", "[[1,2],[3,4]]", "--indices", "[[0,1],[-1,0]]")
    explanation = gs.explain("onnx.GatherND-13", [[1, 2], [3, 4]], [[0, 1], [-1, 0]])
    assert text.startswith(f"{explanation}\n\nThe same in NumPy\n  import numpy as np\n")
    for each in explanation.equivalents.values():
        assert f"The same in {each.library}\n{textwrap.indent(each.code, '  ')}\n" in text


def test_explain_reads_files_and_writes_pictures(folder: Path) -> None:
    np.save("data.npy", np.arange(4, dtype=np.float32))
    np.save("indices.npy", np.array([3, 0]))
    line = "explain onnx.Gather-13 --data data.npy --indices indices.npy"
    for name in ("page.html", "picture.svg"):
        assert succeed(*shlex.split(line), "-o", name) == f"written: {name}\n"
    expected = gs.explain("onnx.Gather-13", np.arange(4, dtype=np.float32), np.array([3, 0]))
    assert (folder / "picture.svg").read_text(encoding="utf-8") == expected.svg()
    succeed(*shlex.split(line), "-o", "dark.svg", "--theme", "dark")
    assert (folder / "dark.svg").read_text(encoding="utf-8") == expected.svg("dark")


def test_values_of_json_have_one_type_and_attributes_come_from_the_table() -> None:
    line = "explain openvino.ScatterElementsUpdate-12 --data [1.5,2,3] --indices [2,2] --updates [5,6] --axis -1"
    text = succeed(*line.split(), "--reduction", "mean", "--use-init-val", "false")
    assert "reduction = mean, use_init_val = False" in text.splitlines()[0]
    assert "output[2]: mean of 2 contributions, the newest 6: 5.5" in text


def test_a_failing_call_is_explained() -> None:
    text = succeed("explain", "onnx.Gather-13", "--data", '["a","b"]', "--indices", "[5]")
    assert "indices[0] = 5 is out of range for axis 0 of data" in text


def test_mistakes_are_one_line() -> None:
    assert "there is no operator 'onnx.Gathre'" in fail("explain", "onnx.Gathre")
    assert "nofile.npy: No such file" in fail("explain", "onnx.Gather", "--data", "nofile.npy", "--indices", "[0]")
    assert "not all of one length" in fail("explain", "onnx.Gather", "--data", "[[1],[2,3]]", "--indices", "[0]")
    assert "must end in .svg, .png, .html" in fail(
        "explain", "onnx.Gather", "--data", "[1]", "--indices", "[0]", "-o", "x.gif"
    )


@pytest.mark.parametrize("row", gs.ops(), ids=lambda row: row.name)
def test_every_version_has_its_options(row: gs.OpVersion) -> None:
    text = CliRunner().invoke(_operator_command(row), ["--help"]).stdout
    assert all(f"--{one.name}" in text for one in (*row.inputs, *row.attributes))


def test_the_examples_of_the_help_page_run() -> None:
    lines = examples_of(succeed("explain", "--help"))
    assert len(lines) == 2
    for line in lines:
        succeed(*shlex.split(line)[1:])

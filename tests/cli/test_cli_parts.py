"""The parts of the command line that are easier to test separately."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.cli import main
from gatherscatter.cli.input_files import split_name
from gatherscatter.cli.tables import preview
from gatherscatter.messages.text import shape_text
from gatherscatter.system.progress import NodeProgress
from gatherscatter_models.commands.output_files import OutputFiles
from gatherscatter_models.interface import ModelError, TensorInfo
from gatherscatter_models.random_inputs import LARGEST, make_inputs


def test_shape_text() -> None:
    assert [shape_text(shape) for shape in (None, (), (3,), ("batch", None, 3))] == [
        "unknown rank",
        "()",
        "(3,)",
        "(batch, ?, 3)",
    ]


def test_preview_is_compact() -> None:
    assert preview(np.array(3)) == "3"
    assert preview(np.array(["a\x1b", "b"], dtype=object)) == "['a\\x1b', 'b']"
    assert len(preview(np.zeros((30, 30, 30, 30))).splitlines()) <= 25
    assert len(preview(np.array(["x" * 10**6], dtype=object))) <= 10_000


def test_output_names_become_file_names(tmp_path: Path) -> None:
    names = ["/model/Add:0", "_model_Add_0", "..", "ü"]
    files = OutputFiles([f"{tmp_path}/out/"], names)
    files.write({name: np.array(number) for number, name in enumerate(names)})
    written = {path.name: int(np.load(path)) for path in (tmp_path / "out").iterdir()}
    assert written == {"_model_Add_0.npy": 0, "_model_Add_0_.npy": 1, "output.npy": 2, "ü.npy": 3}


def test_a_name_may_contain_an_equals_sign() -> None:
    assert split_name("a=b=c.npy", ["a", "a=b"]) == ("a=b", "c.npy")
    assert split_name("a=b=c.npy", ["x"]) == ("a", "b=c.npy")
    assert split_name("c.npy", ["x"]) is None


def infos() -> Iterator[TensorInfo]:
    types = {name for row in gs.ops() for name in (*row.element_types, *row.index_types)}
    for name in sorted(types):
        yield TensorInfo(name, name, ("n", None, 3))


def test_random_inputs_have_the_declared_types() -> None:
    made = make_inputs(list(infos()), sizes={"n": 4, "?": 2})
    from gatherscatter.arrays.convert import element_type

    for name, array in made.items():
        assert (element_type(array.dtype), array.shape) == (name, (4, 2, 3))
        if "int" in name:
            assert not array.astype(np.int64).any()


def test_random_integers_stay_below_the_bound_and_in_their_type() -> None:
    made = make_inputs([TensorInfo(name, name, (500,)) for name in ("int64", "int8", "uint4")], below=200)
    assert made["int64"].max() > 150
    assert made["int8"].min() >= 0
    assert made["uint4"].astype(int).max() == 15


def test_random_inputs_need_a_rank_and_a_sane_size() -> None:
    with pytest.raises(ModelError, match="--shape x=2,3"):
        make_inputs([TensorInfo("x", "float32", None)])
    with pytest.raises(ModelError, match="would take"):
        make_inputs([TensorInfo("x", "float32", (LARGEST,))])
    assert make_inputs([TensorInfo("x", "float32", None)], shapes={"x": (2,)})["x"].shape == (2,)


class Terminal:
    """A stderr that claims to be a terminal and records the text written to it."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        """Do nothing, because nothing is buffered."""


@pytest.mark.parametrize(("seconds", "shown"), [(0.0, False), (0.4, True)])
def test_progress_appears_only_after_a_while(seconds: float, shown: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("gatherscatter.system.progress.DELAY", 0.1)
    monkeypatch.setenv("TERM", "xterm")
    with NodeProgress(3) as progress:
        progress("ScatterND 'first'")
        time.sleep(seconds)
    assert ("ScatterND 'first'" in terminal.text) is shown


def test_progress_is_silent_without_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gatherscatter.system.progress.DELAY", 0.01)
    with NodeProgress(3) as progress:
        progress("ScatterND 'first'")
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_click_errors_keep_their_exit_code_outside_standalone_mode() -> None:
    with pytest.raises(click.UsageError):
        main(["rum"], standalone_mode=False)

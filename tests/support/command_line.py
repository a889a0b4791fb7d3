"""Call the command line as a user does, with files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from click.testing import CliRunner, Result

from gatherscatter.cli import main
from tests.support.paths import EXAMPLES

MODEL = str(EXAMPLES / "kv_cache" / "scatter_nd.onnx")
INPUTS = str(EXAMPLES / "kv_cache" / "inputs.npz")


def call(*args: str | Path) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


def succeed(*args: str | Path) -> str:
    result = call(*args)
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def fail(*args: str | Path) -> str:
    """Return the single line of an expected error, without the name of the program."""
    result = call(*args)
    assert result.exit_code == 2, (result.stdout, result.stderr, result.exception)
    assert result.stderr.startswith("gatherscatter: error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("gatherscatter: error: ").rstrip("\n")


def write_arrays(folder: Path) -> None:
    """Write the files of one ScatterND call, and some invalid ones."""
    np.save(folder / "data.npy", np.arange(8, dtype=np.float32))
    np.save(folder / "indices.npy", np.array([[1], [3], [1]]))
    np.save(folder / "updates.npy", np.array([10, 20, 30], np.float32))
    np.save(folder / "far.npy", np.array([[1], [12], [3]]))
    np.save(folder / "objects.npy", np.array([{}, None], dtype=object))
    (folder / "text.npy").write_text("no array")
    (folder / "empty.npy").write_bytes(b"")
    (folder / "short.npy").write_bytes((folder / "data.npy").read_bytes()[:-3])
    (folder / "text.npz").write_text("no archive")
    (folder / "text.onnx").write_text("no model")
    (folder / "text.xml").write_text("no model")


def examples_of(text: str) -> list[str]:
    """Return the commands below ``Example:`` in a help page."""
    lines = text.partition("Example")[2].splitlines()[1:]
    return [line.strip() for line in lines if line.strip().startswith(("gatherscatter ", "python "))]

"""Call the command lines as a user does, with files: ``gatherscatter``, and ``python -m benchmarks``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from click.testing import CliRunner, Result

from benchmarks.command import command as benchmarks
from gatherscatter.cli import main
from tests.support.paths import EXAMPLES

BENCHMARKS = "benchmarks"
MODEL = str(EXAMPLES / "kv_cache" / "scatter_nd.onnx")
INPUTS = str(EXAMPLES / "kv_cache" / "inputs.npz")


def call(*args: str | Path) -> Result:
    """Call ``gatherscatter``, or the benchmark if the first word is ``benchmarks``."""
    words = [str(arg) for arg in args]
    if words[:1] == [BENCHMARKS]:
        return CliRunner().invoke(benchmarks, words[1:])
    return CliRunner().invoke(main, words)


def succeed(*args: str | Path) -> str:
    result = call(*args)
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def fail(*args: str | Path) -> str:
    """Return the single line of an expected error, without the name of the program."""
    result = call(*args)
    assert result.exit_code == 2, (result.stdout, result.stderr, result.exception)
    program = BENCHMARKS if args[:1] == (BENCHMARKS,) else "gatherscatter"
    assert result.stderr.startswith(f"{program}: error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix(f"{program}: error: ").rstrip("\n")


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

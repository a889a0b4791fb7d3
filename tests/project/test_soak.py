"""The soak script works: a few seconds of it.

The script limits the growth of memory in ten minutes to 1 %. A few seconds are too short for this limit, because some
calls happen for the first time and import modules. So memory may grow by 10 % here. Results, descriptors and threads
are checked as usual.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.paths import TOOLS

pytest.importorskip("onnx")

SCRIPT = TOOLS / "soak.py"


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="the script reads what a process holds from /proc")
def test_a_few_seconds() -> None:
    command = [sys.executable, SCRIPT, "--minutes", "0.25", "--processes", "2", "--seed", "3", "--growth", "10"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASSED" in done.stdout
    assert done.stderr == ""

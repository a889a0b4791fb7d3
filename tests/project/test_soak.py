"""The soak script works: a few seconds of it.

That is too short for the 1 % of memory that ten minutes are held to: after so little time some calls happen for the
first time, and keep what they have imported. So memory may grow by 10 % here. Results, descriptors and threads are
judged as ever.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.paths import TOOLS

pytest.importorskip("onnx")

SCRIPT = TOOLS / "soak.py"


@pytest.mark.skipif(sys.platform != "linux", reason="the script reads what a process holds from /proc")
def test_a_few_seconds() -> None:
    command = [sys.executable, SCRIPT, "--minutes", "0.25", "--processes", "2", "--seed", "3", "--growth", "10"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASSED" in done.stdout
    assert done.stderr == ""

"""Parts of tests that run in separate processes."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.support.paths import ROOT


def in_another_process(call: str, module: str) -> None:
    """Call a function of a module in a new process. Some libraries start threads, which makes later forks unsafe."""
    package, _, name = module.rpartition(".")
    done = subprocess.run(
        [sys.executable, "-c", f"from {package} import {name}; {name}.{call}"],
        cwd=ROOT,
        env=os.environ | {"NUMBA_NUM_THREADS": "2"},  # even with one processor
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr

"""Parts of tests in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.support.paths import ROOT


def in_another_process(call: str, module: str) -> None:
    """Call a function of a module. Some libraries start threads, after which a fork, as in other tests, is not safe."""
    package, _, name = module.rpartition(".")
    done = subprocess.run(
        [sys.executable, "-c", f"from {package} import {name}; {name}.{call}"],
        cwd=ROOT,
        env=os.environ | {"NUMBA_NUM_THREADS": "2"},  # on one processor, too
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr

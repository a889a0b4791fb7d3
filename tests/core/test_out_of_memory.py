"""Running out of memory raises MemoryError and changes nothing. The process continues."""

from __future__ import annotations

import subprocess
import sys

import pytest

LIMITED = """
import resource, sys
import numpy as np
import gatherscatter as gs

data, rows = np.ones((400, 1000), np.float16), np.arange(400).repeat(100)
updates = np.ones((40_000, 1000), np.float16)
gs.set_num_threads(3)
gs.set_pool_limit(0)
gs.scatter_update(data, rows, updates, reduction="add")  # threads are there

wide = np.ones(20_000_000, np.float16)
few = np.arange(5)
more = np.ones(5, np.float16)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (30 << 20),) * 2)

calls = {
    "gather": lambda: gs.gather(data, rows),
    "copied data": lambda: gs.gather_elements(updates[::-1, ::-1], np.zeros((1, 1000), int)),
    "scatter": lambda: gs.scatter_update(wide, few, more),
    "mean in place": lambda: gs.scatter_update(wide, few, more, reduction="mean", out=wide),
    "exact in place": lambda: gs.scatter_update(wide, few, more, reduction="add", accumulate="exact", out=wide),
    "wide in place": lambda: gs.scatter_nd(wide, few[:, None], more, reduction="add", accumulate="wide", out=wide),
    "specification": lambda: gs.onnx.ScatterElements(wide, few, more, reduction="add"),
}
for name, call in calls.items():
    for _ in range(3):
        try:
            call()
        except MemoryError:
            pass
        else:
            sys.exit(f"{name}: there was enough memory")
        if not (wide[:10] == 1).all():
            sys.exit(f"{name}: wrote before it knew")
    if gs.gather(data, [3]).sum() != 1000 or gs.scatter_update(data[:3], [0], data[:1], reduction="add")[0, 0] != 2:
        sys.exit(f"{name}: does not go on")
gs.scatter_update(wide, few, more, reduction="add", out=wide)  # needs no memory
assert wide[:6].tolist() == [2, 2, 2, 2, 2, 1]
"""


@pytest.mark.native
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory are Linux's here")
def test_a_process_with_little_memory() -> None:
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr

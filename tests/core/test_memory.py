"""Beside inputs and output, a call needs no more memory than its plan says."""

from __future__ import annotations

import subprocess
import sys

import pytest

CASES = {
    "gather": ("gather", "f4((500_000, 32))", "index(500_000, 500_000)", ""),
    "gather, strided": ("gather", "f4((500_000, 64))[:, ::2]", "index(500_000, 500_000)", ""),
    "gather_elements": ("gather_elements", "f4((4000, 4000))", "index((4000, 4000), 4000)", ""),
    "scatter rows": ("scatter_update", "f4((500_000, 32))", "index(500_000, 500_000)", "f4((500_000, 32))"),
    "scatter far elements": ("scatter_update", "f4(16_000_000)", "index(16_000_000, 16_000_000)", "f4(16_000_000)"),
    "scatter ordered": ("scatter_update", "f4(16_000_000)", "np.arange(16_000_000)", "f4(16_000_000)"),
    "scatter elements": ("scatter_elements", "f4((4000, 4000))", "index((4000, 4000), 4000)", "f4((4000, 4000))"),
}

CODE = """
import resource, sys
import numpy as np, gatherscatter as gs
gs.set_pool_limit(0)
gs.set_num_threads(2)
f4 = lambda shape: np.ones(shape, np.float32)
index = lambda shape, size: np.random.default_rng(0).integers(0, size, shape)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
name, options = sys.argv[1], {"reduction": sys.argv[5]} if sys.argv[4] else {}
arguments = [eval(text) for text in sys.argv[2:5] if text]
gs.gather(np.zeros((1000, 64)), index(20_000, 1000))  # starts the threads
plan = gs.plan(name, *arguments, **options)
before = peak()
result = getattr(gs, name)(*arguments, **options)
assert not plan.copies, plan
print(peak() - before - result.nbytes - plan.scratch_bytes)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is counted in other units elsewhere")
@pytest.mark.parametrize("reduction", ["add", "mean"])
@pytest.mark.parametrize("case", CASES)
def test_peak(case: str, reduction: str) -> None:
    if reduction == "mean" and not CASES[case][3]:
        pytest.skip("gathers have no reduction")
    command = [sys.executable, "-c", CODE, *CASES[case], reduction]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 12 << 20  # blocks are rounded up to huge pages; threads have stacks

"""A call needs no more memory than its plan states, in addition to inputs and output."""

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
name, options = sys.argv[1], eval(sys.argv[5])
arguments = [eval(text) for text in sys.argv[2:5] if text]
gs.gather(np.zeros((1000, 64)), index(20_000, 1000))  # starts the threads
before = peak()
result = getattr(gs, name)(*arguments, **options)
taken = peak() - before - result.nbytes
plan = gs.plan(name, *arguments, **options)  # which takes memory itself
assert not plan.copies, plan
print(taken - plan.scratch_bytes)
"""


# The gathered rows have 256 MB. Exact sums take 51 MB, weights or the order of members 16 MB.
BAGS = {
    "sums": "{}",
    "exact sums": "{'accumulate': 'exact'}",
    "weighted maxima": "{'reduction': 'max', 'weights': f4((200_000, 10))}",
    "offsets": "{'offsets': np.arange(0, 2_000_000, 10), 'accumulate': 'exact'}",
    "segments": "{'segment_ids': index(2_000_000, 200_000), 'weights': f4(2_000_000)}",
    "wide rows": "{'accumulate': 'exact'}",
}

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="peak memory is counted in other units elsewhere")


@linux_only
@pytest.mark.parametrize("reduction", ["add", "mean"])
@pytest.mark.parametrize("case", CASES)
def test_peak(case: str, reduction: str) -> None:
    if reduction == "mean" and not CASES[case][3]:
        pytest.skip("gathers have no reduction")
    check_peak(*CASES[case], repr({"reduction": reduction} if CASES[case][3] else {}))


@linux_only
@pytest.mark.parametrize("case", BAGS)
def test_peak_of_bags(case: str) -> None:
    data, index = "f4((500_000, 32))", "index((200_000, 10), 500_000)"
    if case in ("offsets", "segments"):
        index = "index(2_000_000, 500_000)"
    elif case == "wide rows":  # threads run many tasks, and each holds one row
        data, index = "f4((4, 4_000_000))", "index((20, 4), 4)"
    check_peak("gather_reduce", data, index, "", BAGS[case])


def check_peak(*arguments: str) -> None:
    """Check the peak of a call. The arguments are those of CODE: a function, its arrays, and its options."""
    done = subprocess.run([sys.executable, "-c", CODE, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 12 << 20  # blocks are rounded up to huge pages; threads have stacks

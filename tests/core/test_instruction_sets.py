"""All versions of the loops give identical results.

Each runs in its own process, because the version is chosen when the package is loaded.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import numpy as np
import pytest

import gatherscatter as gs

NAMES = ("baseline", "avx2", "avx512")

# Prints a digest of each result, and of the contents of `out` after a bad index. Sizes exceed blocks, batches and the
# thresholds for owners and for streaming.
CODE = """
import hashlib, itertools
import ml_dtypes, numpy as np, gatherscatter as gs
from gatherscatter.functions.bag_gradients import dot_rows, sum_matches

FLOATS = ("float16", "bfloat16", "float32", "float64")
rng = np.random.default_rng(0)
types = [np.dtype(getattr(ml_dtypes, name, None) or name) for name in (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint64", "float16", "bfloat16", "float32", "float64",
    "complex64", "complex128")]

def values(shape, dtype):
    dtype = np.dtype(dtype)
    numbers = rng.standard_normal(shape) * 8
    if dtype.kind == "c":
        numbers = numbers + 1j * rng.standard_normal(shape)
    return (abs(numbers) if dtype in ("uint8", "uint64") else numbers).astype(dtype)

def digest(name, *arrays):
    print(name, *(hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16] for array in arrays))

plan = gs.plan("gather", [1], [0])
print(plan.instruction_set)
for dtype, threads in itertools.product(types, (1, 2)):
    n, m = 1003, 77
    for kind in ("int8", "int32", "int64", "uint16"):
        low = 0 if kind[0] == "u" else -m
        positions, data, out = rng.integers(low, m, n).astype(kind), values(m, dtype), np.zeros(n, dtype)
        digest(f"gather {dtype} {kind}", gs.gather(data, positions, num_threads=threads))
        positions[n // 2] = m
        for mode in ("wrap", "clip", "fill"):
            digest(f"gather {mode}", gs.gather(data, positions, mode=mode, num_threads=threads))
        try:
            gs.gather(data, positions, out=out, num_threads=threads)
        except IndexError as error:
            digest(f"gather out {error}", out)
    for width in (1, 3, 16, 33, 200):
        data, rows = values((m, width), dtype), rng.integers(-m, m, 300)
        digest(f"rows {dtype} {width}", gs.gather(data, rows, num_threads=threads))
        for reduction in ("none", "add", "sub", "mul", "min", "max", "mean"):
            if dtype.kind in "cb" and reduction in ("min", "max", "mean"):
                continue
            for mode in ("raise", "drop"):
                result = gs.scatter_update(data, rows, values((300, width), dtype), reduction=reduction, mode=mode,
                                           num_threads=threads)
                digest(f"scatter {dtype} {width} {reduction} {mode}", result)
        members, weights = rng.integers(-m, m, (40, 17)), values((40, 17), dtype)
        for reduction in ("add", "mul", "min", "max", "mean"):
            if dtype.kind in "cb" and reduction in ("min", "max", "mean"):
                continue
            for weight in (None, weights):
                result = gs.gather_reduce(data, members, weights=weight, reduction=reduction, num_threads=threads)
                digest(f"bags {dtype} {width} {reduction} {weight is None}", result)
        flat, owner = members.ravel() % m, np.repeat(np.arange(40), 17)
        if dtype.name in FLOATS:
            best = gs.gather_reduce(data, members, reduction="max")
            for value in (None, data):
                result = sum_matches(value, data, best, flat, owner, num_threads=threads)
                digest(f"matches {dtype} {width} {value is None}", result)
        if dtype.name in FLOATS or dtype.kind == "c":
            result = dot_rows(data, data[:40], flat, owner, num_threads=threads)
            digest(f"dots {dtype} {width}", result)
    box = rng.integers(-m, m, (50, 1003))
    digest(f"elements {dtype}", gs.gather_elements(values((50, m), dtype), box, 1, num_threads=threads))
    digest(f"elements {dtype}", gs.gather_elements(values((m, 1003), dtype), box, 0, num_threads=threads))
    tuples = np.stack([rng.integers(-d, d, 900) for d in (5, 6, 7)], -1)
    digest(f"tuples {dtype}", gs.gather_nd(values((5, 6, 7), dtype), tuples, num_threads=threads))
    for m in (300_000, 3_000_000):  # elements with owners, in the cache and outside
        many = rng.integers(-m, m, 200_001)
        digest(f"far {dtype} {m}", gs.gather(values(m, dtype), many, num_threads=threads))
        for reduction in ("none", "add"):
            result = gs.scatter_update(values(m, dtype), many, values(len(many), dtype), reduction=reduction,
                                       num_threads=threads)
            digest(f"owned {dtype} {m} {reduction}", result)
for width in (64, 96, 100):  # written past the caches
    data, rows = values((60_000, width), "f4"), rng.integers(0, 60_000, 40_000)
    for threads in (1, 2):
        digest(f"stream {width}", gs.gather(data, rows, num_threads=threads))
        digest(f"copy {width}", gs.scatter_update(data, rows[:9], values((9, width), "f4"), num_threads=threads))
        distinct = np.arange(0, 60_000, 2)
        updates = values((len(distinct), width), "f4")
        digest(f"set {width}", gs.scatter_update(data, distinct, updates, num_threads=threads))
        digest(f"elements {width}", gs.gather(data[0], rng.integers(-width, width, 3_000_000), num_threads=threads))
"""


def run(name: str) -> list[str]:
    environment = {**os.environ, "GATHERSCATTER_INSTRUCTION_SET": name}
    done = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_results_have_the_same_bits() -> None:
    newest = gs.plan("gather", [1], [0]).instruction_set
    if newest == "baseline":
        pytest.skip("one version only")
    results = {}
    for name in NAMES[: NAMES.index(newest) + 1]:
        used, *results[name] = run(name)
        assert used == name
    baseline = results["baseline"]
    assert len(baseline) > 500
    for which, result in results.items():
        assert result == baseline, which


@pytest.mark.parametrize(("given", "size"), [("3000000", 3_000_000), ("nonsense", None), ("-1", None)])
def test_the_size_of_the_caches_can_be_set(given: str, size: int | None) -> None:
    code = "import gatherscatter as gs; print(gs.plan('gather', [1], [0]).cache_bytes)"
    environment = {**os.environ, "GATHERSCATTER_CACHE_BYTES": given}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert int(done.stdout) == (size or gs.plan("gather", [1], [0]).cache_bytes)


def test_a_plan_says_what_is_written_past_the_caches() -> None:
    rows = np.arange(40_000)
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("no streaming stores")
    wide = gs.plan("gather", np.zeros((80_000, 96), np.float32), rows)
    assert any("the result is written past the caches" in step for step in wide.steps)
    copy = gs.plan("scatter_update", np.zeros(5_000_000), [1], [2.0])
    assert any("the copy of data is written past the caches" in step for step in copy.steps)
    few = gs.plan("gather", np.zeros((80_000, 96)), rows[:80])
    assert not any("past the caches" in step for step in few.steps)

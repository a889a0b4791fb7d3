"""Updates of integers that threads divide: the result has the bits of one thread, for every type and reduction."""

from __future__ import annotations

import numpy as np
import pytest

import gatherscatter as gs

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
COUNT = 60_000


def arguments(dtype: str, targets: int, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    limits = np.iinfo(dtype)
    values = rng.integers(limits.min, limits.max, (targets + COUNT) * width, dtype, endpoint=True)
    shape = (-1, width) if width > 1 else (-1,)
    return (
        values[: targets * width].reshape(shape),
        rng.integers(-targets, targets, COUNT),
        values[targets * width :].reshape(shape),
    )


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("reduction", ["add", "sub", "mul", "min", "max"])
@pytest.mark.parametrize(("targets", "width"), [(1, 1), (50, 1), (700, 3)])
def test_the_bits_are_those_of_one_thread(dtype: str, reduction: str, targets: int, width: int) -> None:
    data, indices, updates = arguments(dtype, targets, width)
    options = {"reduction": reduction}
    plan = gs.plan("scatter_update", data, indices, updates, num_threads=3, **options)
    assert (plan.split, plan.threads) == ("updates", 3)
    assert plan.scratch_bytes >= 2 * data.nbytes
    expected = data.copy()
    functions = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
    functions[reduction].at(expected, indices, updates)
    for threads in (1, 2, 3, 5):
        found = gs.scatter_update(data, indices, updates, num_threads=threads, **options)
        assert found.tobytes() == expected.tobytes()
        out = data.copy()
        gs.scatter_update(out, indices, updates, num_threads=threads, out=out, **options)
        assert out.tobytes() == expected.tobytes()


def test_dropped_updates_and_errors() -> None:
    data, indices, updates = arguments("int64", 50, 1)
    indices[[7, COUNT - 1]] = 50, -51
    with pytest.raises(gs.OpIndexError, match=r"indices\[7\] = 50"):
        gs.scatter_update(data, indices, updates, reduction="add", num_threads=3)
    expected = data.copy()
    good = (indices >= -50) & (indices < 50)
    np.add.at(expected, indices[good], updates[good])
    found = gs.scatter_update(data, indices, updates, reduction="add", mode="drop", num_threads=3)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("change", ["float", "mean", "without self", "set", "large", "few"])
def test_other_calls_keep_the_order(change: str) -> None:
    data, indices, updates = arguments("int32", 50, 1)
    options = {"reduction": "add", "num_threads": 3}
    if change == "float":
        data, updates = data.astype(np.float32), updates.astype(np.float32)
    elif change == "mean":
        options["reduction"] = "mean"
    elif change == "without self":
        options["include_self"] = False
    elif change == "set":
        options["reduction"] = "none"
    elif change == "large":
        data = np.zeros(20_000_000, np.int32)
    else:
        data = np.zeros(COUNT, np.int32)
    assert gs.plan("scatter_update", data, indices, updates, **options).split != "updates"

"""Negative indices that are refused or name no row: the oracle, and masks by hand."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gatherscatter as gs
from gatherscatter import oracle
from gatherscatter.errors import OpIndexError
from gatherscatter.operation import GATHERS, SCATTERS, Form, Kernel, Operation
from tests.support.judge import check_error, outcome


def run(function: str, *inputs: Any, **options: Any) -> np.ndarray:
    result: np.ndarray = getattr(gs, function)(*inputs, **options)
    return result


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("dtype", ["int8", "int64"])
@pytest.mark.parametrize("kernel", [Kernel.GATHER, Kernel.SCATTER_UPDATE])
def test_axes_without_elements_have_no_row(kernel: Kernel, dtype: str, mode: str) -> None:
    data, indices, updates = np.zeros((0, 2)), np.array([-1, -3], dtype), np.ones((2, 2))
    rest = (updates,) if kernel.is_scatter else ()
    result = run(kernel, data, indices, *rest, negative="skip", mode=mode)
    assert result.tolist() == ([] if kernel.is_scatter else [[0, 0], [0, 0]])
    for refused in (np.array([-1, 0], dtype), np.array([0], "uint8")):
        with pytest.raises(OpIndexError, match="size 0"):
            run(kernel, data, refused, *([np.ones((len(refused), 2))] if rest else []), negative="skip", mode=mode)


def test_errors_name_the_first_index_that_is_refused() -> None:
    with pytest.raises(OpIndexError, match=r"indices\[2\] = 7 is out of range .*size 5 \(valid: 0..4\)"):
        run("gather", np.zeros(5), [-1, 3, 7], negative="skip")
    with pytest.raises(OpIndexError, match=r"indices\[1\] = -2 is out of range .*\(valid: 0..4\)"):
        run("scatter_update", np.zeros(5), [9, -2], np.ones(2), negative="error", mode="drop")
    with pytest.raises(OpIndexError, match=r"indices\[0, 1\] = 9 is out of range for axis 1"):
        run("gather_nd", np.zeros((5, 5)), [[-1, 9]], negative="skip")


def hole(indices: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Make a third of the tuples name no row. Return the indices and a mask of those that do."""
    named = rng.random(indices.shape[:1]) > 1 / 3
    holes = np.where(named.reshape(-1, *(1,) * (indices.ndim - 1)), indices, -1 - rng.integers(0, 3))
    return holes.astype(indices.dtype), named


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("index", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("width", [1, 3, 64])
@pytest.mark.parametrize("form", [Form.ROWS, Form.TUPLES])
def test_many_indices_give_the_bits_of_a_mask(form: Form, width: int, index: str, threads: int) -> None:
    rng = np.random.default_rng(width)
    size, count = (100, 30_000)
    data = rng.standard_normal((size, width)).astype(np.float32)
    plain = rng.integers(0, size, (count, 1) if form == Form.TUPLES else count).astype(index)
    indices, named = hole(plain, rng)
    updates = rng.standard_normal((count, width)).astype(np.float32)
    gather, scatter = next((g, s) for g, s in zip(GATHERS, SCATTERS, strict=True) if g.form == form)
    expected = np.zeros((count, width), np.float32)
    expected[named] = getattr(gs, gather)(data, plain[named])
    result = run(gather, data, indices, negative="skip", num_threads=threads)
    np.testing.assert_array_equal(result, expected)
    for reduction in oracle.REDUCTIONS:
        expected = getattr(gs, scatter)(data, plain[named], updates[named], reduction=reduction)
        result = run(scatter, data, indices, updates, negative="skip", reduction=reduction, num_threads=threads)
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("form", ["indices", "offsets", "indptr", "segment_ids", "sorted segment_ids"])
@given(data=st.data())
def test_bags_leave_members_out(form: str, data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    dtype = data.draw(st.sampled_from([np.float32, np.int16, np.float64, ml_dtypes.bfloat16]))
    bags, members, width = (data.draw(st.integers(*limits)) for limits in ((0, 5), (0, 40), (0, 5)))
    members = members // max(bags, 1) * bags if form == "indices" else members if bags or form != "offsets" else 0
    table = rng.integers(-9, 9, (7, width)).astype(dtype)
    index = data.draw(st.sampled_from(["int8", "int32", "int64", "uint64"]))
    low = -2 if index != "uint64" else 0
    mode = data.draw(st.sampled_from(oracle.GATHER_MODES))
    rows = rng.integers(low, 7 if mode == "raise" else 9, members).astype(index)
    ids = rng.integers(-2, bags, members)
    given_rows: np.ndarray | None = rows
    options: dict[str, Any] = {"reduction": data.draw(st.sampled_from(["add", "mul", "min", "max", "mean"]))}
    if "segment_ids" in form:
        ids = np.sort(ids) if "sorted" in form else ids
        options |= {"segment_ids": ids, "num_segments": bags}
        if data.draw(st.booleans()):
            given_rows, table = None, rng.integers(-9, 9, (members, width)).astype(dtype)
            rows = np.arange(members)
    elif form == "indices":
        given_rows, ids = (
            rows.reshape(bags, members // max(bags, 1)),
            np.arange(members) // max(members // max(bags, 1), 1),
        )
    else:
        cuts = np.sort(rng.integers(0, members + 1, bags))
        cuts[:1] = 0
        ids = np.searchsorted(cuts, np.arange(members), side="right") - 1
        options[form] = cuts if form == "offsets" else np.append(cuts, members)
        if form == "indptr" and bags == 0:
            return
    weights = data.draw(st.booleans()) and given_rows is not None and options["reduction"] != "mean"
    flat = rng.integers(1, 4, members).astype(dtype) if weights else None
    if flat is not None:
        options["weights"] = flat.reshape(np.shape(given_rows))
    how = {"mode": mode, "negative": "skip", "reduction": options["reduction"], "default": dtype(3)}
    expected = outcome(oracle.gather_reduce, table, rows.tolist(), ids.tolist(), bags, flat, accumulate="step", **how)
    result = outcome(run, "gather_reduce", table, given_rows, **options | how)
    if isinstance(expected, Exception):
        check_error(result, "gather_reduce", expected)
    else:
        assert not isinstance(result, Exception), result
        oracle.assert_same(result.reshape(expected.shape), expected, table, how["reduction"] not in ("min", "max"))


@pytest.mark.parametrize("reduction", ["add", "mul", "min", "max", "mean"])
def test_bags_of_strided_data(reduction: str) -> None:
    data = np.arange(1.0, 41).reshape(20, 2)[::2]
    for options in ({"offsets": [0, 2]}, {"segment_ids": [0, 0, 1], "num_segments": 2}):
        how = {"negative": "skip", "reduction": reduction, "default": 7.0}
        result = gs.gather_reduce(data, [1, -1, -2], **options, **how)
        assert result.tolist() == [data[1].tolist(), [7, 7]]


def test_all_segment_ids_and_indices_are_checked() -> None:
    table = np.arange(6.0).reshape(3, 2)
    with pytest.raises(OpIndexError, match=r"segment_ids\[1\] = 2 .* \(valid: 0..1\)"):
        run("gather_reduce", table, [0, -1], negative="skip", segment_ids=[0, 2], num_segments=2)
    with pytest.raises(OpIndexError, match=r"indices\[0\] = 3 is out of range"):
        run("gather_reduce", table, [3, 1], negative="skip", segment_ids=[-1, 0], num_segments=2)
    result = run("gather_reduce", table, [0, -1, 2], negative="skip", segment_ids=[0, 3, -1])
    assert result.tolist() == [[0, 1], [0, 0], [0, 0], [0, 0]]  # the skipped row has the greatest segment id
    assert math.prod(result.shape) == 8


def test_the_counterpart_keeps_the_rule() -> None:
    operation = Operation("gather", Kernel.GATHER, negative="skip").make_counterpart(reduction="add")
    assert (operation.mode, operation.negative) == ("raise", "skip")
    assert operation.rule == ("raise", "skip")


# -------------------------------------------------------------------------------------------------- what users run into


def test_padding_leaves_the_last_slot_of_a_cache_alone() -> None:
    """vllm-project/vllm#43810: 64 padded tokens overwrote the last slot, which a request owned."""
    blocks, block_size, width, tokens = 5, 16, 8, 64
    slots = np.concatenate([np.arange(16, 80)[::-1], np.full(64, -1)])
    states = np.arange(128.0 * width).reshape(128, width)
    cache = np.zeros((blocks * block_size, width))
    gs.scatter_update(cache, slots, states, negative="skip", out=cache)
    np.testing.assert_array_equal(cache[slots[:tokens]], states[:tokens])
    assert not cache[:16].any()


def test_a_padded_request_reads_zeros_and_writes_nothing() -> None:
    """sgl-project/sglang#36885: the state of a padded row was that of the last slot, and was stored there."""
    pool = np.arange(12.0).reshape(4, 3)
    slots = np.array([2, -1, 3], np.int32)
    states = gs.gather(pool, slots, negative="skip")
    assert states.tolist() == [[6, 7, 8], [0, 0, 0], [9, 10, 11]]
    stored = gs.scatter_update(pool, slots, states + 1, negative="skip")
    assert stored.tolist() == [[0, 1, 2], [3, 4, 5], [7, 8, 9], [10, 11, 12]]


@pytest.mark.full
@pytest.mark.parametrize("kernel", [*GATHERS, *SCATTERS])
def test_masks_by_hand_give_the_same_bits(kernel: Kernel) -> None:
    """Of 100,000 random calls, a sixth for each kernel."""
    rng = np.random.default_rng(list(map(ord, kernel)))
    for _ in range(100_000 // 6 + 1):
        size, count, width = rng.integers((1, 0, 1), (9, 40, 5))
        data = rng.integers(-9, 9, (size, width)).astype(rng.choice(["f4", "i2", "f8", "c8"]))
        lanes, tuples = kernel.form == Form.LANES, kernel.form == Form.TUPLES
        shape = (count, width) if lanes else (count, 1) if tuples else (count,)
        indices = rng.integers(-size, size, shape).astype(rng.choice(["i1", "i4", "i8"]))
        mode = str(rng.choice(["raise", "wrap", "clip", "drop" if kernel.is_scatter else "fill"]))
        named = indices[..., 0] >= 0 if tuples else indices >= 0
        if not kernel.is_scatter:
            result = run(kernel, data, indices, negative="skip", mode=mode)
            expected = run(kernel, data, np.where(indices < 0, 0, indices))
            expected[~named] = 0
        else:
            options = {"reduction": str(rng.choice(oracle.REDUCTIONS[:6])), "mode": mode}
            updates = rng.integers(-9, 9, (count, width)).astype(data.dtype)
            if data.dtype.kind == "c" and options["reduction"] in ("min", "max"):
                continue
            result = run(kernel, data, indices, updates, negative="skip", **options)
            if lanes:  # one more row takes what is skipped
                padded = np.append(data, data[:1], axis=0)
                expected = run(kernel, padded, np.where(named, indices, size), updates, reduction=options["reduction"])
                expected = expected[:-1]
            else:
                expected = run(kernel, data, indices[named], updates[named], **options)
        assert result.tobytes() == expected.tobytes()

"""NumPy and Python use the amount of memory that the plan of a call states, for any arguments."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gatherscatter as gs
from gatherscatter import _core
from gatherscatter.operation import SCATTERS, Form, Kernel
from tests.support.byte_order import swapped

SLACK = 64 * 1024  # headers of arrays, tuples and the like


@pytest.fixture(autouse=True, scope="module")
def _no_pool() -> Iterator[None]:
    before = gs.pool_limit()
    gs.set_pool_limit(0)
    yield
    gs.set_pool_limit(before)


def used(function: str, arguments: list[Any], options: dict[str, Any]) -> tuple[int, Any]:
    """Return the peak of memory during a call, without its result."""
    call = getattr(gs, function)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        result = call(*arguments, **options)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    made = result.nbytes if options.get("out") is None else 0
    if result.dtype.kind == "O":
        known = {id(each) for array in arguments for each in np.asarray(array, object).flat}
        made += sum(map(sys.getsizeof, {id(each): each for each in result.flat if id(each) not in known}.values()))
    return peak - made, result


class Subclass(np.ndarray):
    """A subclass that changes nothing."""


def laid_out(draw: st.DrawFn, array: np.ndarray, name: str) -> Any:
    """Return the same values in another layout."""
    kinds = ["contiguous", "strided", "reversed", "transposed", "unaligned", "swapped", "subclass"]
    kind = draw(st.sampled_from(kinds + (["list"] if array.size < 20_000 else [])), label=name)
    if kind == "strided":
        room = np.zeros((*array.shape[:-1], array.shape[-1] * 2), array.dtype)
        room[..., ::2] = array
        return room[..., ::2]
    if kind == "reversed":
        return np.ascontiguousarray(array[::-1])[::-1]
    if kind == "transposed":
        return np.asfortranarray(array)
    if kind == "unaligned":
        room = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
        room[...] = array
        return room
    if kind == "swapped":
        return array.astype(array.dtype.newbyteorder())
    if kind == "subclass":
        return array.view(Subclass)
    return array.tolist() if kind == "list" else array


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, list[Any], dict[str, Any]]:
    function = draw(
        st.sampled_from(["gather", "gather_elements", "gather_nd", "scatter_update", "scatter_elements", "scatter_nd"])
    )
    rows, width = draw(st.sampled_from([(300, 40), (20_000, 8), (100, 3000), (4, 50_000)]))
    count = draw(st.sampled_from([3, rows, 20_000]))
    count = min(count, 2_000_000 // width)
    dtype = np.dtype(draw(st.sampled_from(["f4", "f8", "i8", "i2", "c16", "bool"])))
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    data = rng.integers(0, 2, (rows, width)).astype(dtype)
    index = rng.integers(0, rows, count)
    slots: tuple[int, ...] = (count, width)
    if Kernel(function).form == Form.TUPLES:
        index = index[:, None]
    elif Kernel(function).form == Form.LANES:
        index = np.broadcast_to(index[:, None], slots) if draw(st.booleans()) else rng.integers(0, rows, slots)
    index = index.astype(draw(st.sampled_from(["i8", "i4"])))
    options: dict[str, Any] = {}
    scatter = function in SCATTERS
    if scatter and dtype.kind != "b":
        options["reduction"] = draw(st.sampled_from(["none", "add", "mean", "mul"]))
        options["include_self"] = draw(st.booleans())
    expanded = 0 in index.strides and index.size > 1
    data = laid_out(draw, data, "data")
    arguments = [data, index if expanded else laid_out(draw, index, "indices")]
    if scatter:
        arguments.append(laid_out(draw, np.ones(slots, dtype), "updates"))
    where = draw(
        st.sampled_from(["new", "contiguous", "strided", "in place", "overlapping", "transposed"]), label="out"
    )
    own = np.asarray(data)
    shape, out_type = own.shape if scatter else slots, own.dtype
    if where == "contiguous":
        options["out"] = np.zeros(shape, out_type)
    elif where == "strided":
        options["out"] = np.zeros((*shape, 2), out_type)[..., 0]
    elif where == "transposed":
        options["out"] = np.zeros(shape[::-1], out_type).T
    elif where == "in place" and scatter and isinstance(data, np.ndarray) and data.flags.writeable:
        options["out"] = data
    elif where == "overlapping" and type(data) is np.ndarray and shape[0] <= own.shape[0]:
        options["out"] = data[: shape[0]]
    return function, arguments, options


@pytest.mark.full
@given(calls())
def test_numbers(call: tuple[str, list[Any], dict[str, Any]]) -> None:
    function, arguments, options = call
    try:
        plan = gs.plan(function, *arguments, **options)
    except (TypeError, ValueError):  # an unsuitable argument, such as a list of other numbers
        return
    taken, _ = used(function, arguments, options)
    assert taken <= plan.scratch_bytes + SLACK, plan
    # The temporary memory of lists and conversions may be freed before the rest is allocated.
    assert plan.copied_bytes <= 2 * taken + SLACK, plan


@st.composite
def reductions(draw: st.DrawFn) -> tuple[str, list[Any], dict[str, Any]]:
    """Return calls of gather_reduce, with bags of every form."""
    rows, width = draw(st.sampled_from([(300, 40), (20_000, 8), (20_000, 1), (100, 3000)]))
    form = draw(st.sampled_from(["packed", "offsets", "indptr", "segment_ids"]))
    members = rows if form != "packed" and draw(st.booleans(), label="no indices") else 30_000
    count = draw(st.sampled_from([10, 5000]))
    dtype = np.dtype(draw(st.sampled_from(["f4", "f8", "f2", "i8", "i2", "c16"])))
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    index = rng.integers(draw(st.sampled_from([0, -rows])), rows, members)
    options: dict[str, Any] = {
        "reduction": draw(st.sampled_from(["add", "mean", "mul"] + ["max"] * (dtype.kind != "c"))),
        "mode": draw(st.sampled_from(["raise", "fill"])),
    }
    if form == "packed":
        index = index.reshape(-1, members // count)
    elif form == "offsets":
        offsets = np.sort(rng.integers(0, members + 1, count))
        offsets[0] = 0
        options["offsets"] = laid_out(draw, offsets, "offsets")
    elif form == "indptr":
        indptr = np.sort(rng.integers(0, members + 1, count))
        indptr[0], indptr[-1] = 0, members
        options["indptr"] = laid_out(draw, indptr, "indptr")
    else:
        ids = rng.integers(0, count, members)
        options["segment_ids"] = laid_out(draw, np.sort(ids) if draw(st.booleans(), label="sorted") else ids, "ids")
        options["num_segments"] = draw(st.sampled_from([None, count]))
    if dtype.kind == "f":
        accumulate = st.sampled_from(["step", "wide", *(["exact"] if options["reduction"] != "mul" else [])])
        options["accumulate"] = draw(accumulate)
    if draw(st.booleans(), label="weighted"):
        options["weights"] = laid_out(draw, np.ones(index.shape, dtype), "weights")
    if draw(st.booleans(), label="default row"):
        options["default"] = np.ones(width, dtype)
    index = index.astype(draw(st.sampled_from(["i8", "i4"])))
    data = laid_out(draw, rng.integers(0, 2, (rows, width)).astype(dtype), "data")
    arguments = [data] if members == rows else [data, laid_out(draw, index, "indices")]
    if draw(st.booleans(), label="out"):
        try:
            result = gs.gather_reduce(*arguments, **options)
        except (TypeError, ValueError):  # as explained below
            return "gather_reduce", arguments, options
        options["out"] = np.zeros((*result.shape, 2), result.dtype)[..., 0]
    return "gather_reduce", arguments, options


@pytest.mark.full
@given(reductions())
def test_bags(call: tuple[str, list[Any], dict[str, Any]]) -> None:
    function, arguments, options = call
    try:
        plan = gs.plan(function, *arguments, **options)
    except (TypeError, ValueError):  # an unsuitable argument, such as a list of other numbers
        return
    taken, _ = used(function, arguments, options)
    assert 0 <= plan.copied_bytes <= plan.scratch_bytes
    assert taken <= plan.scratch_bytes + SLACK, plan


# Rows have one element, so that the result is small. Each row number takes eight bytes, and so does each start of a
# bag. A sort needs eight bytes for each member, its weight, and a few for each of its buckets.
N, BAGS = 2_000_000, 1000
TABLE, ROWS = np.ones(N, np.float32), np.random.default_rng(1).integers(0, N, N)
IDS = np.random.default_rng(2).integers(0, BAGS, N)
STARTS, BYTES_OF_STARTS, SORT = np.arange(0, N, N // BAGS), 8 * (BAGS + 1), 8 * N + BAGS // 4 * 8 + 16
EXACT: dict[str, tuple[list[Any], dict[str, Any], int]] = {
    "rows in order": ([TABLE, ROWS.reshape(BAGS, -1)], {}, BYTES_OF_STARTS),
    "rows from the end": ([TABLE, (ROWS - N).reshape(BAGS, -1)], {}, 8 * N + BYTES_OF_STARTS),
    "narrow indices": ([TABLE, ROWS.astype("i4").reshape(BAGS, -1)], {}, 8 * N + BYTES_OF_STARTS),
    "strided indices": ([TABLE, ROWS.reshape(-1, BAGS).T], {}, 8 * N + BYTES_OF_STARTS),
    "strided narrow indices": ([TABLE, ROWS.astype("i4").reshape(-1, BAGS).T], {}, 12 * N + BYTES_OF_STARTS),
    "offsets": ([TABLE, ROWS], {"offsets": STARTS}, BYTES_OF_STARTS),
    "offsets without indices": ([TABLE], {"offsets": STARTS}, 8 * N + BYTES_OF_STARTS),
    "indptr": ([TABLE, ROWS], {"indptr": np.append(STARTS, N)}, BYTES_OF_STARTS),
    "narrow indptr": ([TABLE, ROWS], {"indptr": np.append(STARTS, N).astype("i4")}, BYTES_OF_STARTS),
    "segments in order": ([TABLE, ROWS], {"segment_ids": np.sort(IDS)}, BYTES_OF_STARTS),
    "segments": ([TABLE, ROWS], {"segment_ids": IDS}, 8 * N + BYTES_OF_STARTS + SORT),
    "segments without indices": ([TABLE], {"segment_ids": IDS}, 8 * N + BYTES_OF_STARTS + SORT),
    # The rows and the weights in the order of their bags.
    "segments and weights": (
        [TABLE, ROWS.astype("i4")], {"segment_ids": IDS, "weights": TABLE}, 16 * N + BYTES_OF_STARTS + SORT
    ),
    "data with gaps": ([np.repeat(TABLE, 2)[::2], ROWS], {"offsets": STARTS}, 4 * N + BYTES_OF_STARTS),
    # Rows of 16 floats, and their numbers.
    "few rows of data with gaps": (
        [np.ones((N // 4, 32), np.float32)[:, :16], ROWS[: N // 10] // 4], {"offsets": STARTS[: BAGS // 10]},
        (64 + 8) * N // 10 + 8 * (BAGS // 10 + 1),
    ),
    "swapped bytes": ([TABLE.astype(swapped("f4")), ROWS], {"offsets": STARTS}, 4 * N + BYTES_OF_STARTS),
    "weights with gaps": (
        [TABLE, ROWS], {"offsets": STARTS, "weights": np.repeat(TABLE, 2)[::2]}, 4 * N + BYTES_OF_STARTS
    ),
    "all swapped": (
        [TABLE.astype(swapped("f4")), ROWS], {"segment_ids": IDS, "weights": TABLE.astype(swapped("f4"))},
        24 * N + BYTES_OF_STARTS + SORT,
    ),
    "many bags": ([np.ones(3, np.int8), np.zeros((2_000_000, 1), int)], {}, 8 * 2_000_001),
    "a row for many empty bags": (
        [np.ones((3, 1), np.int8), np.zeros((2_000_000, 0), int)], {"default": np.ones(1, np.int8)}, 8 * 2_000_001
    ),
    "out": ([np.ones((N // 8, 64)), ROWS // 8], {"offsets": STARTS, "out": np.zeros((BAGS, 64))},
            8 * BAGS * 64 + BYTES_OF_STARTS),
}  # fmt: skip


def read_memory(name: str) -> int:
    """Return a number of /proc/self/status, in bytes."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


@pytest.mark.full
@pytest.mark.parametrize("case", EXACT)
def test_bytes_of_bags(case: str) -> None:
    """The memory of the process grows by the bytes of the plan, which includes memory that Python does not trace."""
    arguments, options, expected = EXACT[case]
    plan = gs.plan("gather_reduce", *arguments, num_threads=1, **options)
    assert plan.scratch_bytes == expected, plan
    gc.collect()
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins again
    except OSError:
        pytest.skip("the system does not tell the peak of memory")
    before = read_memory("VmRSS")
    result = gs.gather_reduce(*arguments, num_threads=1, **options)
    taken = read_memory("VmHWM") - before - (0 if "out" in options else result.nbytes)
    assert abs(taken - expected) <= 2**20 + expected // 10, taken


def test_gathered_rows_are_not_stored() -> None:
    """This holds for sums in registers and for rows that are combined."""
    data, rows = np.ones((2000, 200)), np.random.default_rng(0).integers(0, 2000, (500, 60))
    for options in ({}, {"accumulate": "exact"}, {"reduction": "max", "weights": np.ones(rows.shape)}):
        plan = gs.plan("gather_reduce", data, rows, **options)
        assert any("gathered rows are not stored" in step for step in plan.steps)
        assert plan.scratch_bytes < rows.size * 200 * 8 / 20
        taken, _ = used("gather_reduce", [data, rows], options)
        assert taken <= plan.scratch_bytes + SLACK


TEXTS = {
    "U": lambda n: np.array([f"{i % 90:03}" for i in range(n)]),
    "S": lambda n: np.array([f"{i % 90:03}".encode() for i in range(n)]),
    "wide U": lambda n: np.array([f"{i % 90:03}" for i in range(n)], "U40"),
    "str": lambda n: np.array([f"{i:07}" for i in range(n)], object),
    "bytes": lambda n: np.array([f"{i:07}".encode() for i in range(n)], object),
    "StringDType": lambda n: np.array([f"{i:07}" for i in range(n)], np.dtypes.StringDType()),
}


@pytest.mark.full
@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("updates_kind", ["same", "other"])
@pytest.mark.parametrize("case", ["none", "add", "add without self", "one target", "gather", "strided", "out"])
def test_text(kind: str, updates_kind: str, case: str) -> None:
    n = 20_000
    data = TEXTS[kind](n)
    indices = np.random.default_rng(0).integers(0, n, n)
    if case == "one target":
        n, indices = 3000, np.zeros(3000, np.int64)
    if case == "strided":
        data = np.repeat(data, 2)[::2]
    function, arguments, options = "scatter_update", [data, indices, data[:n]], {}
    if case in ("gather", "strided"):
        function, arguments = "gather", [data, indices]
    elif updates_kind == "other" and kind in ("U", "wide U", "str"):
        arguments[2] = TEXTS["str" if kind != "str" else "U"](n)
    if case in ("add", "add without self", "one target"):
        options = {"reduction": "add", "include_self": case != "add without self"}
    elif case == "out" and kind != "U":
        options = {"out": data.copy()}
    plan = gs.plan(function, *arguments, **options)
    taken, result = used(function, arguments, options)
    assert taken <= plan.scratch_bytes + SLACK, (taken, plan)
    known = data.nbytes + indices.nbytes + result.nbytes
    factor = 8 if "reduction" in options else 2  # texts have unknown lengths, and some change
    assert plan.scratch_bytes <= factor * (max(taken, 0) + known) + SLACK, (taken, plan)
    assert result.shape == data.shape


@pytest.mark.parametrize("nested", [False, True])
def test_lists(nested: bool) -> None:
    values = np.arange(200_000.0).reshape(-1, 2 if nested else 200_000)
    arguments = [values.tolist(), [0] * 1000]
    plan = gs.plan("gather", *arguments)
    taken, _ = used("gather", arguments, {})
    assert taken <= plan.scratch_bytes + SLACK
    assert plan.scratch_bytes <= 2 * taken + SLACK


def test_an_out_with_gaps() -> None:
    data, out = np.ones((5000, 1000), np.float32), np.zeros((5000, 2000), np.float32)[:, ::2]
    plan = gs.plan("gather", data, np.arange(5000), out=out)
    assert plan.scratch_bytes == plan.copied_bytes == data.nbytes
    taken, _ = used("gather", [data, np.arange(5000)], {"out": out})
    assert abs(taken - data.nbytes) <= SLACK


@given(
    st.lists(st.integers(0, 60), min_size=0, max_size=4),
    st.sampled_from(["f4", swapped("f8"), "i2", "U3", "U17", "S5", "O", "V100", "c16", "T"]),
    st.sampled_from([None, "U9", swapped("i4"), "O", "U33"]),
    st.integers(0, 2),
)
def test_copies_in_pieces_are_those_of_numpy(shape: list[int], dtype: str, to: str | None, layout: int) -> None:
    while np.prod(shape, dtype=float) > 500_000:
        shape.pop()
    numbers = np.arange(int(np.prod(shape))).reshape(shape) % 900
    source = np.zeros(shape, dtype) if dtype == "V100" else np.asarray(numbers).astype(np.dtype(dtype))
    source = source.T if layout == 1 else source[..., ::-1] if layout == 2 and shape else source
    keeps = to is None or dtype in ("V100", "c16") or (to == swapped("i4") and dtype == "O")
    target = source.dtype if keeps else np.dtype(to)
    made = _core.copied(source, target)
    expected = source.astype(target)
    assert made.flags.c_contiguous
    assert made.dtype == target
    assert made.tolist() == expected.tolist()


def test_a_large_copy_of_wide_elements() -> None:
    for width in (1, 7, 40, 47, 5000):
        source = np.full(3_000_000 // width, "ab")
        made = _core.copied(source, np.dtype(f"U{width}"))
        assert (made == source.astype(f"U{width}")).all()

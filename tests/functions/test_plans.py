"""Plans are integers computed from shapes: frozen, comparable, hashable, picklable."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.functions.plan import BagRows, Lanes, Rows, movement
from gatherscatter.operation import Kernel
from gatherscatter.specs.table import slots_shape
from tests.support.byte_order import swapped

ROWS = [
    # kernel, data, indices, axis, batch_dims -> batch, outer, count, width, dims, slots
    ("gather", (4, 5, 6), (7,), 1, 0, Rows(1, 4, 7, 6, (5,), (4, 7, 6))),
    ("gather", (4, 5, 6), (), -1, 0, Rows(1, 20, 1, 1, (6,), (4, 5))),
    ("gather", (4, 5, 6), (4, 2, 3), 2, 1, Rows(4, 5, 6, 1, (6,), (4, 5, 2, 3))),
    ("gather", (4, 5, 6), (4, 2), 1, -1, Rows(4, 1, 2, 6, (5,), (4, 2, 6))),
    ("scatter_update", (4, 5, 6), (2, 3), 0, 0, Rows(1, 1, 6, 30, (4,), (2, 3, 5, 6))),
    ("gather_nd", (4, 5, 6), (7, 2), 0, 0, Rows(1, 1, 7, 6, (4, 5), (7, 6))),
    ("gather_nd", (4, 5, 6), (4, 3, 1), 0, 1, Rows(4, 1, 3, 6, (5,), (4, 3, 6))),
    ("gather_nd", (4, 5, 6), (2, 0), 0, 0, Rows(1, 1, 2, 120, (), (2, 4, 5, 6))),
    ("scatter_nd", (4, 5), (2,), 0, 0, Rows(1, 1, 1, 1, (4, 5), ())),
]

LANES = [
    # dims before and after the axis merge where box and data agree
    ((4, 5, 6), (4, 5, 6), 1, Lanes((4,), (30,), 5, 5, 6, (6,), (1,), (4, 5, 6))),
    ((3, 4, 5, 6), (3, 4, 2, 6), 2, Lanes((12,), (30,), 2, 5, 6, (6,), (1,), (3, 4, 2, 6))),
    ((3, 4, 5, 6), (9, 4, 5, 6), 0, Lanes((), (), 9, 3, 120, (120,), (1,), (9, 4, 5, 6))),
    ((3, 4, 5, 6), (9, 4, 4, 6), 0, Lanes((), (), 9, 3, 120, (4, 24), (30, 1), (9, 4, 4, 6))),
    ((3, 4, 5, 6), (9, 2, 5, 6), 0, Lanes((), (), 9, 3, 120, (60,), (1,), (9, 2, 5, 6))),
    ((3, 4, 5), (2, 4, 1), 1, Lanes((2,), (20,), 4, 4, 5, (), (), (2, 4, 1))),
    ((7,), (3,), 0, Lanes((), (), 3, 7, 1, (), (), (3,))),
]


@pytest.mark.parametrize(("kernel", "data", "indices", "axis", "batch_dims", "expected"), ROWS)
def test_rows(kernel: str, data: tuple, indices: tuple, axis: int, batch_dims: int, expected: Rows) -> None:
    assert movement(kernel, data, indices, axis=axis, batch_dims=batch_dims) == expected
    assert slots_shape(Kernel(kernel), data, indices, axis, batch_dims) == expected.slots


@pytest.mark.parametrize(("data", "box", "axis", "expected"), LANES)
def test_lanes(data: tuple, box: tuple, axis: int, expected: Lanes) -> None:
    assert movement("gather_elements", data, box, axis=axis) == expected
    assert movement("scatter_elements", data, box, axis=axis) == expected
    assert slots_shape(Kernel.GATHER_ELEMENTS, data, box, axis, 0) == expected.slots


def test_a_plan_is_plain_data() -> None:
    made = movement("gather_nd", (4, 5, 6), (7, 2))
    assert pickle.loads(pickle.dumps(made)) == made
    assert len({made, movement("gather_nd", (4, 5, 6), (7, 2))}) == 1
    assert "width=6" in repr(made)
    with pytest.raises(AttributeError):
        made.width = 7  # type: ignore[misc]


FAULTS = [
    ("gather", (), (3,), {}, "data_rank"),
    ("gather", (3,), (3,), {"axis": 1}, "axis"),
    ("gather", (3,), (3,), {"axis": -(2**63)}, "axis"),
    ("gather", (3, 4), (3,), {"batch_dims": 2, "axis": 1}, "batch_dims"),
    ("gather", (3, 4), (3,), {"batch_dims": 1, "axis": 0}, "batch_axis"),
    ("gather", (3, 4), (2, 4), {"batch_dims": 1, "axis": 1}, "batch_shape"),
    ("gather", (1,) * 40, (1,) * 40, {}, "output_rank"),
    ("gather", (1, 2**40), (2**40,), {}, "too_large"),
    ("gather_nd", (3,), (), {}, "indices_rank"),
    ("gather_nd", (3,), (1, 2), {}, "tuple_length"),
    ("gather_nd", (3, 4), (3, 2), {"batch_dims": 1}, "tuple_length"),
    ("gather_nd", (3, 4), (3, 1), {"batch_dims": -1}, "batch_dims"),
    ("gather_nd", (1, 2**40), (2**40, 1), {}, "too_large"),
    ("gather_nd", (2**40,), (2**40, 2**40, 0), {}, "too_large"),
    ("gather_elements", (3, 4), (3,), {}, "same_rank"),
    ("gather_elements", (3, 4), (3, 5), {"axis": 0}, "indices_shape"),
    ("gather_elements", (1,), (2**62, ), {}, None),
    ("gather_elements", (1, 2**40), (2**40, 2**40), {}, "too_large"),
]  # fmt: skip


@pytest.mark.parametrize(("kernel", "data", "indices", "options", "fault"), FAULTS)
def test_faults(kernel: str, data: tuple, indices: tuple, options: dict, fault: str | None) -> None:
    if fault is None:
        movement(kernel, data, indices, **options)
        return
    with pytest.raises(ValueError, match=f"^{fault}$"):
        movement(kernel, data, indices, **options)


@pytest.mark.parametrize(
    ("function", "arguments", "options"),
    [
        ("gather_elements", (np.zeros((3, 4)), np.zeros((0, 4), int)), {"axis": 1}),
        ("scatter_elements", (np.zeros((3, 4)), np.zeros((0, 4), int), np.zeros((0, 4))), {"axis": 1}),
        ("scatter_nd", (np.zeros(8, swapped("f4")), [[1]], np.ones(1, swapped("f4"))), {"reduction": "add"}),
        ("scatter_nd", (np.zeros((8, 2))[:, 0], [[1]], [1.0]), {"out": np.empty(8)}),
        ("gather", (["a", "b"], [1]), {}),
        ("gather_nd", (np.zeros(3), np.zeros((0, 1), int)), {"num_threads": 3}),
    ],
)
def test_every_call_has_a_plan(function: str, arguments: tuple, options: dict) -> None:
    made = gs.plan(function, *arguments, **options)
    assert made.function == function
    assert str(made).startswith(f"{function}: 1 thread, ")
    getattr(gs, function)(*arguments, **options)


def test_a_plan_says_what_is_checked_first_and_copied() -> None:
    made = gs.plan("scatter_nd", np.zeros(8), [[1]], np.ones((1, 2))[:, 0], out=np.zeros(8))
    assert made.copies == ("indices", "updates") or made.copies == ("indices",)
    assert "all indices are checked before the first write" in made.steps
    data, many = np.zeros(8), np.zeros(64, int)
    made = gs.plan("scatter_update", data, many, np.ones(64), reduction="add", out=data)
    assert "the result is computed in a separate array and then copied to out" in made.steps
    assert "all indices are checked before the first write" not in made.steps
    assert made.scratch_bytes == data.nbytes
    made = gs.plan("scatter_update", data, [1], np.ones(1), reduction="mean", out=np.zeros(8))
    assert "the result is computed in a separate array and then copied to out" in made.steps
    expanded = np.broadcast_to(np.zeros((5, 1), int), (5, 8))  # only five different indices, despite the shape
    made = gs.plan("scatter_elements", np.zeros((3, 8)), expanded, np.ones((5, 8)), out=np.zeros((3, 8)))
    assert "all indices are checked before the first write" in made.steps
    with pytest.raises(ValueError, match="function must be one of"):
        gs.plan("scatter", np.zeros(8), [1])
    with pytest.raises(ValueError, match="axis"):
        gs.plan("gather", np.zeros(8), [1], axis=3)


def test_the_movement_is_the_one_that_runs() -> None:
    line = np.broadcast_to(np.array([[2], [0]]), (2, 4))
    expanded = gs.plan("gather_elements", np.zeros((3, 4)), line, axis=0)
    assert expanded.movement == Rows(1, 1, 2, 4, (3,), (2, 4))
    strided = gs.plan("gather_elements", np.zeros((3, 8))[:, ::2], np.zeros((3, 4), int), axis=1)
    assert strided.movement == Lanes((3,), (8,), 4, 4, 2, (), (), (3, 4))
    far = np.zeros((64, 256)).T  # the elements of a row are 2048 bytes apart
    for columns, strides in ((31, (1, 256)), (32, (64, 1))):  # with at least half as many indices, data is copied first
        plan = gs.plan("gather_elements", far, np.zeros((256, columns), int), axis=1)
        assert plan.movement == Lanes((256,), (strides[0],), columns, 64, strides[1], (), (), (256, columns))


@pytest.mark.parametrize("axis", [2**70, -(2**70)])
def test_an_axis_beyond_64_bits_is_out_of_range(axis: int) -> None:
    with pytest.raises(ValueError, match="axis"):
        movement("gather", (4,), (2,), axis=axis)


TABLE = np.ones((50, 6), np.float32)
MEMBERS = np.arange(60) % 50
BAGS = [
    # indices, options -> movement, split on three threads
    (MEMBERS.reshape(4, 5, 3), {}, BagRows(20, 60, 6)),
    (MEMBERS, {"offsets": [0, 10, 10, 55]}, BagRows(4, 60, 6)),
    (None, {"offsets": [0, 10]}, BagRows(2, 50, 6)),
    (MEMBERS, {"segment_ids": MEMBERS % 7}, BagRows(7, 60, 6)),
    (MEMBERS, {"segment_ids": MEMBERS % 7, "num_segments": 9}, BagRows(9, 60, 6)),
    (MEMBERS[:0], {"offsets": []}, BagRows(0, 0, 6)),
    (np.zeros((3, 0), int), {}, BagRows(3, 0, 6)),
]


@pytest.mark.parametrize(("indices", "options", "expected"), BAGS)
def test_bags(indices: np.ndarray | None, options: dict, expected: BagRows) -> None:
    made = gs.plan("gather_reduce", TABLE, indices, **options)
    assert made.movement == expected
    assert pickle.loads(pickle.dumps(made)) == made
    assert (made.threads, made.split) == (1, "nothing")
    assert len(gs.gather_reduce(TABLE, indices, **options).reshape(-1, 6)) == expected.count


def test_who_reduces_which_bags() -> None:
    data, rows = np.ones((1000, 256), np.float32), np.zeros(20_000, int)
    many = gs.plan("gather_reduce", data, rows.reshape(2000, 10), num_threads=3)
    assert (many.threads, many.split) == (3, "bags")
    divided = "threads divide the columns of bags with very many members"
    assert divided not in many.steps
    # The columns of one bag are divided if sums stay in registers and each thread gets a unit of columns.
    one = gs.plan("gather_reduce", data, rows, offsets=[0], num_threads=3)
    assert (one.threads, one.split) == (3, "bags")
    assert divided in one.steps
    for array, options in ((data, {"accumulate": "exact"}), (data[:, :100].copy(), {})):
        alone = gs.plan("gather_reduce", array, rows, offsets=[0], num_threads=3, **options)
        assert (alone.threads, alone.split) == (1, "nothing")
    assert gs.plan("gather_reduce", data, rows, offsets=[0], num_threads=1).threads == 1


def test_scratch_of_bags() -> None:
    """Exact sums take eight bytes for each element and a count for each bag. Each thread gathers 16 KB of rows."""
    data, rows = np.ones((1000, 256), np.float32), np.zeros((2000, 10), int)
    starts = 2001 * 8
    for threads in (1, 2, 3):
        made = gs.plan("gather_reduce", data, rows, accumulate="exact", num_threads=threads)
        assert made.scratch_bytes == starts + 2000 * 256 * 8 + 2000 * 8 + threads * 16 * 1024
        assert "the gathered rows are not stored: a few at a time are copied and combined" in made.steps
    made = gs.plan("gather_reduce", data, rows)
    assert made.scratch_bytes == starts
    assert "the gathered rows are not stored: they are reduced in registers" in made.steps


BAD_BAGS: list[tuple[Any, Any, dict]] = [
    (TABLE, MEMBERS, {}),
    (TABLE, MEMBERS, {"offsets": [0], "segment_ids": MEMBERS}),
    (TABLE, MEMBERS, {"offsets": [1]}),
    (TABLE, MEMBERS, {"offsets": [0, 61]}),
    (TABLE, MEMBERS, {"offsets": [0, 9, 8]}),
    (TABLE, MEMBERS, {"offsets": [0.5]}),
    (TABLE, MEMBERS, {"segment_ids": MEMBERS, "num_segments": 3}),
    (TABLE, MEMBERS, {"segment_ids": MEMBERS[1:]}),
    (TABLE, MEMBERS, {"offsets": [0], "weights": np.ones(5, np.float32)}),
    (TABLE, MEMBERS, {"offsets": [0], "weights": np.ones(60, complex)}),
    (TABLE, MEMBERS, {"offsets": [0], "reduction": "sub"}),
    (TABLE, MEMBERS, {"offsets": [0], "accumulate": "never"}),
    (TABLE, MEMBERS, {"offsets": [0], "mode": "drop"}),
    (TABLE, MEMBERS, {"offsets": [0], "default": np.ones(5)}),
    (TABLE, MEMBERS, {"offsets": [0], "default": "x"}),
    (TABLE, MEMBERS, {"offsets": [0], "out": np.zeros((2, 6), np.float32)}),
    (TABLE, MEMBERS, {"offsets": [0], "out": np.zeros((1, 6))}),
    (TABLE, MEMBERS, {"offsets": [0], "num_threads": 0}),
    (TABLE, MEMBERS, {"offsets": [0], "reduction": "mul", "accumulate": "exact"}),
    (TABLE, MEMBERS * 1.0, {"offsets": [0]}),
    (np.float32(1), [[0]], {}),
    (np.array(["a"]), [[0]], {}),
    (np.zeros((0, 2**40)), np.zeros((2**20, 0), int), {}),
]


@pytest.mark.parametrize(("data", "indices", "options"), BAD_BAGS)
def test_a_plan_of_bags_raises_what_the_call_does(data: Any, indices: Any, options: dict) -> None:
    with pytest.raises((TypeError, ValueError, IndexError)) as of_call:
        gs.gather_reduce(data, indices, **options)
    with pytest.raises(of_call.type) as of_plan:
        gs.plan("gather_reduce", data, indices, **options)
    assert str(of_plan.value) == str(of_call.value)


def test_indices_of_a_plan_are_not_checked() -> None:
    assert gs.plan("gather_reduce", TABLE, [[99]]).movement == BagRows(1, 1, 6)


@pytest.mark.parametrize(
    ("function", "options", "name"),
    [
        ("gather_reduce", {"updates": [1.0]}, "updates"),
        ("gather_reduce", {"offsets": [0], "axis": 1}, "axis"),
        ("gather", {"offsets": [0]}, "offsets"),
        ("scatter_update", {"weights": [1.0]}, "weights"),
    ],
)
def test_parameters_of_other_functions(function: str, options: dict, name: str) -> None:
    with pytest.raises(TypeError, match=rf"^{function}\(\) got an unexpected keyword argument '{name}'"):
        gs.plan(function, TABLE, MEMBERS, **options)


def test_only_kernels_have_movements() -> None:
    with pytest.raises(ValueError, match="no such kernel"):
        movement("gather_tree", (4,), (2,))

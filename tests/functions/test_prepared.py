"""Prepared indices give the same results as others, for every function and type, and after pickling."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.errors import OpIndexError, OpTypeError, OpValueError
from tests.support.byte_order import swapped

RNG = np.random.default_rng(0)
REDUCTIONS = ["none", "add", "sub", "mul", "min", "max", "mean"]
DTYPES = [np.int8, np.int64, np.float16, ml_dtypes.bfloat16, np.float32, np.complex64, bool]
FORMS: dict[str, tuple[Any, ...]] = {
    # data, indices, arguments of prepare
    "one axis": ((50, 3), RNG.integers(-50, 50, 400), 50, None),
    "elements": ((50,), RNG.integers(-50, 50, (20, 20)), (50,), 0),
    "pairs": ((5, 10, 4), np.stack([RNG.integers(0, 5, 400), RNG.integers(-10, 10, 400)], -1), (5, 10, 4), None),
    "second axis": ((3, 50, 2), RNG.integers(-50, 50, (20, 20)), (3, 50, 2), 1),
    "scalar": ((5, 2), np.array(3), (5, 2), 0),
    "none": ((5, 2), np.zeros(0, int), 5, None),
    "whole": ((5, 2), np.zeros((3, 0), int), (5, 2), None),
}


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> tuple[tuple[int, ...], np.ndarray, gs.Prepared, Any]:
    shape, indices, of, axis = FORMS[request.param]
    prepared = gs.prepare(indices, of, axis=axis)
    nd = axis is None and not isinstance(of, int)
    gather = gs.gather_nd if nd else lambda data, i: gs.gather(data, i, axis=axis or 0)
    scatter = gs.scatter_nd if nd else lambda data, i, u, **o: gs.scatter_update(data, i, u, axis=axis or 0, **o)
    return shape, indices, prepared, (gather, scatter)


def values(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    return RNG.normal(0, 3, shape).astype(dtype)


def same(a: np.ndarray, b: np.ndarray) -> None:
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_same_bits(form: Any, dtype: Any) -> None:
    shape, indices, prepared, (gather, scatter) = form
    data = values(shape, dtype)
    for each in (prepared, pickle.loads(pickle.dumps(prepared))):
        got = each.gather(data)
        same(got, gather(data, indices))
        updates = values(got.shape, dtype)
        for reduction in REDUCTIONS:
            if reduction in ("min", "max", "mean") and dtype in (np.complex64, bool):
                continue
            for include_self in (True, False) if reduction != "none" else (True,):
                options = {"reduction": reduction, "include_self": include_self}
                same(each.scatter(data, updates, **options), scatter(data, indices, updates, **options))
        same(each.sum(updates), scatter(np.zeros(shape, dtype), indices, updates, reduction="add"))


def test_large_and_uneven_groups() -> None:
    rows = np.concatenate([RNG.integers(0, 20_000, 90_000), np.full(9_000, 7)])
    data, updates = values((20_000, 33), np.float32), values((99_000, 33), np.float32)
    prepared = gs.prepare(rows, 20_000)
    for threads in (1, 2, 5):
        for how in ("add", "max", "mean"):
            got = prepared.scatter(data, updates, reduction=how, num_threads=threads)
            same(got, gs.scatter_update(data, rows, updates, reduction=how))
    hub = gs.prepare(np.full(5000, 3), 10)  # all updates have one destination
    same(hub.sum(updates[:5000]), gs.scatter_update(np.zeros((10, 33), np.float32), [3] * 5000, updates[:5000],
                                                    reduction="add"))  # fmt: skip


def test_facts() -> None:
    prepared = gs.prepare([[0, 1], [2, 0], [-1, 0]], (3, 2))
    assert prepared.dims == (3, 2)
    assert prepared.rows.tolist() == [1, 4, 4]
    assert prepared.counts.tolist() == [[0, 1], [0, 0], [2, 0]]
    assert not prepared.unique
    assert prepared.is_sorted
    assert gs.prepare([2, 0], 3).unique
    assert not gs.prepare([2, 0], 3).is_sorted
    with pytest.raises(ValueError, match="read-only"):
        prepared.rows[0] = 99


def test_text() -> None:
    prepared = gs.prepare([2, 0, 2], 3)
    assert prepared.gather(["a", "b", "c"]).tolist() == ["c", "a", "c"]
    assert prepared.sum(np.array(["x", "y", "z"], object)).tolist() == ["y", "", "xz"]


def test_out_of_a_gather() -> None:
    prepared, out = gs.prepare([2, 0], 3), np.zeros(2)
    assert prepared.gather(np.arange(3.0), out=out) is out
    assert out.tolist() == [2, 0]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: gs.prepare([3], 3), OpIndexError, r"prepare: indices\[0\] = 3 is out of range"),
        (lambda: gs.prepare([0.5], 3), OpTypeError, "indices must be integers"),
        (lambda: gs.prepare([[0, 0]], (3,)), OpValueError, "are not tuples for shape"),
        (lambda: gs.prepare([0], (3, 2), axis=2), OpValueError, "axis 2 is out of range"),
        (lambda: gs.prepare([9], (3, 5), axis=1), OpIndexError, "for axis 1 of data with size 5"),
        (lambda: gs.prepare(np.zeros((0, 2), int), (2**40, 2**40)), OpValueError, "more elements than can be counted"),
        (lambda: gs.prepare([0], 3).sum(np.zeros(1), num_threads=0), OpValueError, "num_threads must be at least 1"),
        (lambda: gs.prepare([0], 3).gather(np.zeros(4)), OpValueError, r"must have the sizes \(3,\) at axis 0"),
        (lambda: gs.prepare([0], 3).sum(np.zeros(4)), OpValueError, "do not fit indices of shape"),
        (lambda: gs.prepare([0], 3).scatter(np.zeros(3), np.zeros(2)), OpValueError, "updates"),
        (lambda: gs.prepare([0], 3).scatter(np.zeros(3), [1.0], reduction="no"), OpValueError, "reduction must be"),
    ],
)
def test_mistakes(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_a_pickle_that_lies() -> None:
    prepared = gs.prepare([0, 1], 3)
    state = prepared.__getstate__()
    for rows in (np.array([0, 3]), np.array([-1]), np.array([0.0])):
        with pytest.raises(OpTypeError, match="does not hold prepared indices"):
            gs.Prepared.__new__(gs.Prepared).__setstate__({**state, "rows": rows})


# ------------------------------------------------------------------------------------------------------------ reduce

OF_A_GROUP: dict[str, Callable[[np.ndarray], Any]] = {
    "sum": lambda values: values.sum(0),
    "mul": lambda values: values.prod(0),
    "mean": lambda values: values.mean(0),
    "min": lambda values: values.min(0),
    "max": lambda values: values.max(0),
}
OF_NOTHING = {"mul": 1}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i8", "f2", "f4", "f8"])
@pytest.mark.parametrize("width", [0, 1, 3, 40, 2000])
def test_reduce_makes_of_each_group_what_numpy_makes(width: int, dtype: str, threads: int) -> None:
    rng = np.random.default_rng(width)
    rows = rng.integers(0, 9, 60)
    updates = rng.integers(0, 2 if dtype == "?" else 3, (60, width)).astype(dtype)
    names = ["argmin", "count", "max", "argmax", "min"]
    if dtype[0] == "f":
        names += ["mean", "sum", "mul"]
    found = dict(zip(names, gs.prepare(rows, 10).reduce(updates, names, num_threads=threads), strict=True))
    assert found["count"].tolist() == np.bincount(rows, minlength=10).tolist()
    for row in range(10):
        (members,) = np.nonzero(rows == row)
        for name in set(names) - {"count"}:
            if len(members) == 0:
                expected = 60 if name.startswith("arg") else OF_NOTHING.get(name, 0)
            elif name.startswith("arg"):
                expected = members[getattr(updates[members], name)(0)]
            else:
                expected = OF_A_GROUP[name](updates[members])
            np.testing.assert_allclose(found[name][row], expected, rtol=1e-3 if dtype == "f2" else 1e-6)


def test_reduce_along_other_axes_and_by_tuples() -> None:
    updates = np.arange(24.0).reshape(2, 4, 3)
    total, number, best = gs.prepare([[0, 2], [2, 2]], (2, 5, 3), axis=1).reduce(
        updates.reshape(2, 2, 2, 3), ("sum", "count", "argmax")
    )
    assert total.shape == (2, 5, 3)
    assert total[1, 2].tolist() == updates[1, 1:].sum(0).tolist()
    assert number.tolist() == [1, 0, 3, 0, 0]
    assert best[0, :, 0].tolist() == [0, 4, 3, 4, 4]
    (top,) = gs.prepare([[1, 0], [0, 1], [1, 0]], (2, 2)).reduce(np.array([3.0, 1.0, 2.0]), "max")
    assert top.tolist() == [[0, 1], [3, 0]]


def test_of_equal_values_the_first_counts_and_of_nan_too() -> None:
    edges = gs.prepare([0, 0, 0, 1, 1], 2)
    low, high = edges.reduce(np.array([1.0, np.nan, np.nan, 2.0, 2.0]), ("argmin", "argmax"))
    assert low.tolist() == [1, 3]
    assert high.tolist() == [1, 3]
    zero, first = edges.reduce(np.array([0.0, -0.0, 0.0, 1.0, 1.0]), ("min", "argmin"))
    assert (np.signbit(zero[0]), first[0]) == (False, 0)


def test_reduce_refuses_what_it_does_not_know() -> None:
    edges = gs.prepare([0, 1], 2)
    with pytest.raises(ValueError, match=r"prepare: reductions must be one of 'sum', .* not 'median'"):
        edges.reduce(np.ones(2), ("sum", "median"))
    with pytest.raises(TypeError, match="the mean of int64 can't be computed in one pass"):
        edges.reduce(np.ones(2, int), "mean")
    with pytest.raises(TypeError, match="reductions sum, max are defined for updates of type complex128"):
        edges.reduce(np.ones(2, complex), ("sum", "max"))
    with pytest.raises(TypeError, match="not all of the reductions"):
        edges.reduce(np.array(["a", "b"]), "sum")
    with pytest.raises(ValueError, match="do not fit indices"):
        edges.reduce(np.ones(3), "sum")


# Enough rows with few updates each to use groups.
ROWS = np.array([3, 3, *range(30)])


@pytest.mark.parametrize("how", ["scatter", "sum"])
@pytest.mark.parametrize("accumulate", ["step", "exact"])
def test_groups_leave_exact_sums_alone(how: str, accumulate: str) -> None:
    values = np.zeros(32, np.float32)
    values[ROWS == 3] = 2.0**24, 1, 1  # in serial addition, the ones are lost
    edges, zeros = gs.prepare(ROWS, 30), np.zeros(30, np.float32)
    options: dict[str, Any] = {"accumulate": accumulate}
    found = edges.sum(values, **options) if how == "sum" else edges.scatter(zeros, values, reduction="add", **options)
    assert found[3] == 2.0**24 + (2 if accumulate == "exact" else 0)


def test_groups_take_updates_of_any_layout_but_no_other_shape() -> None:
    edges = gs.prepare(ROWS, 30)
    updates = np.arange(96.0).reshape(3, 32)
    assert edges.sum(updates.T).tolist() == edges.sum(updates.T.copy()).tolist()
    others, data = updates.T.astype(swapped("f8")), np.zeros((30, 3), swapped("f8"))
    assert edges.scatter(data, others, reduction="add").tolist() == edges.sum(updates.T).tolist()
    with pytest.raises(OpValueError, match="updates"):
        edges.scatter(np.zeros((30, 3)), updates.T[:, :2], reduction="add")


def test_what_shapes_and_indices_may_be() -> None:
    assert gs.prepare(np.array([3]), np.int64(5)).rows.tolist() == [3]
    with pytest.raises(OpValueError, match="are not tuples"):
        gs.prepare(3, (5, 2))
    with pytest.raises(OpValueError, match="more elements than can be counted"):
        gs.prepare(np.zeros((1, 2), int), (2**32, 2**31))
    nothing = gs.prepare([], 0)
    assert nothing.sum(np.zeros((0, 2))).shape == (0, 2)
    for edges in (gs.prepare([1], 2), pickle.loads(pickle.dumps(gs.prepare([1], 2)))):
        with pytest.raises(ValueError, match="read-only"):
            edges.rows[0] = 1
    whole = gs.prepare(np.zeros((3, 0), int), (5, 2))
    assert whole.sum(np.ones((3, 5, 2))).tolist() == np.full((5, 2), 3.0).tolist()


@pytest.mark.parametrize("skipna", [False, True])
@pytest.mark.parametrize("dtype", ["?", "i2", "u8", "f2", "f4", "f8", "c8"])
def test_reduce_computes_the_statistics_of_aggregate(dtype: str, skipna: bool) -> None:
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 7, 80)
    updates = (rng.standard_normal((80, 3)) * 4).astype(dtype)
    if skipna and updates.dtype.kind in "fc":
        updates[rng.random(updates.shape) < 0.3] = np.nan
    names: tuple[str, ...] = ("var", "std", "first", "last", "any", "all")
    if skipna and dtype[0] in "fc":
        names += ("mean", "min", "max", "sum", "mul", "count", "argmax")
    found = gs.prepare(rows, 8).reduce(updates, names, skipna=skipna, ddof=1)
    for name, result in zip(names, found, strict=True):
        func = {"mul": "prod", "count": "len"}.get(name, name)
        wanted = gs.aggregate(rows, updates, f"nan{func}" if skipna else func, axis=0, size=8, **ONE_LESS.get(name, {}))
        np.testing.assert_array_equal(result[:7], wanted[:7], err_msg=name)
        assert result.dtype == wanted.dtype
        assert (result[7] == {"all": 1, "mul": 1, "argmax": 80}.get(name, 0)).all() or name in ("var", "std")


ONE_LESS: dict[str, dict[str, Any]] = {"var": {"ddof": 1}, "std": {"ddof": 1}}


def test_reduce_takes_the_words_of_other_functions() -> None:
    groups, values = gs.prepare([0, 0, 1], 2), np.array([2.0, 3.0, 4.0])
    for one, other in [("add", "sum"), ("prod", "mul"), ("len", "count")]:
        assert groups.reduce(values, one)[0].tolist() == groups.reduce(values, other)[0].tolist()
    with pytest.raises(ValueError, match="reductions has 'sum' twice"):
        groups.reduce(values, ("add", "sum"))
    with pytest.raises(TypeError, match="ddof must be an integer"):
        groups.reduce(values, "var", ddof=cast(Any, 0.5))

"""`gs.at` compared with NumPy: indexing for reads and assignments, ufunc.at for reductions."""

from __future__ import annotations

import signal
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gatherscatter as gs
from gatherscatter.errors import OpError, OpIndexError, OpTypeError, OpValueError
from gatherscatter.functions import at
from tests.support.byte_order import swapped

UFUNCS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


@st.composite
def keys(draw: Callable[..., Any], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Return a key for data of that shape. It has parts of every kind, and its arrays broadcast."""
    common = tuple(draw(st.lists(st.integers(0, 3), max_size=2)))
    named = draw(st.integers(0, len(shape)))
    front = draw(st.integers(0, named)) if draw(st.booleans()) else None  # axes before the ellipsis
    axes = list(range(named)) if front is None else [*range(front), *range(len(shape) - named + front, len(shape))]
    key: list[Any] = []
    for n, axis in enumerate(axes):
        key += [Ellipsis] if n == front else []
        key += [None] if draw(st.integers(0, 5)) == 0 else []
        key.append(draw(parts(shape[axis], common)))
    return (*key, *([Ellipsis] if front == named else []))


@st.composite
def parts(draw: Callable[..., Any], size: int, common: tuple[int, ...]) -> Any:
    """Return an integer, a slice, or an array that has the common shape or broadcasts to it."""
    kind = draw(st.sampled_from(("slice", "int", "array", "array", "list")))
    if kind == "slice" or size == 0:
        bounds = st.none() | st.integers(-size - 1, size + 1)
        return slice(draw(bounds), draw(bounds), draw(st.sampled_from((None, 1, 2, -1, -2))))
    positions = st.integers(-size, size - 1)
    if kind == "int":
        return draw(positions)
    shape = tuple(1 if draw(st.integers(0, 4)) == 0 else n for n in common)
    dtype = draw(st.sampled_from((np.int64, np.int8, np.int32)))
    array = np.array([draw(positions) for _ in range(int(np.prod(shape)))], dtype).reshape(shape)
    return array.tolist() if kind == "list" and array.size and array.ndim else array


@st.composite
def selections(draw: Callable[..., Any]) -> tuple[np.ndarray, tuple[Any, ...]]:
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=1, max_size=4)))
    data = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape) + 1
    return np.asfortranarray(data) if draw(st.booleans()) else data, draw(keys(shape))


def some_values(draw: Callable[..., Any], shape: tuple[int, ...]) -> np.ndarray:
    """Return values that have that shape or broadcast to it."""
    own = shape[draw(st.integers(0, len(shape))) :]
    own = tuple(1 if draw(st.integers(0, 3)) == 0 else n for n in own)
    return np.random.default_rng(draw(st.integers(0, 99))).integers(-5, 6, own)


@given(selection=selections())
def test_get_is_indexing(selection: Any) -> None:
    data, key = selection
    result = gs.at(data)[key].get()
    assert np.array_equal(result, data[key])
    assert result.shape == data[key].shape
    assert not np.shares_memory(result, data)


@st.composite
def any_keys(draw: Callable[..., Any], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Return a key that may be illegal."""
    numbers = st.integers(-5, 5) | st.sampled_from([2**31, 2**63, -(2**64), 2**80])
    box = st.lists(st.integers(0, 3), max_size=2).map(tuple)
    scalars = st.sampled_from([1.0, np.float32(0), 1j, "a", b"a", True, np.False_, np.datetime64("2020"), object(), {}])
    kinds = (np.int8, np.int64, np.uint8, np.uint64, swapped("i4"), bool, np.float64, object, "U1", "M8[s]")

    @st.composite
    def array(draw: Callable[..., Any]) -> np.ndarray:
        whole = draw(box | st.sampled_from([shape, shape[:1], shape[1:]]))
        values = [draw(st.integers(0, 3)) for _ in range(int(np.prod(whole)))]
        return np.array(values, np.int64).reshape(whole).astype(draw(st.sampled_from(kinds)))

    ends = st.none() | st.integers(-4, 4) | st.sampled_from([1.5, "a", 2**70])
    lists = st.lists(numbers | scalars | st.lists(numbers, max_size=2), max_size=3)
    part = st.one_of(numbers, st.just(Ellipsis), st.none(), st.builds(slice, ends, ends), array(), lists, scalars)
    good = parts(shape[0], (2,)) if shape else part
    return tuple(draw(st.lists(st.one_of(part, good, good), max_size=len(shape) + 2)))


@given(data=st.data())
def test_index_errors_of_numpy_are_index_errors_here(data: Any) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 4), max_size=3)))
    array = np.arange(int(np.prod(shape))).reshape(shape)
    key = data.draw(any_keys(shape))
    try:
        expected: Any = array[key]
    except Exception as error:
        expected = error
    writes = data.draw(st.booleans())
    try:
        found: Any = gs.at(array)[key].set(7) if writes else gs.at(array)[key].get()
    except Exception as error:
        found = error
    if isinstance(expected, IndexError):
        assert isinstance(found, IndexError), found
    elif isinstance(expected, Exception):
        assert isinstance(found, OpError), found
    elif isinstance(found, Exception):  # refused although NumPy accepts it
        empty_mask = any(isinstance(part, np.ndarray) and part.dtype.kind == "b" and not part.size for part in key)
        assert "a single truth value" in str(found) or (empty_mask and "is a mask of shape" in str(found)), found
    elif writes:
        array[key] = 7
        assert np.array_equal(found, array)
    else:
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("method", UFUNCS)
@given(selection=selections(), data=st.data())
def test_combined_is_what_ufuncs_do(method: str, selection: Any, data: Any) -> None:
    array, key = selection
    values = some_values(data.draw, array[key].shape)
    expected = array.copy()
    if any(isinstance(part, list | np.ndarray) for part in key):
        UFUNCS[method].at(expected, key, values)
    else:
        expected[key] = UFUNCS[method](expected[key], values)
    before = array.copy()
    assert np.array_equal(getattr(gs.at(array)[key], method)(values), expected)
    assert np.array_equal(array, before)
    assert getattr(gs.at(array)[key], method)(values, out=array) is array
    assert np.array_equal(array, expected)


@given(selection=selections(), data=st.data())
def test_set_keeps_the_last(selection: Any, data: Any) -> None:
    array, key = selection
    values = some_values(data.draw, array[key].shape)
    expected = array.copy()
    numbers = np.arange(array.size).reshape(array.shape)[key]
    for position, value in zip(np.ravel(numbers), np.ravel(np.broadcast_to(values, numbers.shape)), strict=True):
        expected[np.unravel_index(position, array.shape)] = value
    assert np.array_equal(gs.at(array)[key].set(values), expected)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_masks(rank: int) -> None:
    data = np.arange(24).reshape(2, 3, 4)[(0,) * (3 - rank)]
    mask = np.random.default_rng(0).random(data.shape) < 0.5
    assert np.array_equal(gs.at(data)[mask].get(), data[mask])
    first = mask.reshape(len(mask), -1)[:, 0]
    assert np.array_equal(gs.at(data)[first, ..., [1]].get() if rank > 1 else gs.at(data)[first].get(),
                          data[first, ..., [1]] if rank > 1 else data[first])  # fmt: skip
    expected = data.copy()
    expected[mask] += 10
    assert np.array_equal(gs.at(data)[mask].add(10), expected)
    with pytest.raises(OpValueError, match=r"key\[0\] is a mask of shape \(9,\), but data has"):
        gs.at(data)[np.zeros(9, bool)].get()


def test_text_widens() -> None:
    words = np.array(["abc", "de"])
    assert gs.at(words)[0].set("longer").tolist() == ["longer", "de"]
    assert gs.at(words)[[0, 0]].add(["d", "e"]).tolist() == ["abcde", "de"]
    assert gs.at(np.array([b"a"]))[0].set(b"bc").tolist() == [b"bc"]
    assert gs.at(words)[0].set("x").dtype == words.dtype
    out = np.array(["", ""], "<U9")
    assert gs.at(words)[0].set("longer", out=out) is out
    assert out.tolist() == ["longer", "de"]
    with pytest.raises(OpValueError):
        gs.at(words)[0].set("longer", out=words)
    assert words.tolist() == ["abc", "de"]


def test_every_type_of_index() -> None:
    data = np.arange(12).reshape(3, 4)
    wide = np.array([1, 2], np.uint64)
    assert gs.at(data)[wide, 0].get().tolist() == data[wide, 0].tolist()
    assert gs.at(data)[wide, np.array([True, False, True, False])].get().tolist() == [4, 10]
    for key in ((10**30,), ([0], 10**30), (np.array([2**63], np.uint64), 0)):
        with pytest.raises(OpIndexError, match="is out of range for axis"):
            gs.at(data)[key].get()


def test_mean() -> None:
    assert gs.at([8.0, 8.0])[[1, 1, 0]].mean([1, 3, 2]).tolist() == [5.0, 4.0]
    assert gs.at([8.0, 8.0])[[1, 1]].mean([1, 3], include_self=False).tolist() == [8.0, 2.0]


def test_options_reach_the_kernels() -> None:
    half = np.array([2048], np.float16)
    assert gs.at(half)[[0, 0]].add(np.ones(2, np.float16)).tolist() == [2048]
    assert gs.at(half)[[0, 0]].add(np.ones(2, np.float16), accumulate="wide").tolist() == [2050]
    out = np.zeros(2, int)
    assert gs.at([1, 2])[[0]].set(5, out=out) is out
    assert out.tolist() == [5, 2]
    assert gs.at([1, 2])[[1, 0]].get(out=out) is out
    assert out.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (([0, 4],), r"at.add: key\[0\]\[1\] = 4 is out of range for axis 0 of data with size 3 \(valid: -3..2\)"),
        ((slice(None), np.array([[0], [-6]])), r"key\[1\]\[1, 0\] = -6 is out of range for axis 1"),
        ((3,), r"key\[0\] = 3 is out of range for axis 0"),
        ((..., 5), r"key\[1\] = 5 is out of range for axis 1"),
    ],
)
def test_bad_indices_say_where_they_stand(key: Any, text: str) -> None:
    data = np.zeros((3, 5))
    with pytest.raises(OpIndexError, match=text):
        gs.at(data)[key].add(1, out=data)
    assert not data.any()


@pytest.mark.parametrize(
    ("key", "values", "error", "text"),
    [
        (([0, 1], [0, 1, 2]), 1, OpValueError, r"can't be broadcast together: their shapes are \(2,\), \(3,\)"),
        ((0, 0, 0), 1, OpValueError, "the key names 3 axes, but data has 2"),
        ((..., ...), 1, OpTypeError, "2 ellipses"),
        ((1.5,), 1, OpTypeError, r"key\[0\] is of type float64"),
        (("a",), 1, OpTypeError, rf"key\[0\] is of type {np.dtype('U1')}"),
        ((True,), 1, OpTypeError, "a single truth value"),
        ((slice(0.5),), 1, OpTypeError, r"key\[0\] is not a valid slice"),
        (([0, 1],), [1, 2, 3], OpValueError, r"values of shape \(3,\) do not broadcast to \(2, 5\)"),
        (([0, 1],), 1j, OpTypeError, "values of type complex128 can't be stored in data of type float64"),
    ],
)
def test_mistakes(key: Any, values: Any, error: type[Exception], text: str) -> None:
    data = np.zeros((3, 5))
    with pytest.raises(error, match=text):
        gs.at(data)[key].add(values, out=data)
    assert not data.any()


def test_kinds_of_other_libraries() -> None:
    torch = pytest.importorskip("torch")
    data = torch.zeros(3, 2)
    result = gs.at(data)[torch.tensor([0, 0]), 1].add(torch.tensor([1.0, 2.0]))
    assert result.tolist() == [[0, 3], [0, 0], [0, 0]]
    assert gs.at(data)[torch.tensor([2])].set(5, out=data) is data
    assert data[2].tolist() == [5, 5]


VIEWS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rows": lambda x: x[::2],
    "columns": lambda x: x[:, ::3],
    "transposed": lambda x: x.T,
    "last": lambda x: x[..., 1::2],
    "reversed": lambda x: x[::-1],
    "whole": lambda x: x,
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("method", UFUNCS)
def test_few_positions_of_a_view_are_written_in_place(view: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    base = rng.integers(1, 9, (34, 51, 40)).astype(np.float32)
    shape = VIEWS[view](base).shape
    arrays = [rng.integers(-size, size, 2) for size in shape]
    found = []
    find = at._find_few_rows
    monkeypatch.setattr(at, "_find_few_rows", lambda *given: found.append(find(*given)) or found[-1])
    for key in (
        (arrays[0],),
        (slice(None), arrays[1].reshape(2, 1)),
        (arrays[0], slice(1, 5), arrays[2]),
        tuple(arrays),
    ):
        ours, theirs = base.copy(), base.copy()
        seen = VIEWS[view](ours)
        values = rng.integers(1, 9, seen[key].shape).astype(np.float32)
        UFUNCS[method].at(VIEWS[view](theirs), key, values)
        assert getattr(gs.at(seen)[key], method)(values, out=seen) is seen
        np.testing.assert_array_equal(ours, theirs)
        position = next(position for position, part in enumerate(key) if isinstance(part, np.ndarray))
        bad = list(key)
        bad[position] = key[position].copy()
        bad[position].flat[-1] = 99
        with pytest.raises(OpIndexError, match=rf"key\[{position}\].* = 99"):
            getattr(gs.at(seen)[tuple(bad)], method)(values, out=seen)
        np.testing.assert_array_equal(ours, theirs)
    assert view == "whole" or sum(few is not None for few in found) == 4


def test_views_that_overlap_themselves_are_written_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at, "_find_few_rows", None)
    view = np.lib.stride_tricks.as_strided(np.zeros(40), (30, 4), (8, 8))
    gs.at(view)[np.array([3])].add(np.ones((1, 4)), out=view)


def test_a_write_to_a_view_takes_no_memory_for_all_of_it() -> None:
    view = np.zeros((2000, 2000))[:, ::2]
    tracemalloc.start()
    gs.at(view)[np.array([3, 3])].add(np.ones((2, 1000)), out=view)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert view[3].sum() == 2000
    assert peak < view.nbytes / 20


@pytest.mark.parametrize("method", ["get", "add"])
def test_common_keys_take_the_short_way(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data, positions = np.arange(24.0).reshape(4, 6), np.array([3, 1, 3])
    monkeypatch.setattr("gatherscatter.functions.at.select", None)  # step by step
    for key in (positions, (slice(None), positions), (positions, positions)):
        values = np.ones(data[key].shape)
        expected = data.copy()
        np.add.at(expected, key, values)
        if method == "get":
            np.testing.assert_array_equal(gs.at(data)[key].get(), data[key])
        else:
            np.testing.assert_array_equal(gs.at(data)[key].add(values), expected)


@pytest.mark.native
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_exception_of_a_signal_handler_does_not_add_twice() -> None:
    data, positions, values = np.zeros(9), np.zeros(1000, np.int64), np.ones(1000)
    stopped = []

    def stop(*_: object) -> None:
        stopped.append(True)
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    adds = 0
    try:
        while len(stopped) < 50:
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-4)
                while True:
                    gs.at(data)[positions].add(values, out=data)
                    adds += 1
            except TimeoutError:
                pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert adds * 1000 <= data[0] <= (adds + len(stopped)) * 1000


def test_a_position_without_a_key_is_not_iterable() -> None:
    with pytest.raises(TypeError, match="not iterable"):
        list(gs.at(np.zeros(3)))  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"not (a container|iterable)"):
        _ = 5 in gs.at(np.zeros(3))  # type: ignore[operator]


def test_an_error_about_the_key_is_a_single_traceback() -> None:
    with pytest.raises(IndexError, match=r"^at\.add: key\[0\]\[2\] = 3") as error:
        gs.at(np.zeros(3))[np.array([1, 2, 3])].add(np.ones(3))
    assert error.value.__suppress_context__

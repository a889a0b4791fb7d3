"""Gather and reduce in one pass has the bits of the oracle and of two steps, for any number of threads."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter import oracle
from gatherscatter.errors import OpIndexError, OpMemoryError, OpTypeError, OpValueError
from tests.support.byte_order import swapped

REDUCTIONS = ("add", "mul", "min", "max", "mean")
DTYPES = ["bool", "int8", "int32", "int64", "uint8", "uint64", "float16", "bfloat16", "float32", "float64"]
DTYPES += ["complex64", "complex128"]
TABLE = np.array([[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]])


def as_dtype(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def values(rng: np.random.Generator, shape: Any, dtype: np.dtype) -> np.ndarray:
    numbers = rng.standard_normal(shape) * 8
    if dtype.kind == "c":  # the products of both parts are rounded
        numbers = numbers + 1j * rng.standard_normal(shape)
    made = np.asarray(abs(numbers) if dtype.kind == "u" else numbers).astype(dtype)
    if dtype.kind in "fV" and made.size > 4:
        made.reshape(-1)[rng.integers(0, made.size, 2)] = [np.nan, -0.0]
    return made


def is_defined(dtype: np.dtype, reduction: str, accumulate: str) -> bool:
    if accumulate != "step" and reduction in ("min", "max"):
        return False
    if accumulate == "exact" and (dtype.kind == "c" or (reduction == "mul" and dtype.kind not in "biu")):
        return False
    return oracle.is_reducible(reduction, oracle.element_type(dtype))


def same(a: np.ndarray, b: np.ndarray) -> None:
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    assert a.tobytes() == b.tobytes()


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Multiply and round after every operation. On some processors, NumPy fuses operations on complex numbers."""
    if a.dtype.kind != "c":
        return a * b
    made = np.empty(np.broadcast_shapes(a.shape, b.shape), a.dtype)
    made.real = a.real * b.real - a.imag * b.imag
    made.imag = a.real * b.imag + a.imag * b.real
    return made


def two_steps(data: Any, rows: Any, bag_of: Any, bags: int, weights: Any, default: Any = 0, **how: Any) -> np.ndarray:
    gathered = gs.gather(data, rows)
    if weights is not None:
        with np.errstate(all="ignore"):
            gathered = product(gathered, weights.reshape(-1, *(1,) * (gathered.ndim - 1))).astype(data.dtype)
    start = np.full((bags, *data.shape[1:]), default, data.dtype)
    return gs.scatter_update(start, bag_of, gathered, include_self=False, **how)


@pytest.mark.parametrize("name", DTYPES)
def test_the_oracle_agrees(name: str) -> None:
    rng, dtype = np.random.default_rng(1), as_dtype(name)
    for trial in range(24):
        data = values(rng, (7, *((), (1,), (3,), (2, 2))[trial % 4]), dtype)
        n, bags = int(rng.integers(0, 12)), int(rng.integers(1, 6))
        rows, bag_of = rng.integers(-7, 7, n), rng.integers(0, bags, n)
        weights = values(rng, n, dtype) if trial % 3 else None
        mode = ("raise", "wrap", "clip", "fill")[trial // 2 % 4]
        if mode != "raise":
            rows = rows * 3
        default = values(rng, (1,), dtype)[0]
        for reduction in REDUCTIONS:
            for accumulate in ("step", "wide", "exact"):
                if not is_defined(dtype, reduction, accumulate):
                    continue
                if accumulate == "wide" and dtype.kind in "fc" and dtype.itemsize > 2:
                    continue  # the oracle does not have wide sums of these; test_the_bits_of_two_steps checks them
                expected = oracle.gather_reduce(
                    data, rows.tolist(), bag_of.tolist(), bags, None if weights is None else list(weights), reduction,
                    default=default, accumulate=accumulate, mode=mode,
                )  # fmt: skip
                got = gs.gather_reduce(
                    data, rows, segment_ids=bag_of, num_segments=bags, weights=weights, reduction=reduction,
                    default=default, accumulate=accumulate, mode=mode,
                )  # fmt: skip
                oracle.assert_same(got, expected, data, zero_sign=reduction not in ("min", "max"))


@pytest.mark.parametrize("name", DTYPES)
def test_the_bits_of_two_steps(name: str) -> None:
    """Use arrays that are large enough for threads. One bag has most of the members."""
    rng, dtype = np.random.default_rng(2), as_dtype(name)
    for width in (1, 5, 64, 130):
        sizes = rng.integers(0, 8, 300)
        sizes[7], sizes[200] = 0, 5000
        n = int(sizes.sum())
        data, rows, bag_of = values(rng, (400, width), dtype), rng.integers(0, 400, n), np.repeat(np.arange(300), sizes)
        for reduction, weighted in zip((*REDUCTIONS, *REDUCTIONS), [True] * 5 + [False] * 5, strict=True):
            for accumulate in ("step", "wide", "exact"):
                if not is_defined(dtype, reduction, accumulate) or (name == "bool" and weighted):
                    continue
                weights = values(rng, n, dtype) if weighted else None
                how: dict[str, Any] = {"reduction": reduction, "accumulate": accumulate}
                one = np.ones((), dtype)
                expected = two_steps(data, rows, bag_of, 300, weights, one, **how)
                offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]])
                how |= {"offsets": offsets, "weights": weights, "default": one}
                got = [gs.gather_reduce(data, rows, num_threads=threads, **how) for threads in (1, 2, 3, 7)]
                for each in got:
                    same(each, got[0])
                # If both operands are NaN, either may be kept.
                both = [np.where(a == a, a, np.zeros((), dtype)) for a in (got[0], expected)]
                same(*both)
                assert ((got[0] == got[0]) == (expected == expected)).all()


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("width", [1, 2, 4, 8, 40])
def test_every_number_of_16_bits(name: str, width: int) -> None:
    """Each number, alone in a bag and next to another number, gives the same result, bit for bit. This includes NaN."""
    data = np.repeat(np.arange(1 << 16, dtype=np.uint16), width).reshape(-1, width).view(as_dtype(name))
    alone, pairs = np.arange(1 << 16)[:, np.newaxis], np.empty((1 << 16, 2), np.int64)
    pairs[:, 0] = alone[:, 0]
    for reduction in REDUCTIONS:
        for accumulate in ("step", "wide") if reduction not in ("min", "max") else ("step",):
            how: dict[str, Any] = {"reduction": reduction, "accumulate": accumulate}
            expected = two_steps(data, alone[:, 0], alone[:, 0], 1 << 16, None, **how)
            same(gs.gather_reduce(data, alone, **how), expected)
            for number in (1.0, -0.0, 1e-7, -3e4):
                pairs[:, 1] = np.asarray(number, data.dtype).view(np.uint16)
                bag_of = np.repeat(alone[:, 0], 2)
                expected = two_steps(data, pairs.reshape(-1), bag_of, 1 << 16, None, **how)
                same(gs.gather_reduce(data, pairs, **how), expected)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_of_two_nan_the_same_one_stays_on_any_number_of_threads(name: str) -> None:
    dtype, both = as_dtype(name), np.tile([0, 1], (1, 4000))
    bits = np.full((2, 600), -1, f"i{dtype.itemsize}")  # NaN
    bits[0] ^= np.iinfo(bits.dtype).min | 5  # without the sign, and with a different payload
    data = bits.view(dtype)
    for reduction in ("add", "mean", "mul"):
        for accumulate in ("step", "wide"):
            how: dict[str, Any] = {"reduction": reduction, "accumulate": accumulate}
            one, *others = (gs.gather_reduce(data, both, num_threads=n, **how) for n in (1, 2, 3, 7))
            for each in others:
                same(each, one)


def test_the_core_reads_no_row_that_is_not_there() -> None:
    """The loops check the rows and the starts of bags that they read, because nothing checks them before."""
    data = np.ones((3, 40), np.float32)
    for bad in (3, -4, 2**62, -(10**13), -(2**63)):
        for indptr, rows in (
            ([0, 2, bad], [0, 1]),
            ([0, bad, 2], [0, 1]),
            ([bad, 1, 2], [0, 1]),
            ([0, 1, 2], [0, bad]),
        ):
            for accumulate in ("step", "wide", "exact"):
                how: dict[str, Any] = {"accumulate": accumulate, "num_threads": 2}
                with pytest.raises((OpIndexError, OpValueError)):
                    gs.gather_reduce(data, np.array(rows), indptr=np.array(indptr), **how)


def test_all_ways_to_give_bags_agree() -> None:
    rng = np.random.default_rng(3)
    data, indices = rng.standard_normal((50, 6)), rng.integers(-50, 50, (4, 5, 3))
    weights = rng.standard_normal((4, 5, 3))
    packed = gs.gather_reduce(data, indices, weights=weights)
    flat, flat_weights, order = indices.reshape(-1), weights.reshape(-1), rng.permutation(60)
    same(gs.gather_reduce(data, flat, offsets=np.arange(0, 60, 3), weights=flat_weights).reshape(4, 5, 6), packed)
    for dtype in ("i8", "i4", "u1"):
        indptr = np.arange(0, 61, 3).astype(dtype)
        same(gs.gather_reduce(data, flat, indptr=indptr, weights=flat_weights).reshape(4, 5, 6), packed)
    ids = np.repeat(np.arange(20), 3)
    same(gs.gather_reduce(data, flat, segment_ids=ids, weights=flat_weights).reshape(4, 5, 6), packed)
    shuffled = gs.gather_reduce(data, flat[order], segment_ids=ids[order], weights=flat_weights[order], reduction="max")
    same(shuffled, gs.gather_reduce(data, flat, segment_ids=ids, weights=flat_weights, reduction="max"))
    # Without indices, the members are 0, 1, 2, ...
    same(gs.gather_reduce(data, offsets=[0, 10, 10]), gs.gather_reduce(data, np.arange(50), offsets=[0, 10, 10]))
    one = gs.gather_reduce(data, segment_ids=np.arange(50) % 7, num_segments=9)
    assert one.shape == (9, 6)
    assert not one[7:].any()


@pytest.mark.parametrize("dtype", ["i8", "i4", "u2"])
@pytest.mark.parametrize("order", ["sorted", "nearly sorted", "random", "reversed"])
def test_segments_of_all_orders(order: str, dtype: str) -> None:
    """Sorted ids become pointers, and others are sorted, on all threads: the bags are those of a stable sort."""
    rng = np.random.default_rng(5)
    members, bags = 40_000, 3_000
    ids = np.sort(rng.integers(0, bags - 7, members))
    if order == "nearly sorted":
        ids[[30_000, 20_001]] = ids[[20_001, 30_000]]
    elif order != "sorted":
        ids = ids[::-1].copy() if order == "reversed" else rng.permutation(ids)
    data, rows = rng.standard_normal((500, 3)).astype(np.float32), rng.integers(-500, 500, members)
    weights = rng.standard_normal(members).astype(np.float32)
    by_bag = np.argsort(ids, kind="stable")
    indptr = np.append(0, np.cumsum(np.bincount(ids, minlength=bags)))
    for given in ({}, {"weights": weights}):
        sorted_weights = {name: each[by_bag] for name, each in given.items()}
        expected = gs.gather_reduce(data, rows[by_bag], indptr=indptr, **sorted_weights)
        for threads in (1, 2, 3, 8):
            found = gs.gather_reduce(
                data, rows, segment_ids=ids.astype(dtype), num_segments=bags, num_threads=threads, **given
            )
            same(found, expected)
        whole = gs.gather_reduce(data, rows, segment_ids=ids.astype(dtype), **given)
        same(whole, expected[: ids.max() + 1])
    bad = ids.copy()
    bad[[17, 39_000]] = -1, bags
    with pytest.raises(OpIndexError, match=r"out of range for 3000 segments.*2 of 40000") as caught:
        gs.gather_reduce(data, rows, segment_ids=bad, num_segments=bags)
    assert caught.value.positions == ((17,), (39_000,))
    rows[12_345] = 500
    with pytest.raises(OpIndexError, match=r"indices\[12345\] = 500 is out of range"):
        gs.gather_reduce(data, rows, segment_ids=ids.astype(dtype), num_segments=bags)


def test_more_bags_than_memory() -> None:
    assert gs.gather_reduce(np.zeros((10**13, 0)), offsets=[0]).shape == (1, 0)
    with pytest.raises(
        MemoryError,
        match=r"takes 16.0 PiB; segment_ids\[1\] = 1125899906842624 decides its size",
    ):
        gs.gather_reduce(TABLE, [0, 1], segment_ids=np.array([0, 2**50]))


def test_lists_take_the_short_way() -> None:
    """Lists and tuples of integers give the same result and the same errors as arrays."""
    data = np.arange(12.0).reshape(4, 3)
    same(gs.gather_reduce(data, [[0, 1], [2, -1]]), gs.gather_reduce(data, np.array([[0, 1], [2, -1]])))
    same(
        gs.gather_reduce(data, (0, 1, 3), offsets=[0, 1]), gs.gather_reduce(data, np.array([0, 1, 3]), indptr=(0, 1, 3))
    )
    for rows in ([0, 4], (0, 4)):
        with pytest.raises(OpIndexError, match=r"indices\[1\] = 4 is out of range"):
            gs.gather_reduce(data, rows, offsets=[0])
    for rows, text in (
        ([0, 1.0], "integers"), ([[0], [1, 2]], "lists have different lengths"),
        ([0, 2**70], "integers"), ([0, None], "integers"), (["a"], "integers"),
    ):  # fmt: skip
        with pytest.raises((OpTypeError, OpValueError), match=text):
            gs.gather(data, rows)
    assert gs.gather(data, [0, True]).tolist() == data[[0, 1]].tolist()
    assert gs.gather(data, []).shape == (0, 3)
    assert gs.scatter_nd(data, [[0, 1]], np.array([5.0]))[0, 1] == 5
    assert gs.gather(data, [[[1]]]).shape == (1, 1, 1, 3)


def test_layouts_types_and_out() -> None:
    rng = np.random.default_rng(4)
    data, indices = rng.standard_normal((20, 12)), rng.integers(0, 20, (8, 3))
    expected = gs.gather_reduce(data[:, ::2].copy(), indices)
    same(gs.gather_reduce(data[:, ::2], indices), expected)
    same(gs.gather_reduce(np.asfortranarray(data[:, ::2]), indices.T.copy().T), expected)
    result = gs.gather_reduce(data[:, ::2].astype(swapped("f8")), indices.astype(swapped("i4")))
    assert result.dtype == swapped("f8")
    assert (result == expected).all()
    out = np.empty((8, 6))
    assert gs.gather_reduce(data[:, ::2], indices, out=out) is out
    same(out, expected)
    gs.gather_reduce(data, indices, out=data[:8])  # the result overwrites its own data
    same(data[:8, ::2].copy(), expected)
    assert gs.gather_reduce(TABLE, np.zeros((0, 3), int)).shape == (0, 2)
    assert gs.gather_reduce(TABLE, np.zeros((2, 0), int), default=3).tolist() == [[3, 3], [3, 3]]
    assert gs.gather_reduce(np.zeros((0, 2)), np.zeros((2, 0), int)).shape == (2, 2)
    assert gs.gather_reduce(np.zeros((3, 0)), [[1, 2]]).shape == (1, 0)


GAPS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "columns": lambda data: np.concatenate([data, data], axis=1)[:, : data.shape[1]],
    "elements": lambda data: np.repeat(data, 2, axis=1)[:, ::2],
    "rows": lambda data: np.repeat(data, 3, axis=0)[::3],
    "from the end": lambda data: data[::-1].copy()[::-1],
    "transposed": lambda data: data.T.copy().T,
}


@pytest.mark.parametrize("gaps", GAPS)
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip", "fill"])
def test_few_rows_of_data_with_gaps(gaps: str, mode: str) -> None:
    """The named rows are gathered first. Results and errors are those of contiguous data."""
    rng = np.random.default_rng(7)
    data = rng.standard_normal((300, 5)).astype(np.float32)
    spaced = GAPS[gaps](data)
    assert not spaced.flags.c_contiguous
    indices = rng.integers(-300, 300, (6, 4)) if mode == "raise" else rng.integers(-900, 900, (6, 4))
    weights = rng.standard_normal((6, 4))
    line: dict[str, Any] = {"indices": indices.reshape(-1).astype(np.int32), "mode": mode}
    for options in (
        {"indices": indices, "mode": mode},
        {"indices": indices.T.copy().T, "weights": weights, "mode": mode},
        {**line, "offsets": [0, 3, 3, 20]},
        {**line, "indptr": [0, 24], "reduction": "max", "default": 7},
        {**line, "segment_ids": rng.integers(0, 4, 24), "reduction": "mean", "accumulate": "exact"},
    ):
        same(gs.gather_reduce(spaced, **options), gs.gather_reduce(data, **options))
        plan = gs.plan("gather_reduce", spaced, **options)
        assert "the named rows are gathered first, because data is not contiguous and has more rows" in plan.steps
        assert "data" not in plan.copies
        assert plan.copied_bytes < spaced.nbytes
    bad = {**line, "indices": [5, 300], "offsets": [0, 1], "mode": "raise"}
    for arguments in (bad, bad | {"indices": [0, 1], "offsets": [0, 9]}, bad | {"indices": [0, 1], "weights": [1.0]}):
        texts = set()
        for table in (spaced, data):
            with pytest.raises((OpIndexError, OpValueError)) as caught:
                gs.gather_reduce(table, **arguments)
            texts.add((type(caught.value), str(caught.value)))
        assert len(texts) == 1


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ({"indices": [[0, 3]]}, OpIndexError, "gather_reduce: indices[0, 1] = 3 is out of range for axis 0"),
        ({"indices": [0, 1]}, OpValueError, "define the bags in exactly one way"),
        ({"indices": [[0]], "offsets": [0]}, OpValueError, "given: indices of 2 dimensions and offsets"),
        ({"indices": [0], "offsets": [0], "segment_ids": [0]}, OpValueError, "given: offsets and segment_ids"),
        ({"indices": [0, 1], "offsets": [0, 3]}, OpIndexError, "offsets[1] = 3 is out of range for 2 members"),
        ({"indices": [0, 1], "offsets": [0, -1]}, OpIndexError, "offsets[1] = -1 is out of range"),
        ({"indices": [0, 1], "offsets": [0, 2, 1]}, OpValueError, "offsets[2] = 1 comes after 2"),
        ({"indices": [0, 1], "offsets": [1, 2]}, OpValueError, "offsets must begin with 0, not 1"),
        ({"indices": [0, 1], "offsets": []}, OpValueError, "there are 2 members; they would be in no bag"),
        ({"indices": [0, 1], "offsets": [[0]]}, OpValueError, "offsets must have one dimension"),
        ({"indices": [0, 1], "indptr": [0, 1]}, OpValueError, "indptr must end with 2, the number of members, not 1"),
        ({"indices": [0, 1], "indptr": [1, 2]}, OpValueError, "indptr must begin with 0, not 1"),
        ({"indices": [0, 1], "indptr": [0, 2, 1, 2], "out": None}, OpValueError, "indptr[2] = 1 comes after 2"),
        ({"indices": [0, 1], "indptr": [0, 3]}, OpIndexError, "indptr[1] = 3 is out of range for 2 members"),
        ({"indices": [0, 1], "indptr": []}, OpValueError, "indptr is empty"),
        ({"indices": [0, 1], "indptr": [[0, 2]]}, OpValueError, "indptr must have one dimension"),
        ({"indices": [0, 1], "indptr": [0, 2], "offsets": [0]}, OpValueError, "given: offsets and indptr"),
        ({"indices": 0, "offsets": [0]}, OpValueError, "indices must have one dimension, not shape ()"),
        ({"indices": [0, 1], "segment_ids": [0]}, OpValueError, "segment_ids has shape (1,), but must have (2,)"),
        ({"indices": [0, 1], "segment_ids": [0, -1]}, OpIndexError, "segment_ids[1] = -1 is out of range for 1"),
        (
            {"indices": [0, 1], "segment_ids": [0, 2], "num_segments": 2},
            OpIndexError,
            "segment_ids[1] = 2 is out of range for 2 segments (valid: 0..1)",
        ),
        ({"segment_ids": [0, 0, 0], "num_segments": -1}, OpValueError, "num_segments must be at least 0"),
        ({"indices": [0], "segment_ids": np.array([2**63], np.uint64)}, OpMemoryError, "segment_ids[0] = "),
        ({"segment_ids": [0, 0, 0], "num_segments": 1.0}, OpTypeError, "num_segments must be an integer"),
        ({"indices": [[0]], "num_segments": 1}, OpValueError, "num_segments is allowed only with segment_ids"),
        ({"indices": [[0, 1]], "weights": [1.0, 2.0]}, OpValueError, "weights has shape (2,), but must have (1, 2)"),
        ({"indices": [[0, 1]], "weights": [[1j, 0]]}, OpTypeError, "weights of type complex128 can't be stored"),
        ({"indices": [[0.5]]}, OpTypeError, "indices must be integers"),
        ({"indices": [[0]], "default": [1, 2, 3]}, OpValueError, "default must be a scalar or have the shape of a row"),
        ({"indices": [[0]], "reduction": "sub"}, OpValueError, "reduction must be one of 'add', 'mul'"),
        ({"indices": [[0]], "reduction": np.array(["add"])}, OpTypeError, "reduction must be one of 'add', 'mul'"),
        ({"indices": [0], "segment_ids": [2**62]}, OpMemoryError, "segment_ids[0] = "),
        ({"indices": [[0]], "mode": "drop"}, OpValueError, "mode must be one of"),
        ({"indices": [[0]], "accumulate": "double"}, OpValueError, "accumulate must be one of"),
        ({"indices": [[0]], "reduction": "mul", "accumulate": "exact"}, OpTypeError, "accumulate='exact' is not"),
        ({"indices": [[0]], "out": np.zeros((2, 2))}, OpValueError, "out has shape (2, 2), but the result has (1, 2)"),
        ({"indices": [[0]], "num_threads": 0}, OpValueError, "num_threads must be at least 1"),
    ],
)  # fmt: skip
def test_mistakes(arguments: dict[str, Any], kind: type[Exception], text: str) -> None:
    out = np.full((1, 2), 7.0)
    with pytest.raises(kind) as caught:
        gs.gather_reduce(TABLE, **({"out": out} | arguments))
    assert text in str(caught.value)
    assert (out == 7).all()
    with pytest.raises(OpIndexError, match="out of range"):
        gs.gather_reduce(np.zeros((3, 0)), [[0, 7]])
    with pytest.raises(OpTypeError, match="not defined for elements of type"):
        gs.gather_reduce(np.array(["a", "b"]), [[0]])
    with pytest.raises(OpValueError, match="must have at least one dimension"):
        gs.gather_reduce(np.array(1.0), [[0]])


PEAK = """
import resource, sys
import numpy as np, gatherscatter as gs
gs.set_pool_limit(0)
gs.set_num_threads(2)
data = np.ones((20_000, 128), np.float32)
indices = np.random.default_rng(0).integers(0, 20_000, 400_000)
offsets = np.arange(0, 400_000, 32)
ids = np.random.default_rng(0).integers(0, 12_500, 400_000)
gs.gather_reduce(data, [[0, 1]])
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = peak()
gs.gather_reduce(data, indices, **eval(sys.argv[1]))
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is counted in other units elsewhere")
@pytest.mark.parametrize(
    "arguments", ["dict(offsets=offsets)", "dict(segment_ids=ids)", "dict(offsets=offsets, accumulate='wide')"]
)
def test_the_gathered_rows_are_not_stored(arguments: str) -> None:
    """They would take 205 MB. The result takes 6.4 MB (twice that for wide sums), and each index 8 bytes."""
    done = subprocess.run([sys.executable, "-c", PEAK, arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 48 << 20


def test_propagate_is_a_sparse_product() -> None:
    rng = np.random.default_rng(5)
    pairs = np.stack([rng.integers(0, 30, 200), rng.integers(0, 40, 200)], -1)
    weights, x, y = rng.integers(-9, 9, 200), rng.integers(-9, 9, (40, 5)), rng.integers(-9, 9, (30, 5))
    edges = pickle.loads(pickle.dumps(gs.prepare(pairs, (30, 40))))
    matrix, ones = np.zeros((30, 40), int), np.zeros((30, 40), int)
    np.add.at(matrix, tuple(pairs.T), weights)
    np.add.at(ones, tuple(pairs.T), 1)
    same(edges.propagate(x, weights), matrix @ x)
    same(edges.propagate(y, weights, transpose=True), matrix.T @ y)
    same(edges.propagate(x), ones @ x)
    expected = gs.gather_reduce(x, pairs[:, 1], segment_ids=pairs[:, 0], num_segments=30, reduction="max", default=-100)
    same(edges.propagate(x, reduction="max", default=-100), expected)
    with pytest.raises(OpValueError, match="data must have 40 rows"):
        edges.propagate(y)
    with pytest.raises(OpValueError, match="weights has shape"):
        edges.propagate(x, weights[:5])
    with pytest.raises(OpValueError, match="propagate needs pairs"):
        gs.prepare([0, 1], 3).propagate(x)
    with pytest.raises(OpValueError, match="reduction must be one of"):
        edges.propagate(x, reduction="sum")


STATISTICS = ("var", "std", "first", "last", "any", "all", "argmin", "argmax", "count")


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "?", "c16"])
@pytest.mark.parametrize("form", ["packed", "offsets", "segments", "indptr", "rows"])
@pytest.mark.parametrize("name", STATISTICS)
def test_statistics_of_bags(name: str, form: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    data = (rng.standard_normal((9, 3)) * 5).astype(dtype)
    indices = rng.integers(-9, 9, (5, 4))
    flat = indices.ravel()
    rows, labels = data[flat], np.repeat(np.arange(5), 4)
    bags: dict[str, Any] = {}
    if form == "packed":
        flat = indices
    elif form == "offsets":
        bags, labels = {"offsets": [0, 3, 3, 20]}, np.repeat([0, 1, 2, 3], [3, 0, 17, 0])
    elif form == "indptr":
        bags, labels = {"indptr": [0, 3, 3, 20]}, np.repeat([0, 1, 2], [3, 0, 17])
    else:
        labels = rng.permutation(labels)
        bags = {"segment_ids": labels, "num_segments": 7}
        if form == "rows":
            data, flat = rows, None
    if name.startswith("arg") and dtype[0] == "c":
        pytest.skip("complex numbers have no order in groups")
    found = gs.gather_reduce(data, flat, reduction=name, **bags)
    count = {"offsets": 4, "indptr": 3, "packed": 5}.get(form, 7)
    wanted = gs.aggregate(labels, rows, "len" if name == "count" else name, axis=0, size=count)
    sizes = np.bincount(labels, minlength=count)
    wanted = wanted[:, 0] if name == "count" else wanted
    np.testing.assert_array_equal(found[sizes > 0], wanted[sizes > 0])
    assert (found[sizes == 0] == 0).all()
    if found.dtype != bool:
        other = gs.gather_reduce(data, flat, reduction=name, default=7, num_threads=1, **bags)
        assert (other[sizes == 0] == 7).all()
    out = np.empty_like(found)
    assert gs.gather_reduce(data, flat, reduction=name, out=out, **bags) is out
    assert out.tobytes() == found.tobytes()


def test_mistakes_with_statistics_of_bags() -> None:
    with pytest.raises(ValueError, match="weights has no effect with reduction 'std'"):
        gs.gather_reduce(np.ones((3, 2)), [[0, 1]], weights=[[1.0, 2.0]], reduction="std")
    with pytest.raises(IndexError, match=r"indices\[1\] = 5 is out of range"):
        gs.gather_reduce(np.ones((3, 2)), [0, 5], offsets=[0], reduction="first")
    with pytest.raises(IndexError, match="segment_ids"):
        gs.gather_reduce(np.ones((3, 2)), segment_ids=[0, 5, 0], num_segments=2, reduction="var")
    with pytest.raises(TypeError, match="reduction any is not defined for updates of type"):
        gs.gather_reduce(np.array([["a"]]), [[0]], reduction="any")


def test_nan_is_the_least_and_the_greatest_of_a_bag() -> None:
    data = np.array([1.0, np.nan, 2.0])
    found = gs.gather_reduce(data, segment_ids=[0, 0, 2], num_segments=4, reduction="argmax")
    assert found.tolist() == [1, 0, 2, 0]

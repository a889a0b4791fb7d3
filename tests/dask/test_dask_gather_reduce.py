"""gs.gather_reduce on Dask arrays has the bits of one call in memory and of the oracle, for any chunks."""

from __future__ import annotations

import itertools
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import gatherscatter as gs
from gatherscatter import oracle
from gatherscatter.errors import OpIndexError, OpTypeError, OpValueError
from gatherscatter_conformance import random_calls
from gatherscatter_conformance.random_source import Choices, HypothesisChoices
from tests.support import judge

dask: Any = pytest.importorskip("dask")
da: Any = pytest.importorskip("dask.array")
gsd: Any = pytest.importorskip("gatherscatter.dask")

MODES = ("raise", "wrap", "clip", "fill")
REDUCTIONS = ("add", "mul", "min", "max", "mean")
FORMS = ("packed", "packed twice", "offsets", "indptr", "segments", "sorted segments")
CHUNK_SIZES = ("128MiB", "100B", "1B")  # one task for all bags, for some bags, for each bag


def in_chunks(c: Choices, array: np.ndarray) -> Any:
    """Return a Dask array in chunks of random sizes, including empty ones."""
    chunks = []
    for length in array.shape:
        cuts = sorted(c.integer(0, length) for _ in range(c.pick((1, 2, 0, 3))))
        chunks.append(tuple(np.diff([0, *cuts, length]).tolist()))
    return da.from_array(array, chunks=tuple(chunks))


def numbers(c: Choices, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    rng = np.random.default_rng(c.integer(0, 1000))
    return (rng.standard_normal(shape) * 8).astype(dtype)


def draw_bags(c: Choices, form: str, rows: int, mode: str) -> tuple[dict[str, np.ndarray | None], list[int], int]:
    """Return arguments that define bags, the bag of each member, and the number of bags."""
    reach = 3 * rows if mode != "raise" else rows
    rng = np.random.default_rng(c.integer(0, 1000))
    if form.startswith("packed"):
        shape = (*(c.integer(0, 4) for _ in form.split()), c.integer(0, 3))
        if form == "packed":
            shape = (c.integer(0, 7), shape[-1])
        bags = int(np.prod(shape[:-1]))
        return {"indices": rng.integers(-reach, reach, shape)}, np.repeat(range(bags), shape[-1]).tolist(), bags
    has_indices = c.pick((True, False))
    count = c.integer(0, 12) if has_indices else rows
    arrays = {"indices": rng.integers(-reach, reach, count) if has_indices else None}
    bags = c.integer(1, 6)
    if form in ("offsets", "indptr"):
        offsets = np.sort(rng.integers(0, count + 1, bags))
        offsets[0] = 0
        bag_of = np.searchsorted(offsets, np.arange(count), "right") - 1
        given = {"offsets": offsets} if form == "offsets" else {"indptr": np.append(offsets, count)}
        return {**arrays, **given}, bag_of.tolist(), bags
    ids = rng.integers(0, bags, count)
    return {**arrays, "segment_ids": np.sort(ids) if form == "sorted segments" else ids}, [], bags


@pytest.mark.parametrize("form", FORMS)
@given(drawn=st.data())
def test_random_calls(form: str, drawn: Any) -> None:
    """Check every mode and reduction against one call in memory and the oracle, with any of the arrays in chunks."""
    c = HypothesisChoices(drawn.draw)
    dtype = np.dtype(c.pick(("float32", "int16", "float16", "complex64")))
    reduction = c.pick(REDUCTIONS if dtype.kind != "c" else ("add", "mul", "mean"))
    accumulates = dtype.kind != "c" and reduction in ("add", "mean")
    accumulate = c.pick(("step", "wide", "exact") if accumulates else ("step",))
    mode = c.pick(MODES)
    rows, inner = c.integer(1, 8), c.pick(((), (3,), (2, 2), (0,)))
    data = numbers(c, (rows, *inner), dtype)
    arrays, bag_of, bags = draw_bags(c, form, rows, mode)
    indices = arrays["indices"]
    members = (rows,) if indices is None else indices.shape
    weights = numbers(c, members, dtype) if c.pick((True, False)) else None
    default = c.pick((0, 3, numbers(c, inner, dtype)))
    how = {"reduction": reduction, "accumulate": accumulate, "mode": mode, "default": default}
    if "segment_ids" in arrays:
        how["num_segments"] = bags
        bag_of = arrays["segment_ids"].tolist()
    every = {"data": data, **arrays, "weights": weights}
    expected = gs.gather_reduce(**every, **how)

    lazy = c.integer(0, 2 ** len(every) - 1)  # one bit for each array
    given_arrays = {
        name: in_chunks(c, array) if array is not None and lazy & 1 << n else array
        for n, (name, array) in enumerate(every.items())
    }
    with dask.config.set({"array.chunk-size": c.pick(CHUNK_SIZES), "scheduler": c.pick(("synchronous", "threads"))}):
        made = gsd.gather_reduce(**given_arrays, **how, plan=c.pick(gsd.inputs.PLANS))
        result = made.compute()
        blocks = dask.compute(*made.to_delayed().flat)
    assert [block.shape for block in blocks] == list(itertools.product(*made.chunks))
    assert (made.dtype, made.shape) == (expected.dtype, expected.shape) == (result.dtype, result.shape)
    assert result.tobytes() == expected.tobytes()

    if accumulate == "wide" and dtype.itemsize > 2 and dtype.kind in "fc":
        return  # the oracle does not have wide sums of these
    flat = list(range(rows)) if indices is None else indices.reshape(-1).tolist()
    line = None if weights is None else list(weights.reshape(-1))
    value = default if np.ndim(default) == 0 else 0
    own = oracle.gather_reduce(
        data, flat, bag_of, bags, line, reduction, default=value, accumulate=accumulate, mode=mode
    )
    if np.ndim(default):
        own[[bag for bag in range(bags) if bag not in bag_of]] = default
    oracle.assert_same(result, own.reshape(expected.shape), data, zero_sign=reduction not in ("min", "max"))


VERSIONS = [row for row in oracle.ROWS.values() if row.kernel == "gather_reduce"]


@pytest.mark.parametrize("row", VERSIONS, ids=lambda row: row.name)
@given(drawn=st.data())
def test_random_calls_of_versions(row: oracle.OracleRow, drawn: Any) -> None:
    """Check types, attributes, ranges and results of the specification, with any of the arrays in chunks."""
    c = HypothesisChoices(drawn.draw)
    arrays, attributes = random_calls.version_call(c, row)
    named = {name: array for name, array in zip(row.inputs, arrays, strict=False) if array is not None}
    assume(all(array.dtype.kind not in "OUS" for array in named.values()))  # lazy arrays are refused there
    lazy = [name for name in named if c.pick((True, False))] or list(named)[:1]
    cut = {name: in_chunks(c, array) if name in lazy else array for name, array in named.items()}
    size, scheduler = c.pick(CHUNK_SIZES), c.pick(("synchronous", "threads"))
    expected = judge.outcome(oracle.call, row.name, *arrays, **attributes)

    def compute() -> np.ndarray:
        with dask.config.set({"array.chunk-size": size, "scheduler": scheduler}):
            made = gs.op(row.name)(*map(cut.get, row.inputs[: len(arrays)]), **attributes)
            result = made.compute()
            blocks = dask.compute(*made.to_delayed().flat)
        assert [block.shape for block in blocks] == list(itertools.product(*made.chunks))
        assert (made.dtype, made.shape) == (result.dtype, result.shape)
        return result

    result = judge.outcome(compute)
    if isinstance(expected, IndexError) and "indices" in lazy:
        in_memory = judge.outcome(gs.op(row.name), *arrays, **attributes)
        if str(in_memory).startswith(f"{row.name}: indices["):
            check_bad_chunk(result, named, len(arrays[0]))
            return
    if isinstance(expected, Exception):
        judge.check_error(result, row.name, expected)
    else:
        oracle.assert_same(result, expected, arrays[0], zero_sign=row.fixed_reduction != "max")


def test_a_version_names_its_input_and_its_range() -> None:
    rows = da.from_array(np.array([0, 1, -1]), chunks=2)
    made = gs.openvino.EmbeddingBagOffsets(da.ones((5, 2), chunks=3), rows, [0])
    text = (
        r"^openvino.EmbeddingBagOffsets-15: indices\[2\] = -1 is out of range for axis 0 of emb_table with size 5 \(va"
    )
    with pytest.raises(OpIndexError, match=rf"{text}lid: 0..4\), in chunk \(1,\) of the indices"):
        made.compute()


def test_a_version_adds_halves_up_in_float32_and_takes_a_lazy_default_index() -> None:
    """2048 is the first number of float16 to which 1 cannot be added."""
    table = da.from_array(np.array([2048, 1], np.float16), chunks=1)
    bags, default = np.array([0, 3]), da.from_array(np.array([1]), chunks=1)
    inputs = table, np.array([0, 1, 1]), bags, default
    expected = oracle.call("openvino.EmbeddingBagOffsets-15", *(np.asarray(each) for each in inputs))
    assert expected.tolist() == [2050, 1]
    assert gs.openvino.EmbeddingBagOffsets(*inputs).compute().tolist() == [2050, 1]
    assert gs.openvino.EmbeddingBagOffsets(*inputs, accumulate="step").compute().tolist() == [2048, 1]


def check_bad_chunk(result: Any, named: dict[str, np.ndarray], rows: int) -> None:
    """Check the error for bad indices in the chunk that was computed first. Members in no bag need not be computed."""
    indices = named["indices"]
    if isinstance(result, OpIndexError):
        assert result.allowed == (0, rows - 1)
        assert f"is out of range for axis 0 of emb_table with size {rows}" in str(result)
        for position, value in zip(result.positions, result.values, strict=True):
            assert indices[position] == value
            assert not 0 <= value < rows
    else:
        assert isinstance(result, np.ndarray), result
        first = named["offsets"][0] if len(named["offsets"]) else len(indices)
        assert ((indices[first:] >= 0) & (indices[first:] < rows)).all()


def positions(*shape: int, below: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-below, below, shape)


def table(*shape: int) -> np.ndarray:
    return np.random.default_rng(9).standard_normal(shape).astype(np.float32)


# ------------------------------------------------------------------------------------------------------- chunks


def test_the_result_has_the_chunks_of_indices_and_of_data() -> None:
    data = da.from_array(table(6, 8), chunks=((4, 2), (3, 5)))
    packed = da.from_array(positions(7, 4, below=6), chunks=((5, 2), 3))
    assert gs.gather_reduce(data, packed).chunks == ((5, 2), (3, 5))
    assert gs.gather_reduce(data, packed.compute()).chunks == ((7,), (3, 5))
    line = da.from_array(positions(10, below=6), chunks=5)
    assert gs.gather_reduce(data, line, offsets=[0, 4, 9, 9]).chunks == ((2, 2), (3, 5))  # the second bag is in both
    assert gs.gather_reduce(data, segment_ids=[3, 0, 0, 1, 2, 0]).chunks == ((2, 2), (3, 5))
    assert gs.gather_reduce(data, line[:0], offsets=[]).chunks == ((0,), (3, 5))


def test_chunks_are_cut_where_gathered_rows_would_be_too_large() -> None:
    """Each of 8 bags has 10 rows of 400 bytes, a row for the result and 10 indices of 8 bytes."""
    indices = da.from_array(positions(8, 10, below=100), chunks=-1)
    offsets = np.arange(0, 80, 10)
    several, one = (da.from_array(table(100, 100), chunks=chunks) for chunks in ((50, 100), (100, 100)))
    with dask.config.set({"array.chunk-size": 3 * (10 * 400 + 400 + 80)}):
        assert gs.gather_reduce(several, indices).chunks[0] == (3, 3, 2)
        assert gs.gather_reduce(several, indices.reshape(-1), offsets=offsets).chunks[0] == (3, 3, 2)
        assert gs.gather_reduce(one, indices).chunks[0] == (8,)
        assert gs.gather_reduce(one, indices.reshape(-1), offsets=offsets).chunks[0] == (8,)
    with dask.config.set({"array.chunk-size": 1}):  # a bag is never divided
        assert gs.gather_reduce(several, indices).chunks[0] == (1,) * 8


def test_data_in_memory_is_one_chunk() -> None:
    indices = da.from_array(positions(8, 3, below=100), chunks=4)
    with dask.config.set({"array.chunk-size": "1kB"}):
        made = gs.gather_reduce(table(100, 100), indices)
    assert not stores_rows(made)


def test_tasks() -> None:
    """There is one task for each chunk of the result, one for each chunk of lazy indices, and those of the rows."""
    data, packed = da.zeros((100, 10), chunks=(100, 5)), da.from_array(positions(8, 3, below=100), chunks=(2, 3))
    count = len(gs.gather_reduce(data, packed).dask) - len(data.dask) - len(packed.dask)
    assert count == 4 + 4 * 2
    clustered = np.repeat(np.arange(100), 2).reshape(50, 4)
    cut = data.rechunk((10, 5))
    with dask.config.set({"array.chunk-size": "1kB"}):
        eager = gsd.gather_reduce(cut, da.from_array(clustered, chunks=(5, 4)), plan="eager")
        lazy = gsd.gather_reduce(cut, da.from_array(clustered, chunks=(5, 4)))
    assert len(eager.dask) < len(lazy.dask)
    assert eager.compute().tolist() == lazy.compute().tolist()


def test_small_chunks_of_data_are_put_together() -> None:
    data, indices = da.from_array(table(40, 2), chunks=4), positions(20, 3, below=40)
    assert not stores_rows(gs.gather_reduce(data, indices))
    assert stores_rows(gs.gather_reduce(data, indices[:10]))  # fewer rows than in data
    with dask.config.set({"array.chunk-size": 40 * 8 - 1}):
        assert stores_rows(gs.gather_reduce(data, indices))


def stores_rows(made: Any) -> bool:
    """Check whether the graph contains an array of gathered rows between data and the result."""
    return sum(name.startswith("gather_reduce-") for name in made.dask.layers) == 2


def test_names_depend_on_everything() -> None:
    data, indices = da.ones((4, 2), chunks=2), positions(3, 2, below=4)
    calls: list[dict[str, Any]] = [
        {},
        {"reduction": "mul"},
        {"default": 1},
        {"default": [1.0, 2.0]},
        {"weights": np.ones((3, 2))},
        {"mode": "clip"},
    ]
    names = [gs.gather_reduce(data, indices, **how).name for how in calls]
    assert names == [gs.gather_reduce(data, indices, **how).name for how in calls]
    assert len({*names, gs.gather_reduce(data, indices[::-1]).name}) == 7
    line = [gs.gather_reduce(data, [0, 1, 2], offsets=offsets).name for offsets in ([0, 1], [0, 2])]
    assert line[0] != line[1]


def test_the_caller_may_change_its_arrays_afterwards() -> None:
    indices, weights, default = np.array([[0, 1], [2, 3]]), np.ones((2, 2)), np.zeros(2)
    for chunks in (2, 4):
        data = da.ones((4, 2), chunks=chunks)
        made = gs.gather_reduce(data, indices, weights=weights, default=default)
        expected = made.compute()
        for array in (indices, weights, default):
            array += 1
        assert made.compute().tolist() == expected.tolist()
        indices -= 1


# ------------------------------------------------------------------------------------------------------- errors


def test_known_indices_raise_at_once_what_memory_raises() -> None:
    data = table(6, 2)
    bad = positions(4, 3, below=6)
    bad[2, 1], bad[3, 0] = 6, -9
    calls: list[dict[str, Any]] = [
        {"indices": bad},
        {"indices": bad[:, 1], "segment_ids": [1, 0, 1, 0]},
        {"indices": bad[:, 1], "offsets": [0, 3, 2]},
        {"indices": bad[:, 1], "offsets": [0, 5]},
        {"indices": bad[:, 0], "segment_ids": [0, 1, 9, 2], "num_segments": 3},
    ]
    for arguments in calls:
        with pytest.raises((OpIndexError, OpValueError)) as memory:
            gs.gather_reduce(data, **arguments)
        for chunks in (2, 6):
            with pytest.raises(type(memory.value)) as lazy:
                gs.gather_reduce(da.from_array(data, chunks=chunks), **arguments)
            assert str(lazy.value) == str(memory.value)
            assert lazy.value.positions == memory.value.positions
    with pytest.raises(OpIndexError, match=r"indices\[0, 0\] = 1 is out of range"):
        gs.gather_reduce(da.zeros((0, 2)), [[1]], mode="wrap")


@pytest.mark.parametrize("chunks", [3, 8])
def test_a_lazy_index_says_its_position_and_its_chunk(chunks: int) -> None:
    """The error names both, even if members were reordered or rechunked."""
    line = np.zeros(9, np.int64)
    line[5] = 12
    data, indices = da.zeros(8, chunks=chunks), da.from_array(line, chunks=4)
    text = r"gather_reduce: indices\[5\] = 12 is out of range for axis 0 .*\(valid: -8..7\), in chunk \(1,\) of the ind"
    for bags in ({"segment_ids": [2, 1, 0] * 3}, {"offsets": [0, 2, 7]}):
        made = gs.gather_reduce(data, indices, **bags)
        with pytest.raises(OpIndexError, match=text) as caught:
            made.compute()
        assert caught.value.positions == ((5,),)
        with pytest.raises(OpIndexError, match=r"indices\[5\] = 12 is out of range"):
            gsd.gather_reduce(data, indices, plan="eager", **bags)
    packed = da.from_array(line.reshape(3, 3), chunks=(2, 2))
    with pytest.raises(OpIndexError, match=r"indices\[1, 2\] = 12 .* in chunk \(0, 1\) of the indices"):
        gs.gather_reduce(data, packed).compute()


DATA = da.ones((3, 2), chunks=2)
LINE = da.from_array(np.array([0, 1]), chunks=1)


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ({"indices": LINE}, OpValueError, "define the bags in exactly one way"),
        ({"indices": [[0]], "offsets": [0]}, OpValueError, "given: indices of 2 dimensions and offsets"),
        ({"indices": LINE, "offsets": [0, 3]}, OpIndexError, "offsets[1] = 3 is out of range for 2 members"),
        ({"indices": LINE, "offsets": LINE + 1}, OpValueError, "offsets must begin with 0, not 1"),
        ({"indices": LINE, "offsets": LINE[:, None]}, OpValueError, "offsets must have one dimension"),
        ({"indices": LINE, "offsets": LINE * 1.0}, OpTypeError, "offsets must be integers"),
        ({"indices": LINE, "segment_ids": [0]}, OpValueError, "segment_ids has shape (1,), but must have (2,)"),
        ({"indices": LINE, "segment_ids": LINE - 1}, OpIndexError, "segment_ids[0] = -1 is out of range"),
        ({"indices": LINE, "segment_ids": LINE, "num_segments": -1}, OpValueError, "num_segments must be at least 0"),
        ({"indices": [[0]], "num_segments": 1}, OpValueError, "num_segments is allowed only with segment_ids"),
        ({"indices": LINE[0], "offsets": [0]}, OpValueError, "indices must have one dimension, not shape ()"),
        ({"indices": LINE, "offsets": [0], "weights": da.ones(3)}, OpValueError, "weights has shape (3,), but must"),
        ({"indices": [[0]], "weights": da.ones((1, 1)) * 1j}, OpTypeError, "weights of type complex128 can't be"),
        ({"indices": da.ones((2, 2))}, OpTypeError, "indices must be integers"),
        ({"indices": [[0]], "default": [1, 2, 3]}, OpValueError, "default must be a scalar"),
        ({"indices": [[0]], "default": da.ones(2)}, OpTypeError, "default is a Dask array, and this is not lazy"),
        ({"indices": [[0]], "reduction": "sub"}, OpValueError, "reduction must be one of 'add', 'mul'"),
        ({"indices": [[0]], "mode": "drop"}, OpValueError, "mode must be one of"),
        ({"indices": [[0]], "accumulate": "double"}, OpValueError, "accumulate must be one of"),
        ({"indices": [[0]], "plan": "maybe"}, OpValueError, "plan must be one of 'lazy', 'eager'"),
        ({"indices": [[0]], "out": np.zeros((1, 2))}, OpTypeError, "out can't be given with Dask arrays"),
        ({"indices": [[0]], "num_threads": 0}, OpValueError, "num_threads must be at least 1"),
        ({"data": da.ones(()), "indices": [[0]]}, OpValueError, "data must have at least one dimension"),
        ({"data": da.from_array(np.array(["a"])), "indices": [[0]]}, OpTypeError, "not defined for elements of type"),
        ({"data": DATA[DATA[:, 0] > 0], "indices": [[0]]}, OpValueError, "data has chunks of unknown sizes"),
    ],
)
def test_mistakes_are_found_at_once(arguments: dict[str, Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        gsd.gather_reduce(**({"data": DATA} | arguments))
    assert text in str(caught.value)


# ------------------------------------------------------------------------------------------------------- memory


PEAK = """
import resource, sys
import dask, dask.array as da, numpy as np, gatherscatter as gs
gs.set_pool_limit(0)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
rows_in_chunk, chunk_size = eval(sys.argv[1])
data = da.ones((20_000, 128), chunks=(rows_in_chunk, 128), dtype=np.float32)
indices = np.random.default_rng(0).integers(0, 20_000, 400_000)
def run(count):
    made = gs.gather_reduce(data, indices[: 32 * count], offsets=np.arange(0, 32 * count, 32))
    made.sum().compute(scheduler="synchronous")
with dask.config.set({"array.chunk-size": chunk_size}):
    run(10)
    before = peak()
    run(12_500)
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is counted in other units elsewhere")
@pytest.mark.parametrize("rows_and_limit", ["(20_000, '8MiB')", "(5_000, '16MiB')"])
def test_gathered_rows_are_not_stored(rows_and_limit: str) -> None:
    """They would take 205 MB. The data takes 10 MB, and a copy of it in one chunk takes as much."""
    done = subprocess.run([sys.executable, "-c", PEAK, rows_and_limit], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 64 << 20


# -------------------------------------------------------------------------------------------------- distributed


@pytest.mark.parametrize("chunks", [17, (40, 17)])
def test_workers_give_the_bits_of_one_call(client: Any, chunks: Any) -> None:
    data, line, weights = table(40, 30), positions(200, below=40), table(200)
    arrays = [da.from_array(data, chunks=chunks), *(da.from_array(array, chunks=60) for array in (line, weights))]
    for bags in ({"offsets": np.arange(0, 200, 7)}, {"segment_ids": positions(200, below=9) + 9}):
        expected = gs.gather_reduce(data, line, weights=weights, reduction="mean", **bags)
        lazy_bags = {name: da.from_array(array, chunks=50) for name, array in bags.items()}
        result = gs.gather_reduce(*arrays[:2], weights=arrays[2], reduction="mean", **lazy_bags)
        assert result.compute().tobytes() == expected.tobytes()
    line = line.copy()
    line[150] = 40
    with pytest.raises(OpIndexError, match=r"indices\[150\] = 40 .* in chunk \(2,\)") as caught:
        gs.gather_reduce(arrays[0], da.from_array(line, chunks=60), offsets=[0, 9]).compute()
    assert caught.value.positions == ((150,),)


def test_indices_of_skipped_members_are_checked() -> None:
    data, indices = da.from_array(np.ones((7, 2)), chunks=(3, 2)), da.from_array(np.array([8, 6]), chunks=1)
    with pytest.raises(gs.OpIndexError, match=r"indices\[0\] = 8"):
        gs.gather_reduce(data, indices, segment_ids=np.array([-1, 0]), num_segments=1, negative="skip").compute()

"""gatherscatter.dask in Dask itself: values, errors, chunks and graphs, for any chunks and any scheduler."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given, settings
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
exchange: Any = pytest.importorskip("gatherscatter.dask.exchange")
pass_on: Any = pytest.importorskip("gatherscatter.dask.tasks").pass_on

SCHEDULERS = ("synchronous", "threads")


def chunked(c: Choices, array: np.ndarray) -> Any:
    """Return a Dask array in chunks of random sizes, including empty ones."""
    chunks = []
    for length in array.shape:
        cuts = sorted(c.integer(0, length) for _ in range(c.pick((1, 2, 0, 3))))
        chunks.append(tuple(np.diff([0, *cuts, length]).tolist()))
    return da.from_array(array, chunks=tuple(chunks))


def blocks_and_shapes(array: Any, scheduler: str) -> Any:
    """Return each computed chunk with its expected shape."""
    shapes = itertools.product(*array.chunks)
    return zip(dask.compute(*array.to_delayed().flat, scheduler=scheduler), shapes, strict=True)


@pytest.mark.parametrize("in_two_steps", [False, True])
@pytest.mark.parametrize("kernel", random_calls.ARRAY_KERNELS)
@given(data=st.data())
def test_random_calls(kernel: str, in_two_steps: bool, data: Any) -> None:
    """Check all modes, reductions, index and element types against the oracle, with any of the arrays in chunks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "is_worth_two_steps", lambda *facts: in_two_steps)  # even if there are few
        _check_random_call(kernel, data)


def _check_random_call(kernel: str, data: Any) -> None:
    c = HypothesisChoices(data.draw)
    many = c.pick((False, False, True))
    inputs, keywords = random_calls.array_call(
        c, kernel, random_calls.FIXED if many else random_calls.EVERY_FORM, many=many
    )
    assume(inputs[0].dtype.kind not in "US" or keywords.get("reduction", "none") == "none")  # see test_text
    assume(inputs[0].dtype.kind != "O" or keywords["mode"] != "fill")  # refused
    lazy = c.integer(1, 2 ** len(inputs) - 1)  # one bit for each array
    arrays = [chunked(c, array) if lazy & 1 << n else array for n, array in enumerate(inputs)]
    plan = c.pick(gsd.inputs.PLANS)
    scheduler = c.pick(SCHEDULERS)
    expected = judge.outcome(oracle.array_call, kernel, *inputs, **keywords)

    def compute() -> np.ndarray:
        with dask.config.set(scheduler=scheduler):
            made = getattr(gsd, kernel)(*arrays, **keywords, plan=plan)
            result = made.compute()
        assert made.dtype == result.dtype
        assert made.shape == result.shape
        assert all(block.shape == size for block, size in blocks_and_shapes(made, scheduler))
        return result

    result = judge.outcome(compute)
    if isinstance(expected, IndexError) and lazy & 2:
        check_bad_chunk(result, inputs[1])
        return
    judge._compare(result, expected, kernel, inputs, keywords)


def check_bad_chunk(error: Any, indices: np.ndarray) -> None:
    """Check the error for bad indices in the chunk that was examined first."""
    assert isinstance(error, OpIndexError), error
    low, high = error.allowed
    for position, value in zip(error.positions, error.values, strict=True):
        assert indices[position] == value
        assert not low <= value <= high


@pytest.mark.parametrize("mode", ["linear", "circular"])
@given(data=st.data())
def test_random_tensor_scatters(mode: str, data: Any) -> None:
    c = HypothesisChoices(data.draw)
    traits = random_calls.Traits("tensor_scatter", c.pick(("float32", "int8")), c.pick(oracle.INTEGERS), mode=mode)
    inputs, keywords = random_calls.kernel_call(c, traits)
    lazy = c.integer(1, 2 ** len(inputs) - 1)
    arrays = [chunked(c, array) if lazy & 1 << n else array for n, array in enumerate(inputs)]
    plan = c.pick(gsd.inputs.PLANS)
    write = inputs[2] if len(inputs) == 3 else None
    expected = judge.outcome(oracle.tensor_scatter, *inputs[:2], write, keywords["axis"], mode)
    result = judge.outcome(
        lambda: gsd.tensor_scatter(*arrays, **keywords, mode=mode, plan=plan).compute(scheduler="synchronous")
    )
    if isinstance(expected, IndexError) and lazy & 4:
        assert isinstance(result, OpIndexError), result
        assert [write[position] for position in result.positions] == list(result.values)
        return
    judge._compare(result, expected, "tensor_scatter", inputs, keywords)


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def positions(*shape: int, below: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-below, below, shape)


def tasks(array: Any, *sources: Any) -> int:
    """Return the number of tasks that a call added to those of its arrays."""
    return len(dict(array.__dask_graph__())) - sum(len(dict(source.__dask_graph__())) for source in sources)


NOT_LAZY = ("gather_tree", "gather_reduce", "gather_quantized")  # the operators refuse Dask's arrays
VERSIONS = [row for row in oracle.ROWS.values() if row.kernel not in NOT_LAZY]


@pytest.mark.filterwarnings("ignore:onnx.Scatter-11 is deprecated")
@pytest.mark.parametrize("row", VERSIONS, ids=lambda row: row.name)
@settings(max_examples=20)
@given(data=st.data())
def test_random_calls_of_versions(row: oracle.OracleRow, data: Any) -> None:
    """Check types, attributes, ranges and results of the specification, with any of the arrays in chunks."""
    c = HypothesisChoices(data.draw)
    inputs, attributes = random_calls.version_call(c, row)
    lazy = c.integer(1, 7)
    assume(all(array.dtype.kind not in "OUS" for array in inputs))
    arrays = [chunked(c, array) if lazy & 1 << n and n < 3 else array for n, array in enumerate(inputs)]
    if "axis" in row.inputs:  # the graph depends on the axis
        at = row.inputs.index("axis")
        arrays[at:] = inputs[at:]
    assume(any(isinstance(array, da.Array) for array in arrays))
    expected = judge.outcome(oracle.call, row.name, *inputs, **attributes)

    def compute() -> np.ndarray:
        with dask.config.set(scheduler="synchronous"):
            return gs.op(row.name)(*arrays, **attributes).compute()

    result = judge.outcome(compute)
    if isinstance(expected, IndexError) and lazy & 2 and row.kernel != "tensor_scatter":
        check_bad_chunk(result, inputs[1])
    elif isinstance(expected, Exception):
        judge.check_error(result, row.name, expected)
    else:
        oracle.assert_same(result, expected, inputs[0], attributes.get("reduction") not in ("min", "max"))


# ------------------------------------------------------------------------------------------------------- chunks


def test_a_gather_has_the_chunks_of_data_and_of_the_indices() -> None:
    data = da.from_array(numbers(6, 8, 10), chunks=((4, 2), (3, 5), (1, 9)))
    rows = da.from_array(positions(7, 4, below=8), chunks=((5, 2), 4))
    assert gs.gather(data, rows, 1).chunks == ((4, 2), (5, 2), (4,), (1, 9))
    assert gs.gather(data, rows.compute(), 1).chunks == ((4, 2), (7,), (4,), (1, 9))
    tuples = da.from_array(positions(9, 2, below=6), chunks=((4, 5), 1))
    assert gs.gather_nd(data, tuples).chunks == ((4, 5), (1, 9))
    box = da.from_array(positions(5, 20, 10, below=8), chunks=(5, 6, 10))
    assert gs.gather_elements(data, box, 1).chunks == ((4, 1), (6, 6, 6, 2), (1, 9))
    batches = da.from_array(positions(6, 8, 3, below=10), chunks=2)
    assert gs.gather(data, batches, 2, batch_dims=2).chunks == ((4, 2), (3, 5), (2, 1))
    assert gs.gather(data, batches[:, 0], 2, batch_dims=1).chunks == ((4, 2), (3, 5), (2, 1))


def test_known_indices_give_chunks_of_the_configured_size() -> None:
    data = da.zeros((100, 100), chunks=50)
    with dask.config.set({"array.chunk-size": "40kB"}):
        chunks = gs.gather(data, positions(1000, below=100)).chunks
    assert chunks == ((100,) * 10, (50, 50))


def test_a_scatter_has_the_chunks_and_the_type_of_data() -> None:
    data = da.from_array(numbers(6, 8), chunks=((4, 2), (3, 5)))
    result = gs.scatter_nd(data, positions(9, 2, below=6), da.ones(9, chunks=2), reduction="mean")
    assert result.chunks == data.chunks
    assert result.dtype == np.float32 == result.compute().dtype
    assert type(result._meta) is np.ndarray


# -------------------------------------------------------------------------------------------------- task counts


@pytest.fixture
def hundred() -> Any:
    return da.zeros((100, 100), chunks=10, dtype=np.float32)


def test_tasks_of_known_indices(hundred: Any) -> None:
    everywhere = np.argwhere(np.ones((100, 100), bool))
    ones = np.ones(len(everywhere), np.float32)
    assert tasks(gs.scatter_nd(hundred, everywhere, ones, reduction="add")) <= 300
    one = gs.scatter_nd(hundred, everywhere[:5], ones[:5])
    assert tasks(one) == 200
    assert sum(getattr(task, "func", None) is pass_on for task in dict(one.__dask_graph__()).values()) == 99
    assert tasks(gs.scatter_nd(hundred, everywhere, da.from_array(ones, chunks=5000))) <= 306
    assert tasks(gs.gather_nd(hundred, everywhere[::2]), hundred) == 101
    assert tasks(gs.gather_nd(hundred, everywhere), hundred) == 1  # all data is no larger than the result
    assert tasks(gs.gather_nd(hundred, everywhere[:5]), hundred) == 1
    assert tasks(gs.gather(hundred, positions(50, below=100)), hundred) <= 110
    assert tasks(gs.scatter_update(hundred, [0, 99], numbers(2, 100)), hundred) == 100


def test_tasks_of_lazy_indices(hundred: Any) -> None:
    tuples = da.from_array(np.sort(positions(1000, 2, below=100) % 100, axis=0), chunks=(100, 2))
    updates = da.ones(1000, chunks=100, dtype=np.float32)
    every = gs.scatter_nd(hundred, tuples, updates)
    routed, sent, collected, received, applied = 10, 10 * 10, 10, 100, 100
    assert tasks(every, hundred, tuples, updates) == routed + sent + collected + received + applied
    sent, collected, received, assembled = 100 * 3, 3, 10, 10  # the 10 chunks of output in groups of 4
    assert tasks(gs.gather_nd(hundred, tuples), hundred, tuples) == routed + sent + collected + received + assembled
    needed = gsd.scatter_nd(hundred, tuples, updates, plan="eager")
    met = sum(len(np.unique(block // 10, axis=0)) for block in np.split(tuples.compute(), 10))
    assert tasks(needed, hundred, tuples, updates) == 10 + met + 100
    assert np.array_equal(needed.compute(), every.compute())


def test_large_pieces_move_once() -> None:
    data, rows = da.zeros((100, 1 << 22), chunks=(1, -1)), da.from_array(positions(100, below=100), chunks=10)
    updates = da.ones((100, 1 << 22), chunks=(10, -1))
    assert tasks(gs.scatter_update(data, rows, updates), data, rows, updates) == 10 + 10 * 100 + 100


def test_two_steps_keep_the_order(hundred: Any) -> None:
    tuples = da.from_array(positions(1000, 2, below=100), chunks=(100, 2))
    updates = da.from_array(numbers(1000), chunks=100)
    result = gs.scatter_nd(hundred, tuples % 7, updates, reduction="add")
    expected = gs.scatter_nd(hundred.compute(), tuples.compute() % 7, updates.compute(), reduction="add")
    assert any(str(key[0]).startswith("collect-") for key in result.dask)
    assert result.compute().tobytes() == expected.tobytes()


def test_elements_meet_only_in_line(hundred: Any) -> None:
    box = da.from_array(positions(30, 100, below=100), chunks=(15, 10))
    assert tasks(gs.gather_elements(hundred, box), hundred, box) == (2 * 10) * (1 + 10 + 1)


def test_without_chunks_along_the_axis_a_task_is_a_call() -> None:
    data = da.zeros((100, 100), chunks=(10, 100))
    box = da.from_array(positions(100, 100, below=100), chunks=(10, 100))
    assert tasks(gs.scatter_elements(data, box, box.astype(float), 1), data, box) == 10 + 10


def test_untouched_chunks_are_passed_by_reference() -> None:
    data = da.from_array(numbers(40), chunks=10).persist(scheduler="synchronous")
    result = gs.scatter_update(data, [15], np.zeros(1, np.float32)).persist(scheduler="synchronous")
    given, made = (dict(array.__dask_graph__()) for array in (data, result))
    same = [made[(result.name, n)] is given[(data.name, n)] for n in range(4)]
    assert same == [True, False, True, True]


# ------------------------------------------------------------------------------------------------------- values


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("reduction", oracle.REDUCTIONS)
def test_every_chunking_gives_the_bits_of_one_call(reduction: str, scheduler: str) -> None:
    """Rounded floats with many duplicates in chunks along two directions: the bits depend on the order of the sums."""
    data, updates, tuples = numbers(30, 20), numbers(60, 50, seed=1), positions(60, 50, 2, below=20)
    expected = gs.scatter_nd(data, tuples, updates, reduction=reduction)
    for step in (7, 13, 60):
        arrays = (da.from_array(array, chunks=step) for array in (data, tuples, updates))
        result = gs.scatter_nd(*arrays, reduction=reduction).compute(scheduler=scheduler)
        assert result.tobytes() == expected.tobytes()


def test_text() -> None:
    words = np.array(["a", "bc", "", "d"], np.dtypes.StringDType())
    data = da.from_array(words, chunks=3)
    assert gs.gather(data, [3, 1]).compute().tolist() == ["d", "bc"]
    assert gs.scatter_update(data, [3, 3], ["x", "y"], reduction="add").compute().tolist() == ["a", "bc", "", "dxy"]
    short = da.from_array(np.array(["a", "b", "c"]), chunks=2)
    result = gs.scatter_update(short, [2], np.array(["long"]))
    assert result.dtype == result.compute().dtype == np.dtype("<U4")
    assert result.compute().tolist() == ["a", "b", "long"]
    with pytest.raises(OpTypeError, match="can't be concatenated lazily"):
        gs.scatter_update(short, [2], np.array(["long"]), reduction="add")


def test_updates_are_cast_as_in_memory() -> None:
    data = da.zeros(4, chunks=2, dtype=np.float32)
    assert gs.scatter_update(data, [3], da.ones(1, dtype=int)).compute().tolist() == [0, 0, 0, 1]
    with pytest.raises(OpTypeError, match="updates of type float64 can't be stored in data of type int64"):
        gs.scatter_update(da.zeros(4, dtype=int), [3], da.ones(1))
    with pytest.raises(OpValueError, match="updates\\[0\\] = 300 does not fit in data of type int8"):
        gs.scatter_update(da.zeros(4, dtype=np.int8), [3], da.full(1, 300)).compute()


def test_the_caller_may_change_its_arrays_afterwards() -> None:
    buffer, rows, data = np.ones(2), np.array([[0], [1]]), da.zeros(4, chunks=2)
    for number in range(3):
        buffer[:] = number + 1
        data = gs.scatter_nd(data, rows, buffer, reduction="add")
    buffer[:], rows[:] = 9, 3
    assert data.compute().tolist() == [6, 6, 0, 0]
    taken = gs.gather(da.arange(4), rows[:, 0])
    rows[:] = 0
    assert taken.compute().tolist() == [3, 3]


def test_text_of_other_widths() -> None:
    short = da.from_array(np.array(["a", "b"]), chunks=1)
    made = gs.scatter_nd(short, [[0]], np.array(["longer"], object))
    assert made.dtype == made.compute().dtype == np.dtype("<U6")
    with pytest.raises(OpTypeError, match="updates of type object have no known width"):
        gs.scatter_nd(short, [[0]], da.from_array(np.array(["longer"], object), chunks=1))


def test_objects_are_not_filled() -> None:
    with pytest.raises(OpTypeError, match="the value of 'fill' is not known before objects are computed"):
        gs.gather(da.from_array(np.array([1, "a"], object), chunks=1), [9], mode="fill")


def test_versions_with_shapes_of_their_own() -> None:
    data = da.zeros((2, 3), chunks=1)
    for updates in ([5.0], [[5.0]], da.ones((1, 1)) * 5, da.full((1,), 5.0, chunks=((0, 1),))):
        assert gs.openvino.ScatterNDUpdate(data, np.array([1, 2]), updates).compute()[1, 2] == 5
    empty, tuples = np.zeros((0, 3, 4, 5)), np.zeros((0, 3, 2, 1), int)
    memory = gs.op("openvino.GatherND-5")(empty, tuples, batch_dims=2)
    lazy = gs.op("openvino.GatherND-5")(da.from_array(empty, chunks=2), tuples, batch_dims=2)
    assert lazy.compute().shape == memory.shape
    cut = da.from_array(np.arange(8).reshape(2, 2, 2), chunks=((0, 2), (1, 0, 1), (2,)))
    fused = gs.op("openvino.GatherND-5")(cut, np.zeros((2, 2, 0), int), batch_dims=2)
    assert fused.compute().tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_what_is_collected_is_bounded() -> None:
    assert exchange.group_size(100, 1) == 10
    assert exchange.group_size(1_000_000, 10**13) == 13
    assert exchange.group_size(10, 10**12) == 1


def test_names_are_the_same_for_the_same_call() -> None:
    data = da.ones(9, chunks=2)
    assert gs.gather(data, [1]).name == gs.gather(data, [1]).name != gs.gather(data, [2]).name


def test_other_chunks_have_other_names() -> None:
    data, rows = da.arange(1000, chunks=100), np.arange(1000)[::-1]
    whole = gs.gather(data, rows)
    with dask.config.set({"array.chunk-size": "800B"}):
        cut = gs.gather(data, rows)
    assert da.concatenate([whole, cut]).compute().tolist() == 2 * rows.tolist()


# ------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("bad", [[-7, 0], [0, 8], [-7, 9]])
def test_known_indices_raise_at_once_what_memory_raises(bad: list[int]) -> None:
    array, tuples = numbers(6, 8), np.array([[1, 2], bad])
    with pytest.raises(OpIndexError) as memory:
        gs.gather_nd(array, tuples)
    with pytest.raises(OpIndexError) as lazy:
        gs.gather_nd(da.from_array(array, chunks=3), tuples)
    assert str(lazy.value) == str(memory.value)


def test_versions_without_negative_indices() -> None:
    for indices in (np.array([-1]), da.from_array(np.array([-1]))):
        with pytest.raises(OpIndexError, match=r"openvino.GatherElements-6: indices\[0\] = -1 .*valid: 0..2"):
            gs.openvino.GatherElements(da.ones(3, chunks=2), indices, axis=0).compute()


LAZY_FAULT = (
    r"scatter_nd: indices\[5, 0\] = 12 is out of range for axis 0 of data with size 8 \(valid: -8..7\), "
    r"in chunk \(1,\) of the indices"
)


def faulty() -> tuple[Any, Any, Any]:
    tuples = np.zeros((9, 1), np.int64)
    tuples[5] = 12
    return da.zeros(8, chunks=3), da.from_array(tuples, chunks=4), da.ones(9, chunks=4)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_lazy_index_says_op_position_and_chunk(scheduler: str) -> None:
    made = gs.scatter_nd(*faulty())
    with pytest.raises(OpIndexError, match=LAZY_FAULT) as caught:
        made.compute(scheduler=scheduler)
    error = caught.value
    assert (error.op, error.positions, error.values, error.allowed) == ("scatter_nd", ((5, 0),), (12,), (-8, 7))


def test_an_eager_plan_raises_at_once() -> None:
    with pytest.raises(OpIndexError, match=LAZY_FAULT):
        gsd.scatter_nd(*faulty(), plan="eager")
    rows = da.from_array(np.array([0, 5]), chunks=1)
    with pytest.raises(OpIndexError, match=r"indices\[1\] = 5 .*in chunk \(1,\)"):
        gsd.gather(da.zeros(4), rows, plan="eager")


def test_a_lazy_window_that_does_not_fit() -> None:
    window = da.from_array(np.array([0, 1, 2]), chunks=(2, 1))
    made = gs.tensor_scatter(da.zeros((3, 4, 1), chunks=(2, 4, 1)), np.ones((3, 3, 1)), window)
    text = r"write_indices\[2\] = 2 is out of range .*in chunk \(1,\) of write_indices"
    with pytest.raises(OpIndexError, match=text) as caught:
        made.compute()
    assert caught.value.positions == ((2,),)


def unknown() -> Any:
    data = da.arange(6, chunks=3)
    return data[data > 2]


REFUSED: dict[str, Any] = {
    "data has chunks of unknown sizes; call data.compute_chunk_sizes() first": lambda: gs.gather(unknown(), [0]),
    "indices has chunks of unknown sizes": lambda: gs.gather(np.ones(9), unknown()),
    "out can't be given with Dask arrays": lambda: gs.gather(da.ones(3), [0], out=np.ones(1)),
    "plan must be one of 'lazy', 'eager', not 'maybe'": lambda: gsd.gather(da.ones(3), [0], plan="maybe"),
    "indices must be integers, not float64": lambda: gs.gather(da.ones(3), da.ones(3)),
    "updates has shape (2,), but must have (1,)": lambda: gs.scatter_update(da.ones(3), [0], da.ones(2)),
    "axis 2 is out of range": lambda: gs.gather(da.ones(3), [0], 2),
    "mode must be one of": lambda: gs.gather(da.ones(3), [0], mode="drop"),
    "reduction 'mul' is not defined": lambda: gs.scatter_update(
        da.zeros(3, dtype="M8[s]"), [0], np.zeros(1, "M8[s]"), reduction="mul"
    ),
    "not of plain NumPy arrays": lambda: gs.gather(da.ma.masked_equal(da.ones(3), 1), [0]),
    "data is a Dask array, but indices is an array with __dlpack__": lambda: gs.gather(da.ones(3), Foreign()),
    "step_ids is a Dask array, and this is not lazy; use .compute()": lambda: gs.gather_tree(da.ones(3), [0], [0], 0),
    "openvino.GatherTree-1 is not lazy": lambda: gs.openvino.GatherTree(da.ones((1, 1, 1)), [[[0]]], [1], 0),
    "axis is a Dask array, but the graph depends on": lambda: gs.openvino.Gather(
        da.ones(3), [0], da.zeros(1, dtype=int)
    ),
    "data can't be of type int4": lambda: gs.onnx.Gather(da.zeros(3, dtype=ml_dtypes.int4), [0]),
    "onnx.ScatterND-13 has no attribute 'reduction'": lambda: gs.op("onnx.ScatterND-13")(
        da.ones(3), [[0]], np.ones(1), reduction="add"
    ),
    "num_threads must be at least 1": lambda: gs.gather(da.ones(3), [0], num_threads=0),
}


class Foreign:
    def __dlpack__(self, **options: Any) -> Any:
        return np.zeros(1, int).__dlpack__(**options)


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused_at_once(text: str) -> None:
    with pytest.raises((OpTypeError, OpValueError)) as caught:
        REFUSED[text]()
    assert text in str(caught.value)


# -------------------------------------------------------------------------------------------------- distributed


@pytest.mark.parametrize("plan", ["lazy", "eager"])
@pytest.mark.parametrize("reduction", ["none", "add", "mean"])
def test_workers_give_the_bits_of_one_call(client: Any, reduction: str, plan: str) -> None:
    data, updates, rows = numbers(40, 30), numbers(200, 30, seed=1), positions(200, below=40)
    expected = gs.scatter_update(data, rows, updates, reduction=reduction)
    arrays = [da.from_array(array, chunks=17) for array in (data, rows, updates)]
    result = gsd.scatter_update(*arrays, reduction=reduction, plan=plan).compute()
    assert result.tobytes() == expected.tobytes()
    assert gs.scatter_update(arrays[0], rows, updates, reduction=reduction).compute().tobytes() == expected.tobytes()
    assert np.array_equal(gsd.gather(arrays[0], arrays[1], plan=plan).compute(), gs.gather(data, rows))


def test_an_error_of_a_worker_arrives_whole(client: Any) -> None:
    with pytest.raises(OpIndexError, match=LAZY_FAULT) as caught:
        gs.scatter_nd(*faulty()).compute()
    assert caught.value.positions == ((5, 0),)


@pytest.mark.parametrize(
    ("values", "options", "bad"),
    [
        ([-1, 7, 0, -1], {"negative": "skip"}, r"indices\[1\] = 7"),
        ([7, -1, 0, 1], {"negative": "error", "mode": "wrap"}, r"indices\[1\] = -1"),
        ([7, -1, 0, 1], {"negative": "error", "mode": "fill"}, r"indices\[1\] = -1"),
    ],
)
def test_errors_name_the_lazy_index_that_is_refused(values: list[int], options: dict[str, str], bad: str) -> None:
    data = da.from_array(np.arange(10.0).reshape(5, 2), chunks=(2, 2))
    with pytest.raises(gs.OpIndexError, match=bad):
        gs.gather(data, da.from_array(np.array(values), chunks=2), **options).compute()

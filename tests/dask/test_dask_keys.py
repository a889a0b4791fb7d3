"""A key means the same task in all graphs, before and after Dask's optimizations."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs

dask: Any = pytest.importorskip("dask")
da: Any = pytest.importorskip("dask.array")
gsd: Any = pytest.importorskip("gatherscatter.dask")
convert_legacy_graph: Any = pytest.importorskip("dask._task_spec").convert_legacy_graph
HighLevelGraph: Any = pytest.importorskip("dask.highlevelgraph").HighLevelGraph

Arrays = dict[str, Any]
Operation = Callable[[Any, Any, Arrays], Any]
Consumer = Callable[[Any, Any, int], Any]

SHAPE = (12, 4, 6)
RANDOM = np.random.default_rng(0)


def numbers(*shape: int) -> np.ndarray:
    """Return whole numbers, whose sums are exact in any order."""
    return RANDOM.integers(-9, 9, shape).astype(np.float64)


def below(bound: Any, *shape: int) -> np.ndarray:
    return RANDOM.integers(0, bound, shape)


DATA: Arrays = {
    "x": numbers(*SHAPE),
    "y": numbers(*SHAPE),
    "tall": numbers(*SHAPE),
    "table": numbers(24),
    "words": np.array(["a", "b", "c", "d"]),
}
OTHERS: Arrays = {
    "small": below(9, *SHAPE).astype(np.int16),
    "rows": below(12, 12),
    "few": below(4, 3),
    "few_updates": numbers(3, 4, 6),
    "columns": below(6, 6),
    "batches": below(6, 12, 6),
    "elements": below(4, *SHAPE),
    "few_elements": below(12, 12, 2, 6),
    "tuples": below(SHAPE[:2], 12, 4, 2),
    "batch_tuples": below(4, 12, 4, 1),
    "two_batch_tuples": below(6, 12, 4, 6, 1),
    "numbers": below(48, 12, 4),
    "number": np.array([3, 1, 2]),
    "one": numbers(1, 1),
    "line": below(12, 30),
    "packed": below(12, 12, 3),
    "weights": numbers(30),
    "update": numbers(12, 2, 6),
    "window": below(3, 12),
}
ARRAYS = DATA | OTHERS
CHUNKS: dict[str, Any] = {
    "x": (5, 2, 3),
    "y": SHAPE,
    "tall": (12, 2, 3),
    "table": 4,
    "two_batch_tuples": (7, 3, 6, 1),
    "window": 5,
}
STARTS = np.arange(0, 30, 2.5).astype(int)
SEGMENTS = below(12, 30)

# Their results have the shape of x and y.
OPERATIONS: list[Operation] = [
    lambda x, y, a: gs.gather(x, a["rows"]),
    lambda x, y, a: gs.gather(x, a["columns"], 2),
    lambda x, y, a: gs.gather(x, a["batches"], 2, batch_dims=1),
    lambda x, y, a: gs.gather(gs.gather(x, a["rows"]) - 1, a["rows"]),
    lambda x, y, a: gs.gather_elements(x, a["elements"], 1),
    lambda x, y, a: gs.gather_elements(a["tall"], a["elements"]),
    lambda x, y, a: gs.gather_nd(x, a["tuples"]),
    lambda x, y, a: gs.gather_nd(x, a["batch_tuples"], batch_dims=1),
    lambda x, y, a: gs.scatter_update(x, a["rows"], y, reduction="add"),
    lambda x, y, a: gs.scatter_update(x, a["few"], a["few_updates"], mode="wrap"),
    lambda x, y, a: gs.scatter_update(x, a["columns"], a["small"], 2, reduction="max"),
    lambda x, y, a: gs.scatter_update(x, np.arange(12) % 5, a["tall"], reduction="add"),
    lambda x, y, a: gs.scatter_elements(x, a["elements"], y, 1, reduction="mean"),
    lambda x, y, a: gs.scatter_elements(a["tall"], a["few_elements"], a["update"], reduction="add"),
    lambda x, y, a: gs.scatter_nd(x, a["tuples"], y, reduction="min"),
    lambda x, y, a: gs.tensor_scatter(x, a["update"], a["window"], axis=1),
    lambda x, y, a: gs.gather_reduce(x, a["packed"]),
    lambda x, y, a: gs.gather_reduce(x, a["line"], offsets=STARTS, weights=a["weights"]),
    lambda x, y, a: gs.gather_reduce(x, a["line"], segment_ids=SEGMENTS, num_segments=12, reduction="max"),
    lambda x, y, a: gs.gather_reduce(x, indptr=np.arange(13), reduction="mean"),
    lambda x, y, a: gs.onnx.ScatterND(x, a["tuples"], y, reduction="add"),
    lambda x, y, a: gs.onnx.GatherElements(x, a["elements"], axis=1),
    lambda x, y, a: gs.onnx.TensorScatter(x, a["update"], a["window"], axis=1),
    lambda x, y, a: gs.openvino.ScatterNDUpdate(x, a["number"], a["one"]),
    lambda x, y, a: gs.gather(gs.op("openvino.GatherND-5")(x, a["two_batch_tuples"], batch_dims=2), a["numbers"]),
    lambda x, y, a: gs.openvino.EmbeddingSegmentsSum(x, a["line"], np.sort(SEGMENTS), np.int64(12), np.int64(5)),
]

# Their results have other shapes, or they are only for Dask.
OTHER_OPERATIONS: list[Operation] = [
    lambda x, y, a: gsd.gather(x, a["few"], plan="eager"),
    lambda x, y, a: gsd.scatter_update(x, a["few"], a["few_updates"], plan="eager"),
    lambda x, y, a: gs.scatter_update(a["words"], a["few"], np.array(["long"] * 3)),
    lambda x, y, a: gs.openvino.EmbeddingSegmentsSum(
        a["table"], np.array([1, 2]), np.array([0, 2]), np.int64(3), np.int64(20)
    ),
]

# Each has a separate number. So no two of them share a task of Dask, which Dask could fuse in one of them only.
CONSUMERS: list[Consumer] = [
    lambda x, y, n: (x + n).min(axis=1),
    lambda x, y, n: (x * n)[2:7, ::2] - 1,
    lambda x, y, n: np.concatenate([x + n, y - n])[9:15],
    lambda x, y, n: (x + n).T * 2,
    lambda x, y, n: x * n + y * n,
    lambda x, y, n: (x - n).reshape(48, 6).max(),
]


def make_lazy(name: str) -> Any:
    array = ARRAYS[name]
    return da.from_array(array, chunks=CHUNKS.get(name, tuple(-(-n // 2) for n in array.shape)))


# -------------------------------------------------------------------------------------------- without a cluster


def find_tasks(*arrays: Any) -> dict[Any, Any]:
    """Return the tasks, after Dask's optimizations, of arrays that are computed together."""
    graph = HighLevelGraph.merge(*(array.dask for array in arrays))
    return convert_legacy_graph(da.optimize(graph, [array.__dask_keys__() for array in arrays]))


def check_tasks(*graphs: dict[Any, Any]) -> None:
    known: dict[Any, Any] = {}
    for graph in graphs:
        for key, task in graph.items():
            assert known.setdefault(key, task).dependencies == task.dependencies
            assert known[key] == task


@pytest.mark.parametrize("names", [ARRAYS, DATA], ids=["all lazy", "lazy data"])
@pytest.mark.parametrize("operation", OPERATIONS + OTHER_OPERATIONS)
def test_a_task_does_not_depend_on_the_rest_of_the_graph(operation: Operation, names: Arrays) -> None:
    arrays = ARRAYS | {name: make_lazy(name) for name in names}
    made = operation(arrays["x"], arrays["y"], arrays)
    with dask.config.set({"array.rechunk.method": "p2p", "array.rechunk.threshold": 1, "array.chunk-size": "1KiB"}):
        again = operation(arrays["x"], arrays["y"], arrays)
    sources = [arrays[name] for name in names]
    with dask.config.set({"optimization.fuse.active": False}):
        unfused = find_tasks(made)
    check_tasks(
        unfused,
        find_tasks(made),
        find_tasks(made, *sources),
        find_tasks(again),
        find_tasks(again, *sources),
        find_tasks(made + made.dtype.type(1)),
        find_tasks(made + made.dtype.type(1), made[1:]),
        find_tasks(dask.optimize(made)[0]),
    )


def test_the_caller_can_move_axes_and_rechunk_in_the_same_way() -> None:
    x, y = make_lazy("x"), make_lazy("y")
    gathered = gs.gather(x, make_lazy("batches"), 2, batch_dims=1)
    scattered = gs.scatter_nd(x, make_lazy("tuples"), y)
    for own, made in ((da.moveaxis(x, 2, 1), gathered), (y.rechunk((12, 4, 3)), scattered)):
        assert any(own.name in name for name in made.dask.layers)
        check_tasks(find_tasks(own), find_tasks(made))


# ------------------------------------------------------------------------------------------------- on a cluster


class Program:
    """Operations on earlier results. NumPy computes them once. Dask can build them any number of times."""

    def __init__(self, choices: random.Random) -> None:
        self._choices = choices
        self._steps: list[tuple[Operation, int, int, set[str]]] = []
        self.expected = [ARRAYS["x"], ARRAYS["y"]]
        self.made = self.build()

    def add_operation(self) -> None:
        first, second = (self._choices.randrange(len(self.made)) for _ in range(2))
        lazy = {name for name in ARRAYS if name in DATA or self._choices.random() < 0.7}
        step = self._choices.choice(OPERATIONS), first, second, lazy
        self._steps.append(step)
        self.expected.append(step[0](self.expected[first], self.expected[second], ARRAYS))
        self.made.append(self._build_step(step, self.made))

    def build(self) -> list[Any]:
        made = [make_lazy("x"), make_lazy("y")]
        for step in self._steps:
            made.append(self._build_step(step, made))
        return made

    @staticmethod
    def _build_step(step: tuple[Operation, int, int, set[str]], made: list[Any]) -> Any:
        operation, first, second, lazy = step
        return operation(made[first], made[second], ARRAYS | {name: make_lazy(name) for name in lazy})

    def choose_results(self) -> list[tuple[Any, np.ndarray]]:
        """Choose results and consumers of results. Return each with its expected values."""
        chosen = []
        for _ in range(3):
            first, second = (self._choices.randrange(len(self.made)) for _ in range(2))
            chosen.append((self.made[first], self.expected[first]))
            consume, number = self._choices.choice(CONSUMERS), self._choices.randrange(2, 10**9)
            made, expected = (consume(each[first], each[second], number) for each in (self.made, self.expected))
            chosen.append((made, expected))
        return chosen


def record_conflicts(dask_scheduler: Any) -> None:
    """Record the warnings of different tasks for one key. This runs in the process of the scheduler."""

    class Recorder(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "run_spec" in record.getMessage():
                dask_scheduler.conflicts.append(record.getMessage())

    dask_scheduler.conflicts = []
    logging.getLogger("distributed.scheduler").addHandler(Recorder())


def read_conflicts(dask_scheduler: Any) -> list[str]:
    conflicts: list[str] = dask_scheduler.conflicts
    return conflicts


WAYS = ("together", "separately", "persisted", "built again", "optimized", "delayed")


@pytest.mark.parametrize("seed", range(2))
def test_the_scheduler_sees_one_task_for_each_key(client: Any, seed: int) -> None:
    choices = random.Random(seed)
    client.run_on_scheduler(record_conflicts)
    program = Program(choices)
    held = []  # the scheduler has the tasks of results that are held
    for way in choices.sample(WAYS, len(WAYS)):
        for _ in range(3):
            program.add_operation()
        if way == "persisted":
            number = choices.randrange(len(program.made))
            program.made[number] = client.persist(program.made[number])
        if way == "built again":
            program.made = program.build()
        arrays, expected = zip(*program.choose_results(), strict=True)
        if way == "optimized":
            arrays = dask.optimize(*arrays)
        if way == "delayed":
            arrays = tuple(dask.delayed(np.block)(array.to_delayed().tolist()) for array in arrays)
        futures = [client.compute(array) for array in arrays] if way == "separately" else client.compute(arrays)
        held += [futures, program.made]
        for result, known in zip(client.gather(futures), expected, strict=True):
            np.testing.assert_array_equal(result, known, err_msg=way)
        conflicts = client.run_on_scheduler(read_conflicts)
        assert not conflicts, f"{way}: {conflicts[0]}"

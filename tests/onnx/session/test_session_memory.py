"""Values cross between the parts without a copy, and nothing that a caller holds is overwritten."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest

from gatherscatter.onnx.session import InferenceSession, kernel_step
from gatherscatter.onnx.session.ort_values import to_array, to_ort
from tests.support.onnx_graphs import model, node
from tests.support.session_graphs import (
    ADD,
    BETWEEN,
    F32,
    I64,
    SCATTER,
    SUMS,
    Arrays,
    assert_same_bits,
    load_onnxruntime,
    make_scatter_model,
)

ROOT = Path(__file__).parents[3]


class Spy:
    """Passes calls on to the core, and records the addresses of the inputs and the result."""

    def __init__(self, core: Any) -> None:
        self.core = core
        self.calls: list[tuple[list[int], int]] = []

    def apply(self, op: str, kernel: str, *arguments: Any) -> np.ndarray:
        result = self.core.apply(op, kernel, *arguments)
        self.calls.append(([array.ctypes.data for array in arguments[:3] if array is not None], result.ctypes.data))
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self.core, name)


@pytest.fixture
def core_calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[int], int]]:
    """The addresses of inputs and output of every call of the core."""
    spy = Spy(kernel_step._core)
    monkeypatch.setattr(kernel_step, "_core", spy)
    return spy.calls


@pytest.fixture
def ort_calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Arrays, Arrays]]:
    """The inputs and outputs of every run of ONNX Runtime, by name."""
    calls: list[tuple[Arrays, Arrays]] = []
    run = onnxruntime.InferenceSession.run

    def recording(self: Any, names: list[str], feed: Arrays, *rest: Any) -> list[np.ndarray]:
        results = run(self, names, feed, *rest)
        calls.append((dict(feed), dict(zip(names, results, strict=True))))
        return results

    monkeypatch.setattr(onnxruntime.InferenceSession, "run", recording)
    return calls


def test_values_cross_without_a_copy(
    core_calls: list[tuple[list[int], int]], ort_calls: list[tuple[Arrays, Arrays]]
) -> None:
    InferenceSession(BETWEEN).run(None, SCATTER)
    (first_in, first_out), (second_in, _) = ort_calls
    ((addresses, result),) = core_calls
    assert first_in["new"] is SCATTER["new"]
    assert addresses == [each.ctypes.data for each in (SCATTER["x"], SCATTER["at"], first_out["negative"])]
    assert second_in["sum"].ctypes.data == result
    assert onnxruntime.OrtValue.ortvalue_from_numpy(second_in["sum"]).data_ptr() == result


@pytest.mark.parametrize("dtype", [F32, np.float16, np.bool_, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2], ids=str)
@pytest.mark.parametrize("shape", [(3, 2), (), (0, 4)], ids=str)
def test_an_array_and_its_ort_value_are_the_same_memory(dtype: Any, shape: tuple[int, ...]) -> None:
    array = np.ones(shape, dtype)
    value = to_ort(array)
    back = to_array(value)
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    if array.size:
        assert value.data_ptr() == back.ctypes.data == array.ctypes.data
        back[...] = 0
        assert not np.any(array.astype(F32))


def test_onnxruntime_reads_what_it_is_given_where_it_lies() -> None:
    """The peak of memory doesn't grow by a copy of 256 MiB."""
    code = (
        "import resource, numpy as np, onnxruntime\n"
        "from tests.support.onnx_graphs import model, node\n"
        "made = model([node('ReduceMax', 'x', 'y')], {'x': (np.float32, ['n'])}, {'y': (np.float32, None)})\n"
        "session = onnxruntime.InferenceSession(made.SerializeToString())\n"
        "session.run(None, {'x': np.ones(100, np.float32)})\n"
        "x = np.ones(1 << 26, np.float32)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "session.run(None, {'x': x})\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)\n"
    )
    if sys.platform != "linux":
        pytest.skip("elsewhere the peak is in other units, or not known")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert int(done.stdout) < 100


IN_PLACE = {
    "an intermediate that nobody else needs": (
        [node("Abs", "x", "a"), node("ScatterND", "a at new", "b", reduction="add"), node("Neg", "b", "out")],
        "out",
        True,
    ),
    "the result of a scatter": ([ADD, node("ScatterND", "sum at new", "out", reduction="add")], "out", True),
    "an input": ([ADD, node("Neg", "sum", "out")], "out", False),
    "an output": ([node("Abs", "x", "a"), node("ScatterND", "a at new", "b", reduction="add")], "a b", False),
    "needed later": (
        [node("Abs", "x", "a"), node("ScatterND", "a at new", "b", reduction="add"), node("Sub", "b a", "out")],
        "out",
        False,
    ),
}


@pytest.mark.parametrize("case", IN_PLACE.values(), ids=IN_PLACE)
def test_a_scatter_writes_in_place_only_where_nobody_notices(
    case: tuple[list[onnx.NodeProto], str, bool], core_calls: list[tuple[list[int], int]]
) -> None:
    nodes, outputs, in_place = case
    made = make_scatter_model(*nodes, outputs=outputs)
    session, expected = InferenceSession(made), load_onnxruntime(made).run(None, SCATTER)
    inputs = {name: array.copy() for name, array in SCATTER.items()}
    for _ in range(2):
        assert_same_bits(session.run(None, inputs), expected)
    addresses, result = core_calls[-1]
    assert (addresses[0] == result) is in_place
    assert_same_bits(list(inputs.values()), list(SCATTER.values()))


def test_data_that_is_its_own_update_is_not_written_in_place() -> None:
    made = model(
        [node("Abs", "x", "a"), node("ScatterND", "a at a", "out", reduction="add")],
        {"x": (F32, ["n"]), "at": (I64, ["n", 1])},
        {"out": (F32, ["n"])},
    )
    inputs = {"x": np.array([1, 2, 4], F32), "at": np.array([[1], [2], [2]])}
    assert InferenceSession(made).run(None, inputs)[0].tolist() == [1, 3, 10]


def test_an_initializer_is_never_written() -> None:
    made = model(
        [node("Identity", "table", "same"), node("ScatterND", "same at new", "out", reduction="add")],
        {"at": (I64, ["m", 1]), "new": (F32, ["m", 2])},
        {"out": (F32, [4, 2]), "table": (F32, [4, 2])},
        {"table": SCATTER["x"]},
    )
    session, inputs = InferenceSession(made), {"at": SCATTER["at"], "new": SCATTER["new"]}
    first = session.run(None, inputs)
    first[1][...] = -1
    assert_same_bits(session.run(None, inputs), load_onnxruntime(made).run(None, inputs))


def test_a_large_weight_of_two_parts_is_in_memory_once() -> None:
    code = (
        "import resource, sys, numpy as np, gatherscatter as gs\n"
        "from tests.support.onnx_graphs import model, node\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024\n"
        "rss = lambda: int(open('/proc/self/statm').read().split()[1]) // 256\n"
        "nodes = [node('Gather', 'table i', 'a'), node('ScatterND', 'a at a', 'b', reduction='add'),\n"
        "         node('Gather', 'table i', 'c'), node('Add', 'b c', 'd'),\n"
        "         node('ScatterND', 'd at a', 'e', reduction='add'), node('Gather', 'table j', 'f'),\n"
        "         node('Cast', 'e', 'g', to=7), node('Gather', 'table g', 'h')]\n"
        "i64 = np.int64\n"
        "made = model(nodes, {'i': (i64, ['n']), 'at': (i64, ['n', 1]), 'j': (i64, ['n'])},\n"
        "             {'f': (np.float32, ['n']), 'h': (np.float32, ['n'])}, {'table': np.zeros(1 << 25, np.float32)})\n"
        "gs.onnx.InferenceSession(model([node('Abs', 'x', 'y')], {'x': (i64, [1])}, {'y': (i64, [1])}))\n"
        "before = rss()\n"
        "session = gs.onnx.InferenceSession(made)\n"
        "del made\n"
        "feed = {'i': np.array([1]), 'at': np.array([[0]]), 'j': np.array([0])}\n"
        "assert [each.tolist() for each in session.run(None, feed)] == [[0], [0]]\n"
        "print(rss() - before)\n"
    )
    if sys.platform != "linux":
        pytest.skip("needs /proc")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert int(done.stdout) < 100  # the 128 MiB of the message are freed


def test_results_of_one_output_are_the_callers() -> None:
    session = InferenceSession(make_scatter_model(ADD, outputs="sum x table", constants={"table": SCATTER["x"]}))
    expected = [each.copy() for each in session.run(None, SCATTER)]
    before = SCATTER["x"].copy()
    for result in session.run(None, SCATTER):
        result[...] = 0
    assert_same_bits([SCATTER["x"]], [before])
    assert_same_bits(session.run(None, SCATTER), expected)


def test_arrays_of_ort_values_outlive_them() -> None:
    session = InferenceSession(onnx.parser.parse_model(SUMS % "Identity"))
    feeds = {"data": np.zeros(4, np.float32), "indices": np.array([[0]]), "updates": np.ones(1, np.float32)}
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array) for name, array in feeds.items()}
    view = session.run_with_ort_values(None, values)[0].numpy()
    others = [np.full(4, 7, np.float32) for _ in range(100)]
    assert view.tolist() == [1, 0, 0, 0]
    assert len(others) == 100

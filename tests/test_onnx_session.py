"""ONNX Runtime with our kernels in it, against ONNX Runtime alone with one thread."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, InvalidGraph

import gatherscatter as gs
from gatherscatter.onnx import InferenceSession
from gatherscatter.onnx.session import kernel_step
from gatherscatter.onnx.session.ort_values import to_array, to_ort
from onnx_graphs import function, graph, model, node
from onnx_networks import graph_network, graph_network_inputs

F32, I64 = np.float32, np.int64
Arrays = dict[str, np.ndarray]


def one_thread() -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return options


def plain(made: onnx.ModelProto) -> Any:
    """ONNX Runtime on one thread: with more, its ScatterND is a race."""
    return onnxruntime.InferenceSession(made.SerializeToString(), one_thread(), providers=["CPUExecutionProvider"])


def assert_same_bits(results: list[np.ndarray], expected: list[np.ndarray]) -> None:
    assert len(results) == len(expected)
    for result, other in zip(results, expected, strict=True):
        assert result.dtype == other.dtype
        np.testing.assert_array_equal(result, other, strict=True)


def runners(session: InferenceSession) -> str:
    """Who runs the parts: "o" for ONNX Runtime, "g" for us."""
    return "".join(part.runs_on[0] for part in session.plan.parts)


SCATTER_IO = {"x": (F32, ["n", 2]), "at": (I64, ["m", 1]), "new": (F32, ["m", 2])}
SCATTER = {
    "x": np.arange(8, dtype=F32).reshape(4, 2),
    "at": np.array([[1], [3], [1]]),
    "new": np.array([[10, 20], [30, 40], [50, 60]], F32),
}


def scatter_model(*nodes: onnx.NodeProto, outputs: str = "out", **options: Any) -> onnx.ModelProto:
    """A model of the inputs x, at and new, whose outputs are like x."""
    return model(nodes, SCATTER_IO, {name: (F32, ["n", 2]) for name in outputs.split()}, **options)


ADD = node("ScatterND", "x at new", "sum", "collect", reduction="add")
BETWEEN = scatter_model(
    node("Neg", "new", "negative"),
    node("ScatterND", "x at negative", "sum", reduction="add"),
    node("Abs", "sum", "out"),
)


# ------------------------------------------------------------------------------------------------ a network of 59 nodes


def test_a_network_of_59_nodes_gives_what_one_thread_of_onnxruntime_gives() -> None:
    made = graph_network()
    assert len(made.graph.node) == 59
    session, inputs = InferenceSession(made), graph_network_inputs(500, 3000)
    assert runners(session) == "ogogogogog"
    for result, expected in zip(session.run(None, inputs), plain(made).run(None, inputs), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6, strict=True)


def test_a_network_gives_the_same_bits_in_every_run_where_onnxruntime_races() -> None:
    session, inputs = InferenceSession(graph_network(layers=2)), graph_network_inputs(1000, 50_000)
    first = session.run(None, inputs)
    for _ in range(20):
        assert_same_bits(session.run(None, inputs), first)


def test_a_scatter_where_onnxruntime_races_has_the_bits_of_its_one_thread() -> None:
    made = scatter_model(node("Abs", "new", "much"), node("ScatterND", "x at much", "out", reduction="add"))
    rng = np.random.default_rng(3)
    inputs = {
        "x": rng.standard_normal((1000, 2)).astype(F32),
        "at": rng.integers(-1000, 1000, (500_000, 1)),
        "new": rng.standard_normal((500_000, 2)).astype(F32),
    }
    assert_same_bits(InferenceSession(made).run(None, inputs), plain(made).run(None, inputs))


def test_with_sizes_that_the_model_declares_small_nothing_is_cut() -> None:
    made = model(
        [node("ScatterND", "x at new", "out", reduction="add")],
        {"x": (F32, [4, 2]), "at": (I64, [3, 1]), "new": (F32, [3, 2])},
        {"out": (F32, [4, 2])},
    )
    session = InferenceSession(made)
    assert runners(session) == "o"
    assert_same_bits(session.run(None, SCATTER), plain(made).run(None, SCATTER))


# ------------------------------------------------------------------------------------------------------------- the plan


def test_the_plan_says_who_runs_what_and_why() -> None:
    assert str(InferenceSession(BETWEEN).plan).splitlines() == [
        " 1 onnxruntime    1 node: Neg",
        " 2 gatherscatter  ScatterND (2/3): ONNX Runtime's threads lose updates where indices repeat",
        " 3 onnxruntime    1 node: Abs",
    ]


def test_on_one_thread_onnxruntime_adds_up_right_and_keeps_the_node() -> None:
    assert runners(InferenceSession(BETWEEN, one_thread())) == "o"


def test_constant_indices_that_differ_stay_with_onnxruntime() -> None:
    for indices, expected in (([[1], [3], [0]], "o"), ([[1], [3], [1]], "g"), ([[1], [3], [-3]], "g")):
        made = model(
            [node("ScatterND", "x at new", "out", reduction="add")],
            {"x": (F32, [4, "width"]), "new": (F32, [3, "width"])},
            {"out": (F32, [4, "width"])},
            {"at": np.array(indices)},
        )
        assert runners(InferenceSession(made)) == expected


def test_as_few_parts_as_possible() -> None:
    """Both scatters wait for one part of ONNX Runtime, though the nodes are listed by turns."""
    made = scatter_model(
        ADD,
        node("Abs", "x", "a"),
        node("ScatterND", "a at new", "b", reduction="add"),
        node("Neg", "new", "c"),
        node("ScatterND", "x at c", "d", reduction="add"),
        node("Sum", "b d sum", "out"),
    )
    session = InferenceSession(made)
    assert runners(session) == "ogo"
    assert_same_bits(session.run(None, SCATTER), plain(made).run(None, SCATTER))


def test_a_gather_between_two_of_ours_is_ours() -> None:
    nodes = [ADD, node("Gather", "sum picked", "some"), node("ScatterND", "some at new", "b", reduction="add")]
    made = scatter_model(*nodes, outputs="b", constants={"picked": np.arange(4)})
    session = InferenceSession(made)
    assert str(session.plan).splitlines()[1] == " 1 gatherscatter  Gather (2/3): saves a hand-over"
    assert runners(session) == "g"
    assert_same_bits(session.run(None, SCATTER), plain(made).run(None, SCATTER))


def test_a_gather_before_a_part_of_onnxruntime_stays_there() -> None:
    """The second Gather saves nothing, though the first does."""
    made = scatter_model(
        ADD,
        node("Gather", "sum picked", "some"),
        node("ScatterND", "some at new", "b", reduction="add"),
        node("Gather", "b picked", "c"),
        node("Abs", "c", "out"),
        constants={"picked": np.arange(4)},
    )
    session = InferenceSession(made)
    labels = ("ScatterND 'collect' (1/5)", "Gather (2/5)", "ScatterND (3/5)"), ("Gather (4/5)", "Abs (5/5)")
    assert tuple(part.nodes for part in session.plan.parts) == labels
    assert_same_bits(session.run(None, SCATTER), plain(made).run(None, SCATTER))


def test_our_nodes_come_first_where_that_saves_a_part() -> None:
    made = scatter_model(ADD, node("Neg", "x", "a"), node("Add", "a sum", "out"))
    assert runners(InferenceSession(made)) == "go"


# ------------------------------------------------------------------------------------------------- memory is not copied


class Spy:
    """Stands before the core and notes the addresses of what goes in and comes out."""

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
    """What goes into every run of ONNX Runtime, and what comes out, by name."""
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
        "from onnx_graphs import model, node\n"
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
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parent
    )
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
    made = scatter_model(*nodes, outputs=outputs)
    session, expected = InferenceSession(made), plain(made).run(None, SCATTER)
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
    assert_same_bits(session.run(None, inputs), plain(made).run(None, inputs))


def test_a_large_weight_of_two_parts_is_in_memory_once() -> None:
    code = (
        "import resource, sys, numpy as np, gatherscatter as gs\n"
        "from onnx_graphs import model, node\n"
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
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parent
    )
    assert int(done.stdout) < 100  # 128 MiB before, in the message, are given back


# ----------------------------------------------------------------------------------- what ONNX Runtime has not, or errs


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=str)
@pytest.mark.parametrize("reduction", ["add", "mul", "max"])
@pytest.mark.parametrize("op_type", ["ScatterND", "ScatterElements"])
def test_halves_have_reductions(op_type: str, reduction: str, dtype: Any) -> None:
    """Casts before and after are ONNX Runtime's; float8 and bfloat16 cross the cuts."""
    to = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    shape = ["m", 1] if op_type == "ScatterND" else ["m"]
    made = model(
        [
            node("Cast", "x", "half", to=to),
            node("Cast", "new", "small", to=to),
            node(op_type, "half at small", "sum", reduction=reduction),
            node("Cast", "sum", "out", to=TensorProto.FLOAT),
        ],
        {"x": (F32, ["n"]), "at": (I64, shape), "new": (F32, ["m"])},
        {"out": (F32, ["n"])},
    )
    inputs = {"x": np.array([1, 2, 4], F32), "at": np.array([1, 2, 1]), "new": np.array([8, 16, 32], F32)}
    inputs["at"] = inputs["at"].reshape(3, *([1] * (len(shape) - 1)))
    session = InferenceSession(made)
    assert runners(session) == "ogo"
    expected = {"add": [1, 42, 20], "mul": [1, 512, 64], "max": [1, 32, 16]}[reduction]
    assert session.run(None, inputs)[0].tolist() == expected


def test_bfloat16_goes_in_and_comes_out() -> None:
    bf16 = ml_dtypes.bfloat16
    made = model(
        [node("ScatterND", "x at new", "sum", reduction="add"), node("Identity", "sum", "out")],
        {"x": (bf16, ["n"]), "at": (I64, ["m", 1]), "new": (bf16, ["m"])},
        {"out": (bf16, ["n"]), "sum": (bf16, ["n"])},
    )
    inputs = {"x": np.array([1, 2], bf16), "at": np.array([[1], [1]]), "new": np.array([4, 8], bf16)}
    for result in InferenceSession(made).run(None, inputs):
        assert result.dtype == bf16
        assert result.tolist() == [1, 14]


def test_the_deprecated_scatter_runs() -> None:
    made = model(
        [node("Scatter", "x at new", "out")],
        {"x": (F32, [3]), "at": (I64, [1]), "new": (F32, [1])},
        {"out": (F32, [3])},
        opset=11,
    )
    with pytest.raises((Fail, InvalidGraph)):
        plain(made)
    inputs = {"x": np.zeros(3, F32), "at": np.array([-1]), "new": np.ones(1, F32)}
    with pytest.warns(DeprecationWarning, match=r"onnx\.Scatter-11 is deprecated"):
        (out,) = InferenceSession(made).run(None, inputs)
    assert out.tolist() == [0, 0, 1]


@pytest.mark.parametrize("op_type", ["ScatterND", "ScatterElements"])
def test_nan_in_data_is_kept(op_type: str) -> None:
    at = np.array([[0], [1]]) if op_type == "ScatterND" else np.array([0, 1])
    made = model(
        [node(op_type, "x at new", "out", reduction="max")],
        {"x": (F32, ["n"]), "at": (I64, at.shape), "new": (F32, ["m"])},
        {"out": (F32, ["n"])},
    )
    inputs = {"x": np.array([np.nan, 1], F32), "at": at, "new": np.array([3, 2], F32)}
    assert plain(made).run(None, inputs)[0].tolist() == [3, 2]
    np.testing.assert_array_equal(InferenceSession(made).run(None, inputs)[0], np.array([np.nan, 2], F32))


TYPES = ["float32", "float64", "float16", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"]


CALLS = [(op_type, "none") for op_type in ("Gather", "GatherND", "GatherElements", "ScatterND", "ScatterElements")]
CALLS += [(op_type, name) for op_type in ("ScatterND", "ScatterElements") for name in ("add", "mul", "min", "max")]


@pytest.mark.parametrize("element_type", [*TYPES, "uint64", "string"])
@pytest.mark.parametrize(("op_type", "reduction"), CALLS)
def test_what_is_left_to_onnxruntime_it_does_as_we_do(op_type: str, reduction: str, element_type: str) -> None:
    dtype = np.dtype(object if element_type == "string" else element_type)
    data, new = np.array([1, 0, 1, 1]).astype(dtype), np.array([1, 0, 1]).astype(dtype)
    if element_type == "string":
        data, new = np.array(["a", "b", "c", "d"], object), np.array(["x", "y", "z"], object)
    at = np.array([1, -2, 1]).reshape((3, 1) if op_type.endswith("ND") else 3)
    inputs = {"x": data, "at": at} | ({"new": new} if op_type.startswith("Scatter") else {})
    attributes = {} if reduction == "none" else {"reduction": reduction}
    made = model(
        [node(op_type, " ".join(inputs), "out", **attributes)],
        {name: (array.dtype, array.shape) for name, array in inputs.items()},
        {"out": (dtype, None)},
    )
    session = InferenceSession(made)
    if runners(session) == "o" and not (element_type == "string" and reduction in ("mul", "min", "max")):
        expected = getattr(gs.onnx, op_type)(*inputs.values(), **attributes)
        assert session.run(None, inputs)[0].tolist() == expected.tolist()


# -------------------------------------------------------------------------------------------------------- the interface


def test_a_model_without_work_for_us_is_an_ordinary_session() -> None:
    made = scatter_model(node("Add", "x x", "out"))
    session = InferenceSession(made.SerializeToString())
    assert isinstance(session, onnxruntime.InferenceSession)
    binding = session.io_binding()
    binding.bind_cpu_input("x", SCATTER["x"])
    binding.bind_output("out")
    session.run_with_iobinding(binding)
    assert_same_bits(binding.copy_outputs_to_cpu(), session.run(["out"], {**SCATTER}))


def described(session: Any) -> list[Any]:
    values = [session.get_inputs(), session.get_outputs(), session.get_overridable_initializers()]
    meta = session.get_modelmeta()
    facts = ("producer_name", "graph_name", "domain", "description", "graph_description", "version")
    return [
        *([(value.name, value.type, value.shape) for value in kind] for kind in values),
        [getattr(meta, name) for name in facts],
        meta.custom_metadata_map,
        session.get_providers(),
        session.get_provider_options(),
    ]


@pytest.mark.parametrize("ir_version", [3, 10])
def test_the_getters_say_what_those_of_onnxruntime_say(ir_version: int) -> None:
    made = scatter_model(
        ADD, node("Add", "sum bias", "out"), node("Cast", "out", "low", to=TensorProto.FLOAT16), opset=8 + ir_version
    )
    made.ir_version = ir_version
    made.graph.input.append(helper.make_tensor_value_info("bias", TensorProto.FLOAT, [2]))
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(2, F32), "bias"))
    made.graph.output.append(onnx.ValueInfoProto(name="low"))
    made.graph.output.append(helper.make_tensor_value_info("sum", TensorProto.FLOAT, [None, 2]))
    made.graph.input.append(helper.make_tensor_sequence_value_info("unused", TensorProto.INT64, None))
    made.graph.input.append(helper.make_tensor_value_info("nothing", TensorProto.STRING, []))
    if ir_version == 3:
        made.opset_import[0].version = 16
    made.producer_name, made.domain, made.doc_string, made.graph.doc_string = "us", "here", "model", "its graph"
    made.metadata_props.add(key="answer", value="42")
    cut = InferenceSession(made, quiet())
    assert runners(cut) == "go"
    assert described(cut) == described(plain(made))
    feed = {**SCATTER, "unused": [np.array([1])], "nothing": np.array("", object)}
    assert_same_bits(cut.run(None, feed), plain(made).run(None, feed))


def test_an_initializer_may_be_overridden() -> None:
    made = scatter_model(node("ScatterND", "x at bias", "sum", reduction="add"), node("Add", "sum x", "out"))
    made.graph.input.append(helper.make_tensor_value_info("bias", TensorProto.FLOAT, [3, 2]))
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((3, 2), F32), "bias"))
    session = InferenceSession(made)
    for more in ({}, {"bias": np.full((3, 2), 5, F32)}):
        assert_same_bits(session.run(None, {**SCATTER, **more}), plain(made).run(None, {**SCATTER, **more}))


def test_ort_values_go_in_and_come_out() -> None:
    feed = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array) for name, array in SCATTER.items()}
    (result,) = InferenceSession(BETWEEN).run_with_ort_values(None, feed)
    assert_same_bits([result.numpy()], plain(BETWEEN).run(None, SCATTER))


def test_run_options_reach_onnxruntime() -> None:
    options = onnxruntime.RunOptions()
    options.terminate = True
    with pytest.raises(Fail, match="terminate"):
        InferenceSession(BETWEEN).run(None, SCATTER, options)


def test_what_needs_one_session_says_so() -> None:
    session = InferenceSession(BETWEEN)
    for call in (session.io_binding, session.end_profiling, lambda: session.run_async(None, SCATTER, print, None)):
        with pytest.raises(NotImplementedError, match=r"this model runs in parts \(see \.plan\)"):
            call()


@pytest.mark.parametrize("made", [BETWEEN, scatter_model(node("Add", "x x", "out"))], ids=["in parts", "whole"])
def test_providers_but_the_cpu_are_ignored_with_a_note(made: onnx.ModelProto) -> None:
    with pytest.warns(UserWarning, match="CUDAExecutionProvider ignored") as caught:
        session = InferenceSession(made, None, [("CUDAExecutionProvider", {"device_id": 1}), "CPUExecutionProvider"])
    assert len(caught) == 1
    assert session.get_providers() == ["CPUExecutionProvider"]


@pytest.mark.parametrize(
    ("feed", "error", "message"),
    [
        ({"x": SCATTER["x"]}, ValueError, "no array was given for input 'at', 'new'"),
        ({**SCATTER, "y": SCATTER["x"]}, InvalidArgument, "no input 'y'"),
        ({**SCATTER, "x": np.zeros((4, 2))}, InvalidArgument, "input 'x' must be float32; got float64"),
        ({**SCATTER, "x": np.zeros((4, 3), F32)}, InvalidArgument, r"input 'x' must have shape \[n, 2\]; got \[4, 3\]"),
    ],
)
def test_wrong_inputs(feed: Arrays, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        InferenceSession(BETWEEN).run(None, feed)


def test_an_output_that_is_not_there() -> None:
    with pytest.raises(InvalidArgument, match="the model has no output 'nowhere'; its outputs are 'out'"):
        InferenceSession(BETWEEN).run(["nowhere"], SCATTER)


def test_a_bad_index_names_the_node() -> None:
    made = scatter_model(node("Abs", "x", "a"), node("ScatterND", "a at new", "out", "collect", reduction="add"))
    inputs = {**SCATTER, "at": np.array([[1], [9], [1]])}
    with pytest.raises(gs.OpIndexError, match=r"onnx.ScatterND-18: indices\[1, 0\] = 9 is out of range") as caught:
        InferenceSession(made).run(None, inputs)
    assert caught.value.__notes__ == ["in node ScatterND 'collect' (2/2)"]


def test_a_damaged_model_gets_the_error_of_onnxruntime() -> None:
    for broken in (b"no model", b"", scatter_model(ADD, node("Neg", "missing", "out")).SerializeToString()):
        with pytest.raises(Exception, match=r"ONNXRuntimeError|Unable to load") as caught:
            InferenceSession(broken)
        assert type(caught.value).__module__.startswith("onnxruntime")


def test_an_attribute_that_the_version_has_not_gets_the_error_of_onnxruntime() -> None:
    with pytest.raises(InvalidGraph, match="Unrecognized attribute"):
        InferenceSession(scatter_model(node("ScatterND", "x at new", "out", reduction="add", axis=1)))


@pytest.mark.parametrize(("reduction", "opset"), [("median", 18), ("mean", 18), ("max", 16)])
def test_a_reduction_that_the_version_has_not_is_an_error(reduction: str, opset: int) -> None:
    """ONNX Runtime loads such a model, and runs it."""
    session = InferenceSession(scatter_model(node("ScatterND", "x at new", "out", reduction=reduction), opset=opset))
    with pytest.raises(gs.OpValueError, match="reduction must be one of 'none', 'add', 'mul'"):
        session.run(None, SCATTER)


def test_a_missing_onnxruntime_is_named_with_its_extra() -> None:
    code = (
        "import sys, gatherscatter as gs\nsys.modules['onnxruntime'] = None\n"
        "try:\n    gs.onnx.InferenceSession\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'gatherscatter[onnxruntime]'" in done.stdout


def test_threads_share_a_session() -> None:
    session, inputs = InferenceSession(graph_network(layers=1)), graph_network_inputs(50, 300)
    expected = session.run(None, inputs)
    wrong: list[Any] = []

    def work() -> None:
        for _ in range(20):
            wrong.extend(
                1 for a, b in zip(session.run(None, inputs), expected, strict=True) if a.tobytes() != b.tobytes()
            )

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# ---------------------------------------------------------------------------------------------------------- model files


def test_external_data_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = scatter_model(
        node("MatMul", "new w", "turned"),
        node("ScatterND", "table at turned", "sum", reduction="add"),
        node("MatMul", "sum w", "product"),
        node("Add", "product table", "out"),
        constants={"w": np.array([[2, 1], [1, 3]], F32), "table": SCATTER["x"]},
    )
    expected = plain(made).run(None, SCATTER)
    folder = tmp_path / "model"
    folder.mkdir()
    onnx.save(made, folder / "model.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    monkeypatch.chdir(tmp_path)
    for path, options in (("model/model.onnx", None), (folder / "model.onnx", one_thread())):
        assert_same_bits(InferenceSession(path, options).run(None, SCATTER), expected)
    assert runners(InferenceSession(folder / "model.onnx")) == "ogo"


def test_external_data_that_links_lead_to(tmp_path: Path) -> None:
    """As in the cache of a model hub: a folder of links to files of other names."""
    if sys.platform == "win32":
        pytest.skip("links need a privilege there")
    made = scatter_model(
        node("MatMul", "new w", "turned"),
        node("ScatterND", "x at turned", "out", reduction="add"),
        constants={"w": np.array([[2, 1], [1, 3]], F32)},
    )
    expected = plain(made).run(None, SCATTER)
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshot"
    blobs.mkdir()
    snapshot.mkdir()
    onnx.save(made, blobs / "a", save_as_external_data=True, location="weights.bin", size_threshold=0)
    (blobs / "weights.bin").rename(blobs / "b")
    (snapshot / "model.onnx").symlink_to(blobs / "a")
    (snapshot / "weights.bin").symlink_to(blobs / "b")
    session = InferenceSession(snapshot / "model.onnx")
    assert runners(session) == "og"
    assert_same_bits(session.run(None, SCATTER), expected)


def test_what_a_model_says_wrongly_of_its_values_is_not_believed() -> None:
    """ONNX Runtime only warns of it."""
    made = scatter_model(ADD, node("Abs", "sum", "a"), node("ScatterND", "a at new", "b", reduction="add"))
    made.graph.node.append(node("Neg", "b", "out"))
    made.graph.value_info.append(helper.make_tensor_value_info("b", TensorProto.FLOAT, [7, 2]))
    made.graph.output.append(helper.make_tensor_value_info("sum", TensorProto.FLOAT, [9, 2]))
    session = InferenceSession(made, quiet())
    assert runners(session) == "gogo"
    assert_same_bits(session.run(None, SCATTER), plain(made).run(None, SCATTER))


def test_options_can_be_used_twice() -> None:
    """Also for models whose tensors have the same names."""
    options = onnxruntime.SessionOptions()
    for factor in (2, 3):
        made = scatter_model(
            node("Gather", "table first", "factor"),
            node("Mul", "new factor", "a"),
            node("ScatterND", "x at a", "sum", reduction="add"),
            node("Mul", "sum factor", "out"),
            constants={"table": np.full((1000, 2), factor, F32), "first": np.array([0])},
        )
        session = InferenceSession(made, options)
        assert runners(session) == "ogo"
        assert_same_bits(session.run(None, SCATTER), plain(made).run(None, SCATTER))


# ------------------------------------------------------------------------------------------------------- unusual graphs

BRANCHES = {
    "then_branch": graph([node("Add", "sum x", "t")], {}, {"t": (F32, ["n", 2])}),
    "else_branch": graph([node("Sub", "sum x", "e")], {}, {"e": (F32, ["n", 2])}),
}
BODY = graph(
    [node("ScatterElements", "state spot one", "next"), node("Identity", "going", "still")],
    {"turn": (I64, []), "going": (np.bool_, []), "state": (F32, ["k"])},
    {"still": (np.bool_, []), "next": (F32, ["k"])},
)
NEVER = np.array(False)
UNUSUAL: dict[str, onnx.ModelProto] = {
    "an output that is an input": scatter_model(ADD, node("Abs", "sum", "out"), outputs="x out"),
    "an output that is an initializer": scatter_model(ADD, outputs="sum table", constants={"table": SCATTER["x"]}),
    "an output of ours that ONNX Runtime needs": scatter_model(ADD, node("Abs", "sum", "out"), outputs="sum out"),
    "an output twice": scatter_model(ADD, node("Abs", "sum", "out"), outputs="out sum"),
    "nodes that nobody needs": scatter_model(
        ADD, node("ScatterND", "sum at new", "b", reduction="add"), node("Abs", "x", "c"), node("Abs", "sum", "out")
    ),
    "optional inputs left out": scatter_model(ADD, node("Clip", "sum - high", "out"), constants={"high": F32(30)}),
    "several outputs": scatter_model(
        node("Split", "new", "left right", axis=1, num_outputs=2),
        node("Concat", "right left", "swapped", axis=1),
        node("ScatterND", "x at swapped", "sum", reduction="add"),
        node("Split", "sum", "a out", axis=1, num_outputs=2),
    ),
    "an output left out": scatter_model(ADD, node("Dropout", "sum", "out -")),
    "one value for us and for ONNX Runtime": scatter_model(
        node("Abs", "new", "a"),
        node("ScatterND", "x at a", "b", reduction="add"),
        node("ReduceSum", "a", "c", keepdims=0),
        node("Add", "b c", "out"),
    ),
    "a Constant for us and for ONNX Runtime": scatter_model(
        node("Constant", "", "c", value=onnx.numpy_helper.from_array(SCATTER["new"])),
        node("ScatterND", "x at c", "b", reduction="max"),
        node("ReduceSum", "c", "d", keepdims=0),
        node("Constant", "", "two", value_float=2.0),
        node("Pow", "d two", "e"),
        node("Add", "b e", "out"),
        outputs="out c",
    ),
    "what follows from constants": scatter_model(
        node("Neg", "weights", "negative"),
        node("Mul", "new negative", "a"),
        node("ScatterND", "x at a", "b", reduction="add"),
        node("Mul", "b negative", "c"),
        node("ScatterND", "c at big", "out", reduction="add"),
        node("Expand", "negative shape", "big"),
        constants={"weights": np.array([[2, 3]], F32), "shape": np.array([3, 2])},
    ),
    "a subgraph that needs our result": scatter_model(
        ADD,
        node("ReduceSum", "sum", "total", keepdims=0),
        node("Greater", "total limit", "many"),
        node("If", "many", "out", **BRANCHES),
        constants={"limit": F32(10)},
    ),
    "a subgraph with nodes of the family": model(
        [
            node("Loop", "times - x", "looped", "turns", body=BODY),
            node("ScatterND", "looped at new", "out", reduction="add"),
        ],
        {"x": (F32, ["n"]), "at": (I64, ["m", 1]), "new": (F32, ["m"])},
        {"out": (F32, ["n"])},
        {"times": np.array(2), "spot": np.array([1]), "one": np.ones(1, F32)},
    ),
    "a function": scatter_model(
        node("Collect", "x at new", "sum", domain="ours"),
        node("Collect", "sum at new", "out", domain="ours"),
        functions=[
            function(
                "ours",
                "Collect",
                "a b c",
                "d",
                [node("Neg", "c", "n"), node("ScatterND", "a b n", "e", reduction="add"), node("Abs", "e", "d")],
            )
        ],
        domains={"ours": 1},
    ),
    "a sequence between parts": scatter_model(
        node("SplitToSequence", "x", "parts", axis=1),
        ADD,
        node("SequenceInsert", "parts sum", "more"),
        node("ConcatFromSequence", "more", "out", axis=1),
    ),
    "an optional between parts": scatter_model(
        node("Optional", "x", "maybe"), ADD, node("OptionalGetElement", "maybe", "y"), node("Add", "y sum", "out")
    ),
    "nodes of ONNX Runtime's own": scatter_model(
        node("Gelu", "new", "a", domain="com.microsoft"),
        node("ScatterND", "x at a", "b", reduction="add"),
        node("Gelu", "b", "out", domain="com.microsoft"),
        domains={"com.microsoft": 1},
    ),
    "a type that only ONNX Runtime knows": scatter_model(
        node("Gelu", "x", "a", domain="com.microsoft"),
        node("ScatterND", "a at new", "b", reduction="add"),
        node("Abs", "b", "out"),
        domains={"com.microsoft": 1},
    ),
    "the domain by its long name": scatter_model(
        node("ScatterND", "x at new", "a", reduction="add", domain="ai.onnx"), node("Abs", "a", "out")
    ),
}


@pytest.mark.parametrize("made", UNUSUAL.values(), ids=UNUSUAL)
def test_an_unusual_graph(made: onnx.ModelProto) -> None:
    inputs = dict(SCATTER) if len(made.graph.input[0].type.tensor_type.shape.dim) == 2 else {
        "x": np.arange(4, dtype=F32), "at": SCATTER["at"], "new": np.array([1, 2, 4], F32)
    }  # fmt: skip
    before = made.SerializeToString()
    session = InferenceSession(made)
    assert "g" in runners(session)
    expected = plain(made).run(None, inputs)
    for _ in range(2):
        assert_same_bits(session.run(None, inputs), expected)
    name = session.get_outputs()[-1].name
    assert_same_bits(session.run([name], inputs), expected[-1:])
    assert made.SerializeToString() == before


def test_nodes_of_one_name() -> None:
    first, second = (node("ScatterND", f"{data} at new", out, "same", reduction="add") for data, out in ("xa", "ab"))
    (out,) = InferenceSession(scatter_model(first, second, outputs="b")).run(None, SCATTER)
    assert out.tolist() == [[0, 1], [122, 163], [4, 5], [66, 87]]


def test_nodes_of_the_family_in_a_subgraph_are_noted() -> None:
    plan = InferenceSession(UNUSUAL["a subgraph with nodes of the family"]).plan
    assert plan.notes == ("ScatterElements within Loop 'turns' (1/2) stays with ONNX Runtime",)


def test_a_graph_without_nodes() -> None:
    made = scatter_model(outputs="x")
    assert_same_bits(InferenceSession(made).run(None, SCATTER), [SCATTER["x"]])


def test_a_graph_of_ours_alone() -> None:
    session = InferenceSession(scatter_model(ADD, outputs="sum"))
    assert runners(session) == "g"
    assert_same_bits(session.run(None, SCATTER), plain(scatter_model(ADD, outputs="sum")).run(None, SCATTER))


def test_results_of_one_output_are_the_callers() -> None:
    session = InferenceSession(scatter_model(ADD, outputs="sum x table", constants={"table": SCATTER["x"]}))
    expected = [each.copy() for each in session.run(None, SCATTER)]
    before = SCATTER["x"].copy()
    for result in session.run(None, SCATTER):
        result[...] = 0
    assert_same_bits([SCATTER["x"]], [before])
    assert_same_bits(session.run(None, SCATTER), expected)


def test_a_random_node_runs_once() -> None:
    """Unlike other nodes that depend on constants only, it isn't repeated where it is needed."""
    made = scatter_model(
        node("Abs", "x", "y"),  # the seed follows from the node's position
        node("RandomUniformLike", "like", "noise"),
        node("Add", "y noise", "a"),
        node("ScatterND", "a at new", "b", reduction="add"),
        node("Sub", "b noise", "out"),
        constants={"like": np.zeros((4, 2), F32)},
    )
    session = InferenceSession(made)
    assert runners(session) == "ogo"
    expected = gs.onnx.ScatterND(*SCATTER.values(), reduction="add")
    np.testing.assert_allclose(session.run(None, SCATTER)[0], expected, atol=1e-4)


def test_a_model_that_cannot_be_cut_is_onnxruntimes_with_a_note() -> None:
    made = scatter_model(ADD, node("Add", "sum few", "out"))
    values = onnx.numpy_helper.from_array(np.array([5], F32), "few")
    indices = onnx.numpy_helper.from_array(np.array([1]), "where")
    made.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [2]))
    note = "ONNX Runtime has the whole model: it has sparse initializers, or two of one name"
    with pytest.warns(UserWarning, match=note):
        session = InferenceSession(made)
    assert str(session.plan) == f"note: {note}"
    assert_same_bits(session.run(None, SCATTER), plain(made).run(None, SCATTER))


# -------------------------------------------------------------------------------------------------------- random graphs

ROWS = 4


KINDS = ["Add", "Sub", "Max", "Relu", "Split", "Gather", "GatherElements", "If", *(6 * ["Scatter"])]


@st.composite
def graphs(draw: Callable[[Any], Any]) -> onnx.ModelProto:
    """5 to 15 nodes on tensors of the shape [n, 2]; small integers, so that every sum is exact in any order."""
    known, nodes = ["x", "y", "table"], []
    for number in range(draw(st.integers(5, 15))):
        kind, a, b = draw(st.sampled_from(KINDS)), draw(st.sampled_from(known)), draw(st.sampled_from(known))
        nodes += _step(draw, kind, a, b, f"v{number}")
        known.append(f"v{number}")
    outputs = draw(st.lists(st.sampled_from(known), min_size=1, max_size=4, unique=True))
    sized = draw(st.sampled_from([ROWS, "n"]))
    inputs = {
        "x": (F32, [sized, 2]), "y": (F32, [sized, 2]), "flag": (np.bool_, []),
        "tuples": (I64, [sized, 1]), "box": (I64, [sized, 2]), "rows": (I64, [sized]),
    }  # fmt: skip
    constants = {"table": np.arange(2 * ROWS, dtype=F32).reshape(ROWS, 2)}
    return model(nodes, inputs, dict.fromkeys(outputs, (F32, None)), constants)


def _step(draw: Callable[[Any], Any], kind: str, a: str, b: str, out: str) -> list[onnx.NodeProto]:
    if kind == "Scatter":
        op_type, at = draw(st.sampled_from([("ScatterND", "tuples"), ("ScatterElements", "box")]))
        return [node(op_type, f"{a} {at} {b}", out, reduction=draw(st.sampled_from(["none", "add", "max", "min"])))]
    if kind == "Split":
        halves = node("Split", a, f"{out}a {out}b", axis=0, num_outputs=2)
        return [halves, node("Concat", f"{out}b {out}a", out, axis=0)]
    if kind == "If":
        sides = {"then_branch": f"{out}t", "else_branch": f"{out}e"}
        bodies = {
            side: graph([node("Neg", name, made)], {}, {made: (F32, None)})
            for (side, made), name in zip(sides.items(), (a, b), strict=True)
        }
        return [node("If", "flag", out, **bodies)]
    second = {"Relu": "", "Gather": " rows", "GatherElements": " box"}.get(kind, f" {b}")
    return [node(kind, a + second, out, **({"axis": 0} if kind.startswith("Gather") else {}))]


@given(made=graphs(), seed=st.integers(0, 2**32 - 1))
def test_a_random_graph_gives_what_one_thread_of_onnxruntime_gives(made: onnx.ModelProto, seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs = {
        "x": rng.integers(-9, 9, (ROWS, 2)).astype(F32),
        "y": rng.integers(-9, 9, (ROWS, 2)).astype(F32),
        "flag": np.array(bool(seed % 2)),
        "tuples": rng.integers(-ROWS, ROWS, (ROWS, 1)),
        "box": rng.integers(-ROWS, ROWS, (ROWS, 2)),
        "rows": rng.integers(-ROWS, ROWS, ROWS),
    }
    copies = {name: array.copy() for name, array in inputs.items()}
    session, expected = InferenceSession(made, quiet()), plain(made).run(None, inputs)
    for _ in range(2):
        assert_same_bits(session.run(None, inputs), expected)
    assert_same_bits(list(inputs.values()), list(copies.values()))


def quiet() -> Any:
    """Default threads, without the warnings about values that nobody needs."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return options


# What a review found.

SUMS = """<ir_version: 10, opset_import: ["": 18]>
    g (float[n] data, int64[m, 1] indices, float[m] updates) => (float[n] out)
    { sums = ScatterND <reduction = "add"> (data, indices, updates)  out = %s (sums) }"""


def test_arrays_of_ort_values_outlive_them() -> None:
    session = InferenceSession(onnx.parser.parse_model(SUMS % "Identity"))
    feeds = {"data": np.zeros(4, np.float32), "indices": np.array([[0]]), "updates": np.ones(1, np.float32)}
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array) for name, array in feeds.items()}
    view = session.run_with_ort_values(None, values)[0].numpy()
    others = [np.full(4, 7, np.float32) for _ in range(100)]
    assert view.tolist() == [1, 0, 0, 0]
    assert len(others) == 100


def test_options_are_the_caller_s_again(tmp_path: Path) -> None:
    def model(folder: str, first: float) -> Path:
        made = onnx.parser.parse_model(
            """<ir_version: 10, opset_import: ["": 18]>
            g (int64[m, 1] indices, float[m] updates) => (float[n] out)
            { a = Relu (weights)  z = ScatterND <reduction = "max"> (a, indices, updates)  out = Add (z, weights) }"""
        )
        weights = np.arange(5000, dtype=np.float32) + first
        made.graph.initializer.append(onnx.numpy_helper.from_array(weights, "weights"))
        path = tmp_path / folder / "model.onnx"
        path.parent.mkdir()
        onnx.save(made, path, save_as_external_data=True, location="weights.bin")
        return path

    options = onnxruntime.SessionOptions()
    feeds = {"indices": np.array([[0]]), "updates": np.array([1], np.float32)}
    one, other = model("one", 0), model("other", 70)
    for path, first in ((one, 1), (other, 140), (one, 1)):
        assert InferenceSession(path, options).run(None, feeds)[0][0] == first
        assert onnxruntime.InferenceSession(path, options).run(None, feeds)[0][0] == first


@pytest.mark.parametrize("opset", [16, 18])
def test_functions_of_another_opset_are_expanded(opset: int) -> None:
    model = onnx.parser.parse_model(
        f"""<ir_version: 10, opset_import: ["": 18, "my": 1]>
        g (float[n] x, int64[m, 1] i, float[m] u) => (float[n] out) {{ out = my.f (x, i, u) }}
        <domain: "my", opset_import: ["": {opset}]>
        f (a, b, c) => (r) {{ q = ScatterND <reduction = "add"> (a, b, c)  r = Neg (q) }}"""
    )
    session = InferenceSession(model)
    assert "gatherscatter" in [part.runs_on for part in session.plan.parts]
    feeds = {"x": np.zeros(2, np.float32), "i": np.array([[1], [1]]), "u": np.ones(2, np.float32)}
    assert session.run(None, feeds)[0].tolist() == [0, -2]


def test_types_that_only_onnx_runtime_knows() -> None:
    model = onnx.parser.parse_model(SUMS.replace('["": 18]', '["": 18, "com.microsoft": 1]') % "com.microsoft.Gelu")
    model.graph.output[0].ClearField("type")
    [output] = InferenceSession(model).get_outputs()
    assert (output.name, output.type) == ("out", "tensor(float)")


def test_names_of_outputs_may_come_one_by_one() -> None:
    session = InferenceSession(onnx.parser.parse_model(SUMS % "Neg"))
    feeds = {"data": np.zeros(2, np.float32), "indices": np.array([[0]]), "updates": np.ones(1, np.float32)}
    assert session.run((name for name in ["out"]), feeds)[0].tolist() == [-1, 0]

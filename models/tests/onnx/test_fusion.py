"""A Gather and the reader of its rows run as one step, with the bits, errors and names of two steps."""

from __future__ import annotations

import tracemalloc
from typing import Any

import ml_dtypes  # noqa: F401  (bfloat16)
import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gatherscatter as gs
import gatherscatter_models as gm
from gatherscatter import oracle
from gatherscatter_models.interface import Model
from gatherscatter_models.loading import load
from gatherscatter_models.onnx import fusion
from gatherscatter_models.onnx.model import load_onnx
from tests.support.onnx_graphs import function, graph, model, node, referring

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["int8", "int32", "int64", "uint8", "uint64"]


@pytest.fixture(autouse=True)
def steps(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Make pairs of any size run as one step. The list records for each pair that ran whether it did."""
    seen: list[bool] = []
    run = fusion.Pair.run

    def observed(pair: fusion.Pair, *inputs: Any) -> Any:
        result = run(pair, *inputs)
        seen.append(result[0] is not None)
        return result

    monkeypatch.setattr(fusion, "LEAST_BYTES", 1)
    monkeypatch.setattr(fusion, "LEAST_ROW_BYTES", 1)
    monkeypatch.setattr(fusion.Pair, "run", observed)
    return seen


def run_both(made: onnx.ModelProto, inputs: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the first output of a model, with pairs as one step and as two steps."""
    one, two = (next(iter(load_onnx(made, fuse=fuse).run(inputs).values())) for fuse in (True, False))
    return one, two


def assert_same_bits(result: np.ndarray, expected: np.ndarray) -> None:
    """Check that type, shape and bits are equal. All NaN count as equal."""
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    nan = expected != expected
    np.testing.assert_array_equal(result != result, nan)
    bits = f"u{result.itemsize}"
    np.testing.assert_array_equal(
        np.ascontiguousarray(result).view(bits)[~nan], np.ascontiguousarray(expected).view(bits)[~nan]
    )


def random_elements(draw: st.DrawFn, random: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return elements of many magnitudes, including special values."""
    kind = np.dtype(dtype)
    if dtype in INTEGERS:
        info = np.iinfo(kind)
        return random.integers(info.min, info.max, shape, dtype=kind, endpoint=True)
    array = random.standard_normal(shape) * 10 ** random.uniform(-2, 2, shape)
    for special in draw(st.sets(st.sampled_from([0.0, -0.0, np.inf, -np.inf, np.nan]))):
        array[random.random(shape) < 0.2] = special
    if draw(st.booleans()):
        array[..., :1] = -0.0
    return array.astype(kind)


def initial(draw: st.DrawFn, random: np.random.Generator, data: np.ndarray, rows: int) -> np.ndarray:
    """Return the initial values of a scatter: zeros, a constant, or any elements."""
    kind = draw(st.sampled_from(["zeros", "negative zeros", "ones", "any"]))
    shape = (rows, *data.shape[1:])
    if kind == "any":
        return random_elements(draw, random, str(data.dtype), shape)
    value = {"zeros": 0, "negative zeros": -0.0 if str(data.dtype) in FLOATS else 0, "ones": 1}[kind]
    return np.full(shape, value, data.dtype)


def scatter_model(
    op_type: str, dtype: str, reduction: str, index: str = "int64", opset: int = 18, **attributes: Any
) -> onnx.ModelProto:
    """Return a model that gathers rows and scatters them into init."""
    nodes = [
        node("Gather", "data source", "rows"),
        node(op_type, "init target rows", "out", reduction=reduction, **attributes),
    ]
    kind = np.dtype(dtype)
    declared = {"data": (kind, None), "source": (index, None), "init": (kind, None), "target": (np.int64, None)}
    return model(nodes, declared, {"out": (kind, None)}, opset=opset)


@st.composite
def scatters(draw: st.DrawFn) -> tuple[onnx.ModelProto, dict[str, np.ndarray], str]:
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    dtype = draw(st.sampled_from(FLOATS + INTEGERS))
    reduction = draw(st.sampled_from(["add", "mul", "min", "max", "none"]))
    op_type = draw(st.sampled_from(["ScatterND", "ScatterElements"]))
    width = draw(st.sampled_from([(), (1,), (3,), (40,), (2, 3)]))
    size, rows = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    members = draw(st.sampled_from([(rows,), (40,), (5,)] + [(), (4, 9)] * (op_type == "ScatterND")))
    data = random_elements(draw, random, dtype, (size, *width))
    index = draw(st.sampled_from(["int32", "int64"]))
    source = random.integers(-size, size, members).astype(index)
    target = random.integers(-rows, rows, members)
    if draw(st.booleans()):
        target = np.sort(target, axis=None).reshape(members)
    if op_type == "ScatterND":
        target = target[..., np.newaxis]
    else:
        view = np.broadcast_to(target.reshape(-1, *[1] * len(width)), members + width)
        target = view if draw(st.booleans()) else view.copy()
        if target.size > 1 and draw(st.integers(0, 4)) == 0:
            target = target.copy()
            target.flat[-1] = random.integers(rows)  # a row with different indices
    made = scatter_model(op_type, dtype, reduction, index)
    init = data if draw(st.booleans()) and size == rows else initial(draw, random, data, rows)
    return made, {"data": data, "source": source, "init": init, "target": target}, f"onnx.{op_type}-18"


@given(scatters())
def test_scatters_have_the_bits_of_two_steps_and_of_the_oracle(case: tuple) -> None:
    made, inputs, name = case
    one, two = run_both(made, inputs)
    assert_same_bits(one, two)
    gathered = oracle.call("onnx.Gather-13", inputs["data"], inputs["source"])
    reduction = made.graph.node[1].attribute[0].s.decode()
    expected = oracle.call(name, inputs["init"], inputs["target"], gathered, reduction=reduction)
    oracle.assert_same(one, expected, inputs["data"], zero_sign=reduction not in ("min", "max"))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("reduction", ["add", "mul", "min", "max"])
@pytest.mark.parametrize("op_type", ["ScatterND", "ScatterElements"])
def test_scatters_run_as_one_step(op_type: str, reduction: str, dtype: str, steps: list[bool]) -> None:
    random = np.random.default_rng(7)
    data = random.integers(0, 9, (5, 4)).astype(dtype)
    source, target = random.integers(-5, 5, 60), random.integers(-6, 6, (60, 1))
    target[target == 2] = 3  # no update goes to row 2
    if op_type == "ScatterElements":
        target = target.repeat(4, axis=1)
    made = scatter_model(op_type, dtype, reduction)
    for init in (np.zeros((6, 4), dtype), random.integers(0, 9, (6, 4)).astype(dtype)):
        assert_same_bits(*run_both(made, {"data": data, "source": source, "init": init, "target": target}))
    assert steps == [True, True]


def test_sums_of_negative_zeros_begin_with_the_zeros_of_init(steps: list[bool]) -> None:
    data = np.full((3, 4), -0.0, np.float32)
    indices = np.arange(30) % 3
    for zero in (0.0, -0.0):
        inputs = {
            "data": data,
            "source": indices,
            "init": np.full((3, 4), zero, np.float32),
            "target": indices[:, None],
        }
        one, two = run_both(scatter_model("ScatterND", "float32", "add"), inputs)
        assert np.signbit(one).all() == np.signbit(zero)
        assert_same_bits(one, two)
    assert steps == [True, True]


def reduce_model(op_type: str, dtype: str, axes: list[int] | None, keepdims: int, opset: int) -> onnx.ModelProto:
    """Return a model that gathers rows and reduces them. Axes are an input or an attribute, depending on the opset."""
    as_input = opset >= (13 if op_type == "ReduceSum" else 18)
    nodes = [
        node("Gather", "data indices", "rows"),
        node(
            op_type,
            "rows axes" if as_input and axes is not None else "rows",
            "out",
            keepdims=keepdims,
            **({} if as_input or not axes else {"axes": axes}),
        ),
    ]
    declared = {"data": (np.dtype(dtype), None), "indices": (np.int64, None)}
    constants = {"axes": np.array(axes, np.int64)} if as_input and axes is not None else {}
    return model(nodes, declared, {"out": (np.dtype(dtype), None)}, constants, opset=opset)


@st.composite
def reductions(draw: st.DrawFn) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    op_type = draw(st.sampled_from(["ReduceSum", "ReduceMean"]))
    dtype = draw(st.sampled_from(FLOATS + INTEGERS))
    size, width = draw(st.integers(1, 6)), draw(st.sampled_from([(), (1,), (2,), (3,), (40,), (300,), (2, 3), (1, 5)]))
    members = (*draw(st.sampled_from([(), (1,), (3,), (2, 3)])), draw(st.sampled_from([0, 1, 2, 7, 8, 9, 40, 200])))
    data = random_elements(draw, random, dtype, (size, *width))
    last, rank = len(members) - 1, len(members) + len(width)
    axes = draw(st.sampled_from([[last], [last - rank], None, [0], [rank - 1], []]))
    opset = draw(st.sampled_from([11, 13, 18] if dtype != "bfloat16" else [13, 18]))
    made = reduce_model(op_type, dtype, axes, draw(st.integers(0, 1)), opset)
    return made, {"data": data, "indices": random.integers(-size, size, members)}


@pytest.mark.filterwarnings("ignore:Mean of empty slice:RuntimeWarning")
@given(reductions())
def test_reductions_have_the_bits_of_two_steps(case: tuple) -> None:
    assert_same_bits(*run_both(*case))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize(("axis", "opset"), [(1, 11), (-2, 13), (-2, 18)])
@pytest.mark.parametrize("op_type", ["ReduceSum", "ReduceMean"])
def test_reductions_run_as_one_step(
    op_type: str, axis: int, opset: int, keepdims: int, dtype: str, steps: list[bool]
) -> None:
    random = np.random.default_rng(7)
    data, indices = random.integers(-9, 9, (5, 6)).astype(dtype), random.integers(-5, 5, (3, 8))
    made = reduce_model(op_type, dtype, [axis], keepdims, 13 if dtype == "bfloat16" else opset)
    one, two = run_both(made, {"data": data, "indices": indices})
    assert_same_bits(one, two)
    assert steps == [op_type == "ReduceSum" or dtype in FLOATS]
    if dtype in ("float64", "int64") and op_type == "ReduceSum":
        literal = [[sum(data[i, column] for i in bag) for column in range(6)] for bag in indices]
        np.testing.assert_array_equal(one.reshape(3, 6), literal)


def test_boxes_with_rows_that_differ_run_as_two_steps(steps: list[bool]) -> None:
    target = edges()["target"].repeat(4, axis=1)
    target[-1, -1] = (target[-1, 0] + 1) % 5
    inputs = edges() | {"init": np.zeros((5, 4), np.float32), "target": target}
    inputs["data"] = inputs.pop("x")
    assert_same_bits(*run_both(scatter_model("ScatterElements", "float32", "add"), inputs))
    assert steps == [False]


@pytest.mark.parametrize(
    ("op_type", "dtype", "shape", "members"),
    [
        ("ReduceSum", "float32", (6,), (3, 200)),  # NumPy adds single elements pairwise
        ("ReduceSum", "float32", (6, 1), (3, 200)),
        ("ReduceMean", "int64", (6, 4), (3, 5)),
    ],
)
def test_reductions_with_other_bits_run_as_two_steps(
    op_type: str, dtype: str, shape: tuple[int, ...], members: tuple[int, ...], steps: list[bool]
) -> None:
    random = np.random.default_rng(5)
    data, indices = (random.standard_normal(shape) * 9).astype(dtype), random.integers(0, 6, members)
    assert_same_bits(*run_both(reduce_model(op_type, dtype, [1], 0, 18), {"data": data, "indices": indices}))
    assert steps == [False]


EDGES = {"x": (np.float32, ["n", 4]), "source": (np.int64, ["e"]), "target": (np.int64, ["e", 1])}
OUT = {"out": (np.float32, ["n", 4])}
PAIR = [node("Gather", "x source", "rows"), node("ScatterND", "x target rows", "out", reduction="add")]


def edges(count: int = 40) -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    x = random.standard_normal((5, 4)).astype(np.float32)
    return {"x": x, "source": random.integers(0, 5, count), "target": random.integers(0, 5, (count, 1))}


def assert_steps(made: onnx.ModelProto, plan: str, inputs: dict[str, Any] | None = None) -> None:
    """Check the plan of a model. Its outputs must be the same as without fusion."""
    loaded: Any = load(made)
    assert loaded.plan == plan
    expected = load_onnx(made).run(inputs or edges())
    for name, result in loaded.run(inputs or edges()).items():
        assert_same_bits(result, expected[name])


def test_plan_names_both_nodes(steps: list[bool]) -> None:
    made = model([node("Identity", "x", "same"), *PAIR, node("Tanh", "out", "end")], EDGES, {"end": OUT["out"]})
    plan = " 1 Identity (1/4)\n 2 Gather (2/4) and ScatterND (3/4)\n 3 Tanh (4/4)"
    assert_steps(made, plan)
    assert steps == [True]


def test_progress_names_both_nodes() -> None:
    said: list[str] = []
    loaded = load(model(PAIR, EDGES, OUT))
    loaded.run(edges(), said.append)
    assert said == ["Gather (1/2)", "Gather (1/2) and ScatterND (2/2)"]
    assert len(said) == loaded.node_count


def test_nodes_may_lie_between_the_pair() -> None:
    nodes = [PAIR[0], node("Neg", "x", "init"), node("ScatterND", "init target rows", "out", reduction="add")]
    assert_steps(model(nodes, EDGES, OUT), " 1 Neg (2/3)\n 2 Gather (1/3) and ScatterND (3/3)")


@pytest.mark.parametrize(
    ("nodes", "outputs"),
    [
        (PAIR, {**OUT, "rows": (np.float32, ["e", 4])}),
        ([*PAIR, node("Neg", "rows", "more")], {**OUT, "more": (np.float32, ["e", 4])}),
        ([PAIR[0], node("ScatterND", "rows target rows", "out", reduction="add")], {"out": (np.float32, None)}),
        ([node("Gather", "x source", "rows", axis=1), node("ReduceSum", "rows", "out")], {"out": (np.float32, None)}),
    ],
)
def test_rows_that_something_else_reads_are_made(nodes: list, outputs: dict, steps: list[bool]) -> None:
    count = len(nodes)
    plan = "\n".join(f"{n:2} {each.op_type} ({n}/{count})" for n, each in enumerate(nodes, 1))
    inputs = edges() | ({"source": np.array([0, 1]), "target": np.array([[0], [1]])} if count == 2 else {})
    assert_steps(model(nodes, EDGES, outputs), plan, inputs)
    assert steps == []


def test_rows_that_a_subgraph_reads_are_made(steps: list[bool]) -> None:
    read = graph([node("Identity", "rows", "seen")], {}, {"seen": (np.float32, None)}, name="read")
    passed = graph([node("Identity", "x", "rows_too")], {}, {"rows_too": (np.float32, None)}, name="passed")
    nodes = [*PAIR, node("If", "flag", "more", then_branch=read, else_branch=passed)]
    made = model(nodes, EDGES, {**OUT, "more": (np.float32, None)}, {"flag": True})
    assert " and " not in load(made).plan  # type: ignore[attr-defined]
    run_both(made, edges())
    assert steps == []


def test_pairs_in_subgraphs_run_as_one_step(steps: list[bool]) -> None:
    branch = graph(PAIR, {}, OUT, name="branch")
    body = graph(
        [
            node("Gather", "x source", "rows"),
            node("ScatterND", "state target rows", "next", reduction="max"),
            node("Identity", "go", "still"),
        ],
        {"i": (np.int64, []), "go": (np.bool, []), "state": (np.float32, [5, 4])},
        {"still": (np.bool, []), "next": (np.float32, [5, 4])},
        name="body",
    )
    nodes = [
        node("If", "flag", "start", then_branch=branch, else_branch=branch),
        node("Loop", "trips - start", "out", body=body),
    ]
    made = model(nodes, EDGES, OUT, {"flag": True, "trips": np.array(3)})
    pair = "    1 Gather (1/2) and ScatterND (2/2)"
    plan = [" 1 If (1/2)", "   else_branch:", pair, "   then_branch:", pair, " 2 Loop (2/2)", "   body:"]
    plan += ["    1 Gather (1/3) and ScatterND (2/3)", "    2 Identity (3/3)"]
    assert_steps(made, "\n".join(plan))
    assert steps == [True] * 4


def test_pairs_in_functions_run_as_one_step(steps: list[bool]) -> None:
    layer = function("own", "Layer", "x source target", "out", PAIR)
    nodes = [
        node("Layer", "x source target", "middle", domain="own"),
        node("Layer", "middle source target", "out", domain="own"),
    ]
    made = model(nodes, EDGES, OUT, functions=[layer], domains={"own": 1})
    inner = "   function:\n    1 Gather (1/2) and ScatterND (2/2)"
    assert_steps(made, f" 1 own.Layer (1/2)\n{inner}\n 2 own.Layer (2/2)\n{inner}")
    assert steps == [True, True]


def test_attributes_of_functions_keep_nodes_apart() -> None:
    scatter = referring(node("ScatterND", "x target rows", "out"), "reduction", "how", onnx.AttributeProto.STRING)
    layer = function("own", "Layer", "x source target", "out", [PAIR[0], scatter], attributes=["how"])
    nodes = [node("Layer", "x source target", "out", domain="own", how="add")]
    made = model(nodes, EDGES, OUT, functions=[layer], domains={"own": 1})
    assert_steps(made, " 1 own.Layer (1/1)\n   function:\n    1 Gather (1/2)\n    2 ScatterND (2/2)")


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({"source": np.array([0, 5])}, "in node Gather (1/2)"),
        ({"source": np.array([0, -6])}, "in node Gather (1/2)"),
        ({"target": np.array([[5], [0]])}, "in node ScatterND (2/2)"),
        ({"target": np.array([[0], [-6]])}, "in node ScatterND (2/2)"),
        ({"target": np.array([[0]])}, "in node ScatterND (2/2)"),
    ],
)
def test_errors_are_those_of_two_steps(changes: dict, note: str, steps: list[bool]) -> None:
    made, inputs = model(PAIR, EDGES | {"target": (np.int64, None)}, OUT), edges(2) | changes
    errors = []
    for fuse in (True, False):
        with pytest.raises((ValueError, IndexError)) as caught:
            load_onnx(made, fuse=fuse).run(inputs)
        errors.append((type(caught.value), str(caught.value), caught.value.__notes__))
    assert errors[0] == errors[1]
    assert errors[0][2] == [note]
    assert steps == [False]


def test_time_limit_holds_for_a_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(*_: Any) -> None:
        while True:
            pass

    monkeypatch.setattr(fusion, "_run_at_once", wait)
    with pytest.raises(TimeoutError) as caught:
        gm.run(model(PAIR, EDGES, OUT), edges(), node_time_limit=0.05)
    assert caught.value.__notes__ == ["in node Gather (1/2) and ScatterND (2/2)"]


def test_small_pairs_run_as_two_steps(monkeypatch: pytest.MonkeyPatch, steps: list[bool]) -> None:
    monkeypatch.setattr(fusion, "LEAST_BYTES", 40 * 16 + 1)
    gm.run(model(PAIR, EDGES, OUT), edges())
    gm.run(model(PAIR, EDGES, OUT), edges(41))
    assert steps == [False, True]


def expanding(reader: onnx.NodeProto, **more: tuple) -> onnx.ModelProto:
    """Return a model that expands a line of indices to a box."""
    nodes = [node("Gather", "x source", "rows"), node("Expand", "target shape", "box"), reader]
    return model(nodes, EDGES, {"out": (np.float32, None), **more}, {"shape": np.array([1, 4])})


def test_expanded_indices_are_not_stored(steps: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[np.ndarray] = []
    find = fusion._find_line
    monkeypatch.setattr(fusion, "_find_line", lambda box: [seen.append(box), find(box)][1])
    made = expanding(node("ScatterElements", "x box rows", "out", reduction="add"))
    assert_steps(made, " 1 Expand (2/3)\n 2 Gather (1/3) and ScatterElements (3/3)")
    assert steps == [True]
    assert [(box.shape, box.strides) for box in seen] == [((40, 4), (8, 0))]


def test_expanded_indices_of_gather_elements_have_the_same_result() -> None:
    inputs = edges()
    for one in run_both(expanding(node("GatherElements", "rows box", "out")), inputs):
        gathered = inputs["x"][inputs["source"]]
        np.testing.assert_array_equal(one, gathered[inputs["target"][:, 0]])


def test_expanded_indices_that_are_an_output_are_stored() -> None:
    made = expanding(node("ScatterElements", "x box rows", "out", reduction="add"), box=(np.int64, None))
    box = gm.run(made, edges())["box"]
    assert box.flags.writeable
    assert box.strides == (32, 8)


def test_errors_of_an_expansion_are_those_of_its_node() -> None:
    made = expanding(node("ScatterElements", "x box rows", "out", reduction="add"))
    made.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.array([7, 4]), "shape"))
    errors = []
    for fuse in (True, False):
        with pytest.raises(ValueError, match="broadcast") as caught:
            load_onnx(made, fuse=fuse).run(edges())
        errors.append((str(caught.value), caught.value.__notes__))
    assert errors[0] == errors[1]


@pytest.mark.parametrize("which", ["zeros", "self", "any", "mean"])
def test_gathered_rows_take_no_memory(which: str, steps: list[bool]) -> None:
    random = np.random.default_rng(0)
    nodes, count, width = 500, 40_000, 128
    gathered = count * width * 4
    x = random.standard_normal((nodes, width)).astype(np.float32)
    source = random.integers(0, nodes, count)
    if which == "mean":
        loaded: Model = load(reduce_model("ReduceMean", "float32", [1], 0, 18))
        inputs = {"data": x, "indices": source.reshape(100, 400)}
    else:
        loaded = load(scatter_model("ScatterND", "float32", "add"))
        init = {"zeros": np.zeros_like(x), "self": x, "any": x + 1}[which]
        inputs = {"data": x, "source": source, "init": init, "target": random.integers(0, nodes, (count, 1))}
    peak = _peak(loaded, inputs)
    assert steps == [True]
    assert peak < gathered / 4  # some integers per row, and rows of 512 bytes


def _peak(loaded: Model, inputs: dict[str, np.ndarray]) -> int:
    """Return the peak memory of a run."""
    before = gs.pool_limit()
    gs.set_pool_limit(0)
    tracemalloc.start()
    try:
        loaded.run(inputs)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gs.set_pool_limit(before)

"""Inferred facts about a model's values hold when it runs, for every operator in ONNX's backend tests.

ONNX's backend tests contain a model, its inputs and its outputs. Each is examined twice: with declared inputs, and with
inputs as initializers, so that shapes and values are computed as well.
"""

from __future__ import annotations

import re
import warnings
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

from gatherscatter.arrays.tensor_files import to_tensor_proto
from gatherscatter_models.interface import ModelError
from gatherscatter_models.onnx.scopes import Scope, infer_functions, infer_model
from gatherscatter_models.onnx.tensors import ExternalData
from gatherscatter_models.onnx.value_info import ValueInfo
from tests.support.onnx_graphs import function, graph, model, node

F32, I64, BOOL = np.float32, np.int64, np.bool_


class Example(NamedTuple):
    """A backend test of ONNX."""

    name: str
    model: onnx.ModelProto
    inputs: list[Any]
    outputs: list[Any]


@cache
def examples() -> list[Example]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        return [Example(each.name, each.model, *each.data_sets[0]) for each in load_model_tests(kind="node")]


def infer(made: onnx.ModelProto) -> Scope:
    return infer_model(made, ExternalData())


def bare(example: Example) -> onnx.ModelProto:
    """Return the model without its value_info."""
    made = onnx.ModelProto()
    made.CopyFrom(example.model)
    del made.graph.value_info[:]
    for value in made.graph.output:
        value.ClearField("type")
    return made


def with_constants(example: Example) -> onnx.ModelProto:
    """Return the model with its inputs as initializers."""
    made = bare(example)
    declared = list(made.graph.input)
    del made.graph.input[:]
    for value, given in zip(declared, example.inputs, strict=False):
        if value.type.HasField("tensor_type"):
            tensor = made.graph.initializer.add()
            tensor.CopyFrom(as_tensor(given))
            tensor.name = value.name
        else:
            made.graph.input.append(value)
    return made


def as_tensor(value: Any) -> TensorProto:
    return value if isinstance(value, TensorProto) else to_tensor_proto(np.asarray(value), "")


def wrong(info: ValueInfo, tensor: TensorProto) -> str:
    """Return a description of the first false fact about a value, or an empty text."""
    dims = tuple(tensor.dims)
    if info.elem_type not in (0, tensor.data_type):
        return f"type {info.elem_type}, not {tensor.data_type}"
    if info.shape is not None and len(info.shape) != len(dims):
        return f"shape {info.shape}, not {dims}"
    if any(isinstance(said, int) and said != dim for said, dim in zip(info.shape or (), dims, strict=False)):
        return f"shape {info.shape}, not {dims}"
    if info.values is not None:
        found = numpy_helper.to_array(tensor).ravel().tolist()
        if len(found) != len(info.values):
            return f"values {info.values}, not {found}"
        if any(said not in (None, value) for said, value in zip(info.values, found, strict=True)):
            return f"values {info.values}, not {found}"
    return ""


@cache
def all_said() -> list[tuple[str, ValueInfo, TensorProto]]:
    """Return the inferred facts about the outputs of all examples, and the outputs."""
    found = []
    for example in examples():
        for made in (bare(example), with_constants(example)):
            scope = infer(made)
            for value, given in zip(example.model.graph.output, example.outputs, strict=True):
                if value.type.HasField("tensor_type"):
                    found.append((example.name, scope.find(value.name), as_tensor(given)))
    return found


def test_what_is_said_holds_for_all_examples_of_onnx() -> None:
    faults = [f"{name}: {fault}" for name, info, tensor in all_said() if (fault := wrong(info, tensor))]
    assert not faults


def test_most_is_known() -> None:
    """Types are known for nearly all operators, and shapes for most."""
    found = [info for _, info, _ in all_said()]
    assert len(found) > 4000
    assert sum(info.elem_type != 0 for info in found) > 0.95 * len(found)
    assert sum(info.shape is not None for info in found) > 0.9 * len(found)
    assert sum(info.values is not None for info in found) > 40


def test_examples_that_are_changed_raise_nothing() -> None:
    """Invalid attributes and inputs make outputs unknown. They never crash the process or raise."""
    rng = np.random.default_rng(0)
    for example in examples():
        made = with_constants(example)
        for each in made.graph.node:
            for attribute in each.attribute:
                if rng.random() < 0.3:
                    attribute.i = int(rng.choice([-(2**63), -3, -1, 0, 1, 2, 9, 2**40, 2**63 - 1]))
                    attribute.ints[:] = rng.choice([-9, -1, 0, 1, 2, 2**62], rng.integers(4)).tolist()
            if len(each.input) and rng.random() < 0.3:
                del each.input[int(rng.integers(len(each.input))) :]
            elif len(each.input) > 1 and rng.random() < 0.5:
                each.input.reverse()
            if rng.random() < 0.2:
                each.output.append("more")
        infer(made)


SIZES = [
    # Shapes that exporters compute: here for x[n, 2, 3].
    ([node("Shape", "x", "y")], "int64", (3,), (None, 2, 3)),
    ([node("Shape", "x", "y", start=1, end=-1)], "int64", (1,), (2,)),
    ([node("Size", "x", "y")], "int64", (), (None,)),
    ([node("Shape", "x", "s"), node("Gather", "s last", "y")], "int64", (), (3,)),
    ([node("Shape", "x", "s"), node("Gather", "s first", "y")], "int64", (1,), (None,)),
    ([node("Shape", "x", "s"), node("Slice", "s first last", "y")], "int64", (2,), (None, 2)),
    ([node("Shape", "x", "s"), node("Gather", "s last", "l"), node("Mul", "l first", "y")], "int64", (1,), (0,)),
    ([node("Shape", "x", "s"), node("Reshape", "x s", "y")], "float32", (None, 2, 3), None),
    ([node("Reshape", "x flat", "y")], "float32", (None,), None),
    ([node("Shape", "x", "s"), node("Concat", "s two", "c", axis=0), node("Expand", "one c", "y")],
     "float32", (None, 2, 3, 2), None),
    ([node("Shape", "x", "s"), node("ConstantOfShape", "s", "y")], "float32", (None, 2, 3), None),
    ([node("MatMul", "x w", "y")], "float32", ("n", 2, 4), None),
    ([node("Add", "x x", "y")], "float32", ("n", 2, 3), None),
    ([node("Transpose", "x", "y", perm=[2, 0, 1])], "float32", (3, "n", 2), None),
    ([node("Split", "x", "y z", axis=2, num_outputs=2)], "float32", ("n", 2, 2), None),
    ([node("Split", "x", "y z w", axis=2, num_outputs=2)], None, None, None),  # these crashed onnx.shape_inference
    ([node("Range", "big big big", "y")], "int64", (0,), ()),
    ([node("Shape", "x", "s", start=1), node("ReduceProd", "s", "y", noop_with_empty_axes=1)], "int64", (2,), None),
    ([node("Shape", "x", "s", start=1), node("ReduceProd", "s", "y")], "int64", (1,), (6,)),
]  # fmt: skip


@pytest.mark.parametrize(("nodes", "element_type", "shape", "values"), SIZES)
def test_sizes(nodes: list[onnx.NodeProto], element_type: str | None, shape: Any, values: Any) -> None:
    constants = {
        "last": -1,
        "first": [0],
        "flat": [-1],
        "one": np.ones(1, F32),
        "w": np.ones((3, 4), F32),
        "big": 2**62,
        "two": [2],
    }
    if any(each.op_type == "Slice" for each in nodes):
        constants["last"] = [-1]
    made = model(nodes, {"x": (F32, ["n", 2, 3])}, {}, constants)
    info = infer(made).find("y")
    assert (info.element_type, info.values) == (element_type, values)
    assert info.shape == shape or info.sizes == shape


def test_declared_sizes_cost_nothing() -> None:
    huge = 2**62
    nodes = [
        node("Shape", "x", "s"),
        node("ConstantOfShape", "s", "y"),
        node("Tile", "y s2", "t"),
        node("Range", "a b c", "r"),
        node("Range", "low high c", "r2"),
    ]
    constants = {"low": -(2**63), "high": 2**63 - 1, "a": 0, "b": huge, "c": 1, "s2": [huge, huge]}
    scope = infer(model(nodes, {"x": (F32, [huge, huge])}, {}, constants))
    assert scope.find("y").shape == (huge, huge)
    assert scope.find("t").shape is None  # too large for a size
    assert scope.find("r").shape == (huge,)
    assert not scope.find("r2").values


def test_vectors_of_declared_sizes_cost_nothing() -> None:
    """onnx-shape-inference 0.4 makes a name for each element of these vectors."""
    nodes = [node("Concat", "v v", "c", axis=0), node("Reshape", "x v", "y"), node("Expand", "x v", "z")]
    scope = infer(model(nodes, {"x": (F32, [2]), "v": (I64, [2**61])}, {}))
    assert scope.find("c").shape == (2**62,)
    assert scope.find("y").shape is None


NOT_ASSUMED = [
    # An unknown axis, or an axis of unknown size: onnx-shape-inference 0.4 makes assumptions that may be wrong.
    (node("Slice", "x first five", "y"), (None, 3, 1)),
    (node("Slice", "k first five axis", "y"), (None, None, None)),
    (node("Slice", "k first five last", "y"), (2, 3, 1)),
    (node("Squeeze", "k axis", "y"), None),
    (node("Squeeze", "k last", "y"), (2, 3)),
    (node("Squeeze", "k -", "y"), (2, 3)),
    (node("Slice", "k none none none", "y"), (2, 3, 1)),
    (node("Squeeze", "x last", "y"), ("n", 3)),
    (node("Pad", "k two_pads nothing axis", "y"), None),
    (node("Split", "k parts", "y y2"), (None, 3, 1)),
    (node("Split", "k one_and_one", "y y2"), (1, 3, 1)),
    (node("Unique", "k", "y", axis=0), None),
    (node("Add", "x m", "y"), (None, 3, 1)),  # n or m, whichever is not 1
    (node("Where", "flag x m", "y"), (None, 3, 1)),
    (node("Max", "k x m", "y"), (2, 3, 1)),
    (node("Sum", "x x", "y"), ("n", 3, 1)),
    (node("MatMul", "x m3", "y"), (None, 3, 2)),
    (node("Expand", "x sizes", "y"), (None, 3, None)),  # the other size can only be 1 or 3
    (node("Expand", "k sizes", "y"), (2, 3, None)),
    (node("Compress", "k bits", "y", axis=0), (None, 3, 1)),
    (node("ReduceSum", "k", "y", keepdims=2), None),
]


@pytest.mark.parametrize(("made", "shape"), NOT_ASSUMED)
def test_nothing_is_assumed(made: onnx.NodeProto, shape: Any) -> None:
    inputs = {"x": (F32, ["n", 3, 1]), "m": (F32, ["m", 3, 1]), "k": (F32, [2, 3, 1]), "axis": (I64, [1])}
    inputs |= {"sizes": (I64, [3]), "bits": (BOOL, [9])}
    inputs |= {"parts": (I64, [2]), "flag": (BOOL, []), "m3": (F32, ["m", 1, 2])}
    constants = {"first": [0], "five": [5], "last": [-1], "two_pads": [1, 1], "one_and_one": [1, 1]}
    constants |= {"none": np.zeros(0, I64)}
    nodes = [node("Constant", "", "nothing", value_float=0.0), made]
    nodes[0].ClearField("input")
    info = infer(model(nodes, inputs, {}, constants)).find("y")
    assert info.shape == shape


def test_later_declarations_give_types_only() -> None:
    made = model(
        [node("Unheard", "x", "v", domain="other"), node("Relu", "v", "y")], {"x": (F32, [2])}, {"y": (F32, [7])}
    )
    made.graph.value_info.append(onnx.helper.make_tensor_value_info("v", TensorProto.FLOAT, [5]))
    scope = infer(made)
    assert scope.find("v") == ValueInfo(TensorProto.FLOAT)
    assert scope.find("y") == ValueInfo(TensorProto.FLOAT)


def test_scopes() -> None:
    """A subgraph can read the outer values. Its own values hide them."""
    inner = graph([node("Neg", "a", "b")], {"a": (F32, None)}, {"b": (F32, None)}, {"hidden": np.ones(5, F32)})
    body = graph(
        [node("Identity", "go", "still"), node("Add", "state x", "next"), node("Gather", "table at", "row")],
        {"i": (I64, []), "go": (BOOL, []), "state": (F32, None)},
        {"still": (BOOL, None), "next": (F32, None), "row": (F32, None)},
        {"at": [0, 1]},
    )
    made = model(
        [node("Loop", "n - x", "last rows", body=body), node("If", "flag", "y", then_branch=inner, else_branch=inner)],
        {"x": (F32, [3]), "table": (F32, [9, 4]), "flag": (BOOL, [])},
        {},
        {"n": 2, "hidden": 1},
    )
    scope = infer(made)
    assert scope.find("last") == ValueInfo(TensorProto.FLOAT)  # its shape can change in each iteration
    assert scope.find("rows").shape == (None, 2, 4)
    assert scope.inner[0, "body"].find("table").shape == (9, 4)
    assert scope.inner[1, "then_branch"].find("hidden").shape == (5,)
    assert scope.find("hidden").shape == ()
    at = scope.inner[0, "body"].constant("at")
    assert at is not None
    assert at().tolist() == [0, 1]
    assert scope.constant("at") is None


def test_functions_are_followed_where_they_are_called() -> None:
    made = model(
        [node("pick", "x at", "y", domain="my", axis=1)],
        {"x": (F32, [3, 5])},
        {},
        {"at": [0, 1]},
        functions=[
            function("my", "pick", "a b", "c", [with_axis(node("Gather", "a b", "c"))], attributes=["axis"]),
        ],
        domains={"my": 1},
    )
    assert infer(made).find("y").shape == (3, 2)
    (scope,) = infer_functions(made, ExternalData())
    assert scope.find("c").shape is None


def with_axis(made: onnx.NodeProto) -> onnx.NodeProto:
    made.attribute.add(name="axis", ref_attr_name="axis", type=onnx.AttributeProto.INT)
    return made


def test_defaults_may_be_replaced_from_ir_version_4_on() -> None:
    made = model([node("Relu", "x", "y")], {"x": (F32, ["n"])}, {}, {"x": np.ones(3, F32)})
    assert infer(made).find("y").shape == ("n",)
    assert infer(made).constant("x") is None
    made.ir_version = 3
    assert infer(made).find("y").shape == (3,)
    assert infer(made).constant("x") is not None


def test_what_an_operator_refuses_is_an_error() -> None:
    scope = Scope(18)
    scope.add_constant("floats", np.ones(3, F32))
    scope.add_constant("integers", np.ones(3, I64))
    scope.add_constant("four", np.ones(4, F32))
    for refused, reason in (
        (node("Add", "floats integers", "y"), "type tensor(int64)"),
        (node("Add", "floats four", "y"), "broadcast"),
        (node("And", "floats floats", "y"), "does not take"),
        (node("Gather", "floats integers", "y", axis=3), "axis 3"),
    ):
        with pytest.raises(ModelError, match=re.escape(reason)):
            scope.add_node(refused)
        assert not scope.find("y").is_known

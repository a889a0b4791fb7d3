"""The nodes and layers around gathers and scatters: all that `convert` supports, in both directions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import gatherscatter_models as gm
from gatherscatter_models.interface import ModelError
from gatherscatter_models.openvino.conversion import from_onnx_nodes, to_onnx_layers
from gatherscatter_models.openvino.ir_write import IRWriter, Output
from tests.support.openvino_package import assert_same, run_in_openvino

X = np.arange(-6, 6, dtype=np.float32).reshape(2, 3, 2)
N = np.array([[7, -7, 3], [-1, 0, 6]])
D = np.array([[2, 3, -2], [5, -4, 4]])
T = np.array([[True, False, True], [False, False, True]])

# The result of each node, computed with NumPy.
NODES: dict[str, tuple[str, list[np.ndarray], Any]] = {
    "Abs": ("y = Abs (n)", [N], np.abs(N)),
    "Add": ("y = Add (n, d)", [N, D], N + D),
    "And": ("y = And (t, u)", [T, ~T[::-1]], T & ~T[::-1]),
    "Cast": ("y = Cast <to = 7> (x)", [X * 1.5], (X * 1.5).astype(np.int64)),
    "Concat": ("y = Concat <axis = -1> (n, d)", [N, D], np.concatenate([N, D], -1)),
    "ConstantOfShape": (
        "s = Shape (n) y = ConstantOfShape <value = int32[1] {7}> (s)",
        [N],
        np.full(N.shape, 7, np.int32),
    ),
    "Div": ("y = Div (n, d)", [N, D], np.trunc(N / D).astype(np.int64)),
    "Equal": ("y = Equal (n, d)", [N, D], N == D),
    "Expand": ("s = Constant <value_ints = [2, 1, 3]> () y = Expand (n, s)", [N], np.broadcast_to(N, (2, 2, 3))),
    "Greater": ("y = Greater (n, d)", [N, D], N > D),
    "GreaterOrEqual": ("y = GreaterOrEqual (n, d)", [N, D], N >= D),
    "Identity": ("z = Identity (n) y = Neg (z)", [N], -N),
    "Less": ("y = Less (n, d)", [N, D], N < D),
    "LessOrEqual": ("y = LessOrEqual (n, d)", [N, D], N <= D),
    "Mod": ("y = Mod (n, d)", [N, D], np.mod(N, D)),
    "Mod of C": ("y = Mod <fmod = 1> (n, d)", [N, D], np.fmod(N, D)),
    "Mul": ("y = Mul (n, d)", [N, D], N * D),
    "Neg": ("y = Neg (x)", [X], -X),
    "Not": ("y = Not (t)", [T], ~T),
    "Or": ("y = Or (t, u)", [T, T[::-1]], T | T[::-1]),
    "Range": (
        "a = Constant <value_int = 7> () b = Constant <value_int = -3> () c = Constant <value_int = -4> ()"
        "r = Range (a, b, c) y = Add (r, n)",
        [N],
        N + np.array([7, 3, -1]),
    ),
    "ReduceMax": ("a = Constant <value_ints = [1]> () y = ReduceMax <keepdims = 0> (n, a)", [N], N.max(1)),
    "ReduceMin": ("a = Constant <value_ints = [-1]> () y = ReduceMin (n, a)", [N], N.min(1, keepdims=True)),
    "ReduceProd": ("a = Constant <value_ints = [0, 1]> () y = ReduceProd (n, a)", [D], np.prod(D, keepdims=True)),
    "ReduceSum": ("a = Constant <value_ints = [0]> () y = ReduceSum (n, a)", [N], N.sum(0, keepdims=True)),
    "Reshape": ("s = Constant <value_ints = [0, -1]> () y = Reshape (x, s)", [X], X.reshape(2, 6)),
    "Shape": ("y = Shape (x)", [X], np.array(X.shape)),
    "Shape of some": ("y = Shape <start = -2, end = -1> (x)", [X], np.array(X.shape[-2:-1])),
    "Slice": (
        "a = Constant <value_ints = [-1, 0]> () b = Constant <value_ints = [-9, 2]> () "
        "c = Constant <value_ints = [1, 0]> ()"
        "d = Constant <value_ints = [-2, 1]> () y = Slice (x, a, b, c, d)",
        [X],
        X[0:2, ::-2],
    ),
    "Slice by default": (
        "a = Constant <value_ints = [1]> () b = Constant <value_ints = [9]> () y = Slice (x, a, b)",
        [X],
        X[1:],
    ),
    "Split": ("y, z, v = Split <axis = 1, num_outputs = 3> (n)", [N], N[:, :1]),
    "Split by lengths": ("s = Constant <value_ints = [1, 2]> () z, y = Split <axis = 1> (n, s)", [N], N[:, 1:]),
    "Squeeze": ("a = Constant <value_ints = [-1]> () u = Unsqueeze (n, a) y = Squeeze (u, a)", [N], N),
    "Squeeze all": ("a = Constant <value_ints = [0]> () u = Unsqueeze (n, a) y = Squeeze (u)", [N], N),
    "Sub": ("y = Sub (n, d)", [N, D], N - D),
    "Transpose": ("y = Transpose <perm = [1, 2, 0]> (x)", [X], X.transpose(1, 2, 0)),
    "Transpose reversed": ("y = Transpose (x)", [X], X.T),
    "Unsqueeze": ("a = Constant <value_ints = [0, 2]> () y = Unsqueeze (n, a)", [N], N[None, :, None]),
    "Where": ("y = Where (t, n, d)", [T, N, D], np.where(T, N, D)),
    "Xor": ("y = Xor (t, u)", [T, T[::-1]], T ^ T[::-1]),
}
KINDS = {"float32": "float", "int64": "int64", "bool": "bool"}
NAMES = {"float32": "xw", "int64": "nd", "bool": "tu"}


def onnx_model(text: str, arrays: list[np.ndarray], expected: Any) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """Return the nodes as a model whose inputs are named by their types."""
    left = {kind: list(names) for kind, names in NAMES.items()}
    inputs = {left[array.dtype.name].pop(0): array for array in arrays}
    declared = [f"{KINDS[array.dtype.name]}[{','.join(map(str, array.shape))}] {name}"
                for name, array in inputs.items()]  # fmt: skip
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.asarray(expected).dtype)
    made = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 18]> g ({", ".join(declared)}) => (float y) {{ {text} }}'
    )
    made.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("y", kind, None))
    return made, inputs


def test_every_node_is_tried() -> None:
    assert set(from_onnx_nodes._RULES) <= {name.partition(" ")[0] for name in NODES}


@pytest.mark.parametrize("name", NODES)
def test_a_node_as_a_layer_and_back(name: str, tmp_path: Path) -> None:
    text, arrays, expected = NODES[name]
    model, inputs = onnx_model(text, arrays, expected)
    path = gm.openvino.convert(model).save(tmp_path / "m.xml")
    for source in (path, gm.openvino.convert(path).model):
        result = gm.run(source, inputs)["y"]
        np.testing.assert_array_equal(result, expected)
        assert result.dtype == np.asarray(expected).dtype
    assert_same(gm.run(path, inputs), run_in_openvino(path, inputs))


def layer(kind: str, version: str, *more: Any, attributes: dict | None = None, outputs: list[str] | None = None) -> Any:
    """Return a layer of x and constants."""

    def add(writer: IRWriter, x: Output) -> Output:
        return writer.layer(kind, version, [x, *more], attributes=attributes, outputs=outputs)

    return add


def part(number: int, kind: str, *more: Any, **attributes: int) -> Any:
    def add(writer: IRWriter, x: Output) -> Output:
        first = writer.layer(kind, "opset1", [x, *more], attributes=attributes, outputs=[x.element_type.name] * 3)
        return first.output(number)

    return add


MASKS = {"new_axis_mask": "", "shrink_axis_mask": "", "ellipsis_mask": ""}
WHOLE = np.arange(12, dtype=np.int32).reshape(2, 3, 2) - 5
# Layers that converted ONNX models do not have, or have in another form.
LAYERS: dict[str, tuple[np.ndarray, Callable[[IRWriter, Output], Output], Any]] = {
    "Broadcast": (WHOLE[0], layer("Broadcast", "opset3", np.array([4, 3, 2])), np.broadcast_to(WHOLE[0], (4, 3, 2))),
    "ConvertLike": (WHOLE, layer("ConvertLike", "opset1", np.float32(1)), WHOLE.astype(np.float32)),
    "Convert": (
        WHOLE,
        layer("Convert", "opset1", attributes={"destination_type": "u8"}, outputs=["u8"]),
        WHOLE.astype(np.uint8),
    ),
    "Identity": (WHOLE, layer("Identity", "opset16"), WHOLE),
    "Range": (
        np.int32(2),
        layer("Range", "opset4", np.int32(9), np.int32(3), attributes={"output_type": "i64"}, outputs=["i64"]),
        np.array([2, 5, 8]),
    ),
    "ShapeOf": (
        WHOLE,
        layer("ShapeOf", "opset3", attributes={"output_type": "i32"}, outputs=["i32"]),
        np.int32([2, 3, 2]),
    ),
    "Slice": (WHOLE, layer("Slice", "opset8", np.array([0, 1]), np.array([9, 9]), np.array([1, 1])), WHOLE[:, 1:]),
    "Split": (WHOLE, part(2, "Split", np.int64(1), num_splits=3), WHOLE[:, 2:]),
    "VariadicSplit": (WHOLE, part(1, "VariadicSplit", np.int64(1), np.array([1, 1, 1])), WHOLE[:, 1:2]),
    "Squeeze": (WHOLE[None], layer("Squeeze", "opset1", np.array([0, 1])), WHOLE),
    "StridedSlice": (
        WHOLE,
        layer(
            "StridedSlice",
            "opset1",
            np.array([5, 1, 0]),
            np.array([0, 9, 1]),
            np.array([1, 2, 1]),
            attributes={"begin_mask": "1,0,1", "end_mask": "1,0,0", **MASKS},
        ),
        WHOLE[:, 1:9:2, :1],
    ),
    "Divide": (
        WHOLE,
        layer("Divide", "opset1", np.int32(4), attributes={"m_pythondiv": False}),
        np.trunc(WHOLE / 4).astype("i4"),
    ),
    "Transpose": (WHOLE, layer("Transpose", "opset1", np.array([], np.int64)), WHOLE.T),
    "Unsqueeze": (WHOLE, layer("Unsqueeze", "opset1", np.int64(-1)), WHOLE[..., None]),
}


def ir_file(array: np.ndarray, add: Callable[[IRWriter, Output], Output], path: Path) -> Path:
    writer = IRWriter()
    x = writer.parameter("x", {"int32": "i32", "float32": "f32"}[array.dtype.name], list(array.shape))
    writer.result("y", add(writer, x))
    return writer.save(path)


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_as_nodes_and_back(name: str, tmp_path: Path) -> None:
    array, add, expected = LAYERS[name]
    path = ir_file(array, add, tmp_path / "m.xml")
    model = gm.openvino.convert(path).model
    back = gm.openvino.convert(model).save(tmp_path / "back.xml")
    for source in (path, model, back):
        result = gm.run(source, {"x": array})["y"]
        np.testing.assert_array_equal(result, expected)
        assert result.dtype == expected.dtype
    np.testing.assert_array_equal(run_in_openvino(path, {"x": array})[0], expected)


def test_every_layer_is_tried() -> None:
    """Each layer is tested here, or on the way back of a node."""
    from gatherscatter_models.openvino.conversion.mapping import ELEMENTWISE, REDUCTIONS_OF_AXES

    of_nodes = {theirs for theirs, _ in ELEMENTWISE.values()} | {*REDUCTIONS_OF_AXES}
    of_nodes |= {"Concat", "FloorMod", "Mod", "Reshape"}
    assert set(to_onnx_layers._RULES) <= of_nodes | set(LAYERS)


@pytest.mark.parametrize(
    ("array", "add", "reason"),
    [
        (WHOLE, layer("Divide", "opset1", np.int32(4)), "Divide with m_pythondiv rounds down"),
        (X, layer("ReduceSum", "opset1", np.array([0])), "ReduceSum of float32 may round"),
        (X, layer("FloorMod", "opset1", np.float32(2)), "FloorMod of integers only"),
        (
            WHOLE[0],
            layer("Broadcast", "opset3", np.array([3, 2]), np.array([0, 1]), attributes={"mode": "explicit"}),
            "Broadcast of mode explicit",
        ),
    ],
)
def test_a_layer_of_another_meaning_is_refused(array: np.ndarray, add: Any, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=f"it can't be converted exactly: .*{reason}"):
        gm.openvino.convert(ir_file(array, add, tmp_path / "m.xml"))


@pytest.mark.parametrize(
    ("text", "arrays", "reason"),
    [
        ("y = Mod <fmod = 1> (x, w)", [X, X + 20], "only the Mod of integers"),
        ("a = Constant <value_ints = [0]> () y = ReduceSum (x, a)", [X], "ReduceSum of float32 may round"),
    ],
)
def test_a_node_of_another_meaning_is_refused(text: str, arrays: list[np.ndarray], reason: str) -> None:
    model, _ = onnx_model(text, arrays, np.float32(0))
    with pytest.raises(ModelError, match=f"it can't be converted exactly: .*{reason}"):
        gm.openvino.convert(model)


def test_axes_as_attributes_of_older_versions(tmp_path: Path) -> None:
    text = """
        a = Unsqueeze <axes = [0]> (n)
        b = Squeeze <axes = [0]> (a)
        c = Slice <axes = [1], starts = [0], ends = [-1]> (b)
        y = ReduceSum <axes = [1], keepdims = 0> (c)
    """
    model, inputs = onnx_model(text, [N], N[:, 0])
    model.opset_import[0].version = 9
    path = gm.openvino.convert(model).save(tmp_path / "m.xml")
    assert gm.run(path, inputs)["y"].tolist() == N[:, :-1].sum(1).tolist()

"""Every layer around the operator family, at least once, compared with the openvino package on the same file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest
from ml_dtypes import bfloat16

from gatherscatter_models.interface import ModelError
from gatherscatter_models.openvino.element_types import from_dtype
from gatherscatter_models.openvino.ir import load_ir
from gatherscatter_models.openvino.ir_write import IRWriter
from gatherscatter_models.openvino.layers.table import LAYERS
from tests.support.openvino_package import assert_same, run_in_openvino


class Case(NamedTuple):
    """One layer. ``data`` become inputs of the model. ``constants`` follow them as inputs of the layer."""

    kind: str
    version: str
    data: list[np.ndarray]
    constants: Sequence[Any] = ()
    attributes: Mapping[str, object] = MappingProxyType({})
    outputs: list[str] | None = None

    def __str__(self) -> str:
        return f"{self.kind}-{self.data[0].dtype}-{dict(self.attributes)}"


def f32(*shape: int) -> np.ndarray:
    """Return values of both signs with fractions and without ties."""
    size = int(np.prod(shape))
    return (((np.arange(size) * 37) % 101 - 50) / 8).astype(np.float32).reshape(shape)


def i32(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def i64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def b(*values: int) -> np.ndarray:
    return np.array(values, np.bool_)


A, B = f32(2, 3, 1), f32(4) + np.float32(0.3)
POSITIVE = np.abs(f32(3, 4)) + np.float32(0.5)
ARITHMETIC = ["Add", "Subtract", "Multiply", "Maximum", "Minimum"]
COMPARISONS = ["Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"]
UNARY = ["Abs", "Negative", "Sign", "Exp", "Floor", "Ceiling", "ReLU", "Sigmoid", "Tanh"]
REDUCTIONS = ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceProd"]

CASES = [
    *(Case(kind, "opset1", [A, B]) for kind in (*ARITHMETIC, "Divide", "Mod", "FloorMod")),
    *(Case(kind, "opset1", [i32(7, -5, 3), i32(2, 2, 3)]) for kind in (*ARITHMETIC, "Mod", "FloorMod")),
    *(Case(kind, "opset1", [i32(7, 5), i32(2, 2)], [], {"auto_broadcast": "none"}) for kind in ("Divide", "Add")),
    Case("Add", "opset1", [f32(2, 3).astype(np.float16), f32(3).astype(np.float16)]),
    Case("Add", "opset1", [np.array([100, 200], np.uint8), np.array([1, 2], np.uint8)]),
    Case("Power", "opset1", [POSITIVE], [np.float32(1.5)]),
    Case("Power", "opset1", [i32(2, -3, 4)], [i32(3)]),
    *(Case(kind, "opset1", [A, np.round(B)], [], {}, ["boolean"]) for kind in COMPARISONS),
    *(Case(kind, "opset1", [i64(1, 2, 3), i64(2)], [], {}, ["boolean"]) for kind in COMPARISONS),
    *(Case(kind, "opset1", [b(0, 0, 1, 1), b(0, 1, 0, 1)]) for kind in ("LogicalAnd", "LogicalOr", "LogicalXor")),
    Case("LogicalNot", "opset1", [b(0, 1)]),
    Case("Select", "opset1", [b(0, 1, 1)], [f32(2, 3), f32(1)], {}, ["f32"]),
    Case("Select", "opset1", [b(0, 1, 1)], [i64(1, 2, 3), i64(4, 5, 6)], {"auto_broadcast": "none"}, ["i64"]),
    *(Case(kind, "opset1", [f32(3, 4)]) for kind in UNARY),
    *(Case(kind, "opset1", [POSITIVE]) for kind in ("Sqrt", "Log")),
    *(Case(kind, "opset1", [i32(-2, 0, 3)]) for kind in UNARY),
    *(Case(kind, "opset1", [i32(1, 2, 3, 10)]) for kind in ("Sqrt", "Log")),
    Case("Clamp", "opset1", [f32(7)], [], {"min": -1.5, "max": 2.5}),
    Case("Clamp", "opset1", [i32(-4, -1, 0, 2, 3)], [], {"min": -1.5, "max": 2.5}),
    Case("Clamp", "opset1", [np.array([0, 1, 9], np.uint8)], [], {"min": -1.5, "max": "inf"}),
    *(Case(kind, "opset1", [f32(2, 3, 4)], [i64(0, -1)]) for kind in REDUCTIONS),
    *(Case(kind, "opset1", [f32(2, 3)], [np.int64(1)], {"keep_dims": True}) for kind in REDUCTIONS),
    *(Case(kind, "opset1", [i32(-2, -3, -5)], [i64(0)]) for kind in REDUCTIONS),
    Case("ReduceMean", "opset1", [f32(2, 3).astype(np.float16)], [i64(1)]),
    Case("CumSum", "opset3", [f32(2, 3)], [np.int64(1)]),
    Case("CumSum", "opset3", [f32(2, 3)], [np.int64(0)], {"exclusive": True, "reverse": False}),
    Case("CumSum", "opset3", [i32(1, 2, 3)], [np.int64(-1)], {"exclusive": True, "reverse": True}),
    Case("MatMul", "opset1", [f32(2, 3, 4), f32(4, 5)]),
    Case("MatMul", "opset1", [f32(4, 3), f32(5, 4)], [], {"transpose_a": True, "transpose_b": True}),
    Case("MatMul", "opset1", [f32(3), f32(3)]),
    Case("MatMul", "opset1", [f32(3), f32(2, 3)], [], {"transpose_a": True, "transpose_b": True}),
    Case("SoftMax", "opset8", [f32(2, 3, 4)], [], {"axis": -2}),
    Case("SoftMax", "opset1", [f32(2, 3)], [], {"axis": 1}),
    Case("ShapeOf", "opset1", [f32(2, 3)], [], {}, ["i64"]),
    Case("ShapeOf", "opset3", [f32(2, 3)], [], {"output_type": "i32"}, ["i32"]),
    Case("ShapeOf", "opset3", [np.array(1, np.float32)], [], {"output_type": "i64"}, ["i64"]),
    Case("Reshape", "opset1", [f32(2, 3, 4)], [i64(0, -1)], {"special_zero": True}),
    Case("Reshape", "opset1", [f32(2, 3, 4)], [i32(4, -1)], {"special_zero": False}),
    Case("Reshape", "opset1", [f32(1, 1)], [np.zeros(0, np.int64)], {"special_zero": False}),
    Case("Squeeze", "opset1", [f32(1, 3, 1)]),
    Case("Squeeze", "opset1", [f32(1, 3, 1)], [i64(-1)]),
    Case("Squeeze", "opset15", [f32(1, 3, 1)], [np.int64(0)], {"allow_axis_skip": False}),
    Case("Squeeze", "opset1", [f32(1, 3, 1)], [i64(0, 1)]),
    Case("Unsqueeze", "opset1", [f32(2, 3)], [i64(0, -1)]),
    Case("Unsqueeze", "opset1", [f32(2, 3)], [np.int64(1)]),
    Case("Transpose", "opset1", [f32(2, 3, 4)], [i64(2, 0, 1)]),
    Case("Transpose", "opset1", [f32(2, 3, 4)], [np.zeros(0, np.int64)]),
    Case("Broadcast", "opset1", [f32(3, 1)], [i64(2, 3, 4)], {"mode": "numpy"}),
    Case("Broadcast", "opset3", [f32(3)], [i64(2, 3, 4), i64(1)], {"mode": "explicit"}),
    Case("Broadcast", "opset3", [f32(2, 3)], [i64(2, 3, 4), i64(0, 1)], {"mode": "explicit"}),
    Case("Broadcast", "opset3", [f32(3, 4)], [i64(2, 1, 4)], {"mode": "bidirectional"}),
    Case("Tile", "opset1", [f32(2, 3)], [i64(2, 1, 2)]),
    Case("Tile", "opset1", [f32(2, 3)], [i64(3)]),
    Case("Concat", "opset1", [f32(2, 3), f32(2, 1), f32(2, 2)], [], {"axis": -1}),
    Case("Split", "opset1", [f32(4, 3)], [np.int64(0)], {"num_splits": 2}, ["f32", "f32"]),
    Case("VariadicSplit", "opset1", [f32(4, 5)], [np.int64(-1), i64(1, -1, 2)], {}, ["f32"] * 3),
    Case("VariadicSplit", "opset1", [f32(4, 2)], [np.int64(0), i64(3, 1)], {}, ["f32"] * 2),
    Case("Slice", "opset8", [f32(5, 6)], [i64(1, -1), i64(100, -100), i64(2, -2)]),
    Case("Slice", "opset8", [f32(5, 6)], [i64(-2), i64(2**31 - 1), i64(1), i64(-1)]),
    Case("Pad", "opset1", [f32(2, 3)], [i64(0, 1), i64(2, 3)], {"pad_mode": "constant"}),
    Case("Pad", "opset12", [f32(3, 4)], [i64(2, -1), i64(-1, 3), np.float32(9)], {"pad_mode": "constant"}),
    *(Case("Pad", "opset12", [f32(3, 4)], [i64(0, 1), i64(2, 3)], {"pad_mode": mode}) for mode in ("edge", "reflect")),
    Case("Pad", "opset12", [f32(3, 4)], [i64(3, -1), i64(0, 3)], {"pad_mode": "symmetric"}),
    Case("Range", "opset4", [i64(2)[0], i64(23)[0], i64(3)[0]], [], {"output_type": "i64"}),
    Case("Range", "opset4", [i64(23)[0], i64(2)[0], i64(-3)[0]], [], {"output_type": "i32"}, ["i32"]),
    Case("Range", "opset4", [np.float32(1), np.float32(2.5), np.float32(0.5)], [], {"output_type": "f32"}),
    Case("NonZero", "opset3", [b(0, 1, 1).reshape(1, 3)], [], {"output_type": "i64"}, ["i64"]),
    Case("NonZero", "opset3", [np.array(3, np.float32)], [], {"output_type": "i32"}, ["i32"]),
    Case("Convert", "opset1", [np.array([1.7, -1.7, 0], np.float32)], [], {"destination_type": "i32"}, ["i32"]),
    Case("Convert", "opset1", [np.array([0.3, -1.7, 0], np.float32)], [], {"destination_type": "boolean"}, ["boolean"]),
    Case("Convert", "opset1", [b(0, 1)], [], {"destination_type": "i64"}, ["i64"]),
    Case("Convert", "opset1", [f32(5)], [], {"destination_type": "f16"}, ["f16"]),
    Case("ConvertLike", "opset8", [f32(5)], [i32(1)], {}, ["i32"]),
    *(
        Case(
            "TopK",
            "opset11",
            [f32(3, 7)],
            [np.int64(3)],
            {"axis": axis, "mode": mode, "sort": sort, "index_element_type": "i64", "stable": sort != "none"},
            ["f32", "i64"],
        )
        for axis, mode, sort in [(1, "max", "value"), (-1, "min", "value"), (0, "max", "index"), (1, "min", "index")]
    ),
    Case(
        "TopK",
        "opset11",
        [i32(5, 3, 5, 5, 1)],
        [np.int64(2)],
        {"axis": 0, "mode": "max", "sort": "value", "stable": True},
        ["i32", "i32"],
    ),
]

# OpenVINO requires the masks of one layer to have the same length.
SLICES: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], dict[str, list[int]]]] = [
    ((1, 0, 1), (2, 3, 4), (1, 2, 1), {}),
    ((0, -1, 0), (2, 0, -1), (1, -1, 2), {}),
    ((5, -9, 0), (9, 9, 9), (1, 1, 1), {}),
    ((1, 9, 9), (0, 9, 2), (1, 1, -1), {"begin_mask": [0, 1, 1], "end_mask": [1, 1, 0]}),
    ((0, 0, 0), (0, 0, 0), (1, 1, -1), {"begin_mask": [1, 1, 1], "end_mask": [1, 1, 1]}),
    ((0, 1, 0), (0, 1, 2), (1, 1, 1), {"shrink_axis_mask": [1, 1, 0]}),
    ((-1,), (0,), (1,), {"shrink_axis_mask": [1]}),
    ((0, 0, 1), (0, 2, 2), (1, 1, 1), {"new_axis_mask": [1, 0, 0]}),
    ((0, 9, 1), (1, 9, 3), (1, 1, 1), {"ellipsis_mask": [0, 1, 0]}),
    ((0, 9, 0, 1), (1, 9, 0, 3), (1, 1, 1, 1), {"ellipsis_mask": [0, 1, 0, 0], "new_axis_mask": [0, 0, 1, 0]}),
    ((1,), (2,), (1,), {}),
]
CASES += [
    Case(
        "StridedSlice",
        "opset1",
        [f32(2, 3, 4)],
        [i64(*begin), i64(*end), i64(*step)],
        {"begin_mask": [0] * len(begin), "end_mask": [0] * len(begin)} | masks,
    )
    for begin, end, step, masks in SLICES
]


def write(case: Case, path: Path, *, declared: bool = True) -> dict[str, np.ndarray]:
    """Write the case as a model file and return its inputs."""
    writer = IRWriter(case.kind)
    names = [f"in{i}" for i in range(len(case.data))]
    inputs = [
        writer.parameter(name, from_dtype(array.dtype).name, array.shape if declared else None)
        for name, array in zip(names, case.data, strict=True)
    ]
    layer = writer.layer(
        case.kind, case.version, [*inputs, *case.constants], attributes=case.attributes, outputs=case.outputs
    )
    for port, element_type in enumerate(case.outputs or [layer.element_type.name]):
        writer.result(f"out{port}", layer.output(port, element_type))
    writer.save(path)
    return dict(zip(names, map(np.asarray, case.data), strict=True))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_layer_equals_openvino(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "model.xml"
    inputs = write(case, path)
    assert_same(load_ir(path).run(inputs), run_in_openvino(path, inputs))


def test_every_layer_of_the_table_has_a_case() -> None:
    assert set(LAYERS) - {case.kind for case in CASES} == {"Identity"}  # OpenVINO's CPU plugin does not have Identity


def result(case: Case, tmp_path: Path, *, declared: bool = True) -> np.ndarray:
    inputs = write(case, tmp_path / "model.xml", declared=declared)
    return next(iter(load_ir(tmp_path / "model.xml").run(inputs).values()))


def test_integer_division_floors_by_default(tmp_path: Path) -> None:
    """The specification requires this. The CPU plugin rounds towards zero for either value of m_pythondiv."""
    a, divisor = i32(7, -7, 7, -7, -6), i32(2, 2, -2, -2, 3)
    assert result(Case("Divide", "opset1", [a, divisor]), tmp_path).tolist() == [3, -4, -4, 3, -2]
    cut = Case("Divide", "opset1", [a, divisor], [], {"m_pythondiv": False})
    assert result(cut, tmp_path).tolist() == [3, -3, -3, 3, -2]


def test_integers_wrap_in_their_own_type(tmp_path: Path) -> None:
    """The CPU plugin saturates small integers, and computes 64-bit integers in 32 bits."""
    total = result(Case("ReduceSum", "opset1", [np.array([100, 100], np.int8)], [i64(0)]), tmp_path)
    assert (total.dtype, total.tolist()) == (np.int8, -56)
    product = result(Case("Multiply", "opset1", [i64(2**40), i64(3)]), tmp_path)
    assert product.tolist() == [3 * 2**40]


def test_a_range_of_integers_cuts_its_inputs_first(tmp_path: Path) -> None:
    """The specification requires that values are cast to the output type, towards zero, before counting."""
    ends = [np.float32(1.7), np.float32(5.9), np.float32(1.5)]
    assert result(Case("Range", "opset4", ends, [], {"output_type": "i32"}, ["i32"]), tmp_path).tolist() == [1, 2, 3, 4]
    empty = Case("Range", "opset4", [i64(5)[0], i64(7)[0], i64(-2)[0]], [], {"output_type": "i64"})
    assert result(empty, tmp_path).tolist() == []


def test_half_types_stay_and_round_once(tmp_path: Path) -> None:
    """257 is not a bfloat16: adding one at a time would stay at 256."""
    for kind, opset, constant in (("ReduceSum", "opset1", i64(0)), ("CumSum", "opset3", np.int64(0))):
        total = result(Case(kind, opset, [np.ones(300, bfloat16)], [constant]), tmp_path)
        assert (total.dtype, float(total.ravel()[-1])) == (bfloat16, 300.0)
    halves = np.array([1.5, -2.5], bfloat16)
    for kind in ("Add", "Multiply", "Divide", "Maximum", "Subtract", "Mod", "Power"):
        assert result(Case(kind, "opset1", [halves, np.abs(halves)]), tmp_path).dtype == bfloat16
    for kind in UNARY:
        assert result(Case(kind, "opset1", [halves]), tmp_path).dtype == bfloat16
    for kind in REDUCTIONS:
        assert result(Case(kind, "opset1", [halves], [i64(0)]), tmp_path).dtype == bfloat16


def test_reduction_over_no_axes_changes_nothing(tmp_path: Path) -> None:
    """The specification requires this. The CPU plugin refuses the model."""
    assert result(Case("ReduceSum", "opset1", [i32(1, 2)], [np.zeros(0, np.int64)]), tmp_path).tolist() == [1, 2]


def test_identity(tmp_path: Path) -> None:
    assert result(Case("Identity", "opset16", [i32(1, 2)]), tmp_path).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (Case("Add", "opset1", [f32(2), f32(3)]), "could not be broadcast"),
        (Case("Add", "opset1", [f32(2), f32(1)], [], {"auto_broadcast": "none"}), r"shapes \(2,\), \(1,\)"),
        (Case("Add", "opset1", [f32(2), f32(1)], [], {"auto_broadcast": "pdpd"}), "'pdpd', not one of numpy, none"),
        (Case("Divide", "opset1", [i32(1), i32(0)]), "integer division by zero"),
        (Case("Power", "opset1", [i32(2), i32(-1)]), "negative integer powers"),
        (Case("Reshape", "opset1", [f32(2, 3)], [i64(4, -1)], {"special_zero": False}), r"has 6 elements"),
        (Case("Transpose", "opset1", [f32(2, 3)], [i64(1, 0, 2)]), "axis 2 is out of range for rank 2"),
        (Case("Concat", "opset1", [f32(2), f32(2)], [], {"axis": 1}), "axis 1 is out of range for rank 1"),
        (Case("Split", "opset1", [f32(3)], [np.int64(0)], {"num_splits": 2}), "2 equal parts"),
        (Case("Range", "opset4", [i64(0)[0], i64(1)[0], i64(0)[0]], [], {"output_type": "i64"}), "step is zero"),
        (Case("Range", "opset4", [i64(0)[0], i64(2**62)[0], i64(1)[0]], [], {"output_type": "i64"}), "memory"),
        (Case("Tile", "opset1", [f32(2)], [i64(2**62)]), "memory"),
        (Case("Pad", "opset12", [f32(2)], [i64(2), i64(0)], {"pad_mode": "reflect"}), "exceed"),
        (Case("TopK", "opset3", [f32(2)], [np.int64(3)], {"axis": 0, "mode": "max", "sort": "none"}), "k is 3"),
    ],
    ids=str,
)
def test_what_a_layer_refuses(case: Case, message: str, tmp_path: Path) -> None:
    """OpenVINO finds some of these mistakes itself, if shapes are declared."""
    with pytest.raises(ModelError, match=message) as error:
        result(case, tmp_path, declared=False)
    assert f"({case.kind})" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "case",
    [
        Case("Add", "opset1", [f32(2), i32(1, 2)]),
        Case("Add", "opset1", [f32(2), f32(3)]),
        Case("Add", "opset1", [f32(2)]),
        Case("Reshape", "opset1", [f32(2, 3)], [i64(-1, -1)], {"special_zero": False}),
        Case("Concat", "opset1", [f32(2), f32(2)], [], {"axis": "first"}),
        Case("Split", "opset1", [f32(4)], [np.int64(0)], {"num_splits": 2}, ["f32"] * 3),
        Case("LogicalAnd", "opset1", [f32(2), f32(2)]),
        Case("Clamp", "opset1", [f32(2)], [], {"min": "low", "max": 1}),
    ],
    ids=str,
)
def test_what_openvino_refuses(case: Case, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"^model.xml: OpenVINO can't read it: ") as error:
        result(case, tmp_path)
    assert "\n" not in str(error.value)

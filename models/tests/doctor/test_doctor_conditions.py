"""The conditions of findings, compared with counts by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.specs import ops
from gatherscatter_models.doctor import examine
from gatherscatter_models.doctor.page import condition_text
from gatherscatter_models.findings import catalog, verdicts
from gatherscatter_models.findings.conditions import COUNTED
from gatherscatter_models.findings.nodes import Operand, Site, collect_call_values, collect_static_values
from gatherscatter_models.findings.verdicts import record_of
from gatherscatter_models.openvino.ir_write import IRWriter

F32, I64, U32, BF16 = np.float32, np.int64, np.uint32, ml_dtypes.bfloat16


def test_every_condition_of_the_findings_is_counted() -> None:
    assert COUNTED.keys() >= catalog.CONDITIONS.keys()


def test_findings_that_are_named_exist() -> None:
    assert verdicts.SETTINGS.keys() <= {finding.setting for finding in catalog.load()}


ND = {"data": np.zeros((4, 3), F32), "indices": np.zeros((1, 1), I64), "updates": np.zeros((1, 3), F32)}
BOX = {"data": np.zeros((4, 3), F32), "indices": np.zeros((2, 3), I64), "updates": np.zeros((2, 3), F32)}
CACHE = {"past_cache": np.zeros((2, 5, 1)), "update": np.zeros((2, 2, 1))}
BEAMS = {  # each of the three steps has one bad parent
    "step_ids": np.zeros((3, 1, 2), np.int32),
    "parent_ids": np.array([[[5, 0]], [[0, -1]], [[2, 0]]], np.int32),
    "end_token": np.array(0, np.int32),
}
TABLE = {"emb_table": np.zeros((4, 2), F32)}
SEGMENTS = TABLE | {"indices": [0, 1], "segment_ids": [0, 1], "num_segments": np.array(2)}
NAN, INF = F32("nan"), F32("inf")
COUNTS: list[tuple[str, str, dict[str, Any], dict[str, Any], int]] = [
    # condition, op version, inputs, attributes, how many
    ("repeated", "onnx.ScatterND-18", ND | {"indices": [[1], [-3], [1]], "updates": np.zeros((3, 3), F32)}, {}, 2),
    ("repeated", "onnx.ScatterElements-18", BOX | {"indices": [[0, 1, 2], [0, 1, -2]]}, {}, 3),
    ("repeated", "onnx.ScatterElements-18", BOX | {"indices": [[0, 0, 2], [0, 1, -1]]}, {"axis": 1}, 1),
    ("repeated", "openvino.ScatterUpdate-3", BOX | {"indices": [2, 2], "axis": 0}, {}, 1),
    ("negative", "onnx.GatherND-13", ND | {"indices": [[-4], [-5], [0]]}, {}, 1),
    ("too negative", "onnx.GatherND-13", ND | {"indices": [[-4], [-5], [0]]}, {}, 1),
    ("out of range", "onnx.GatherND-13", ND | {"indices": [[-4, 3], [-5, 0], [4, -3]]}, {}, 3),
    ("out of range", "openvino.GatherElements-6", BOX | {"indices": [[0, -1, 3]] * 4}, {"axis": 0}, 4),
    (
        "out of range",
        "onnx.TensorScatter-24",
        {"past_cache": np.zeros((1, 5, 1)), "update": np.zeros((1, 2, 1)), "write_indices": [4]},
        {},
        1,
    ),
    ("wide values", "onnx.Gather-13", {"data": np.array([2**31, -(2**31), 7]), "indices": [0]}, {}, 1),
    ("wide values", "onnx.Gather-13", {"data": np.array([0.5, 0.1, np.nan, 1e300]), "indices": [0, 1, 2, 3]}, {}, 2),
    ("wide values", "onnx.Gather-13", {"data": np.array([0.5, 0.1, np.nan, 1e300]), "indices": [0, 2]}, {}, 0),
    ("wide values", "onnx.Gather-13", {"data": np.array([0.1], F32), "indices": [0]}, {}, 0),
    ("wide values", "onnx.Gather-13", {"data": np.array([2**31, 2**64 - 1], np.uint64), "indices": [0, 1]}, {}, 1),
    (
        "wide values",
        "onnx.ScatterND-18",
        {"data": np.array([2**30, 5]), "indices": [[0], [1]], "updates": np.array([2**30, 6])},
        {"reduction": "add"},
        1,
    ),
    (
        "wide values",
        "openvino.EmbeddingBagPacked-15",
        {"emb_table": np.array([[1.0], [2.0]]), "indices": [[0, 0, 1], [1, 1, 1]]},
        {"reduction": "mean"},
        1,
    ),
    (
        "signed order",
        "onnx.ScatterND-18",
        {"data": np.array([5, 5, 7], U32), "indices": [[0], [1], [2]], "updates": np.array([2**31, 6, 2**31], U32)},
        {"reduction": "max"},
        2,
    ),
    (
        "bfloat16 rounding",
        "onnx.ScatterND-18",
        {
            "data": np.array([1, 1, 1.0078125], BF16),
            "indices": [[0], [1], [2]],
            "updates": np.array([0.005859375, 0.00390625, 0.005859375], BF16),
        },
        {"reduction": "add"},
        1,  # 1.005859375 is nearer to 1.0078125; 1.00390625 is a tie; the last bit of 1.0078125 is 1
    ),
    ("negative", "onnx.TensorScatter-24", CACHE | {"write_indices": [-7, 9]}, {"mode": "circular"}, 1),
    ("out of range", "onnx.TensorScatter-24", CACHE | {"write_indices": [-7, 9]}, {"mode": "circular"}, 0),
    ("too negative", "onnx.ScatterElements-18", BOX | {"indices": [[2**31, 2**32, -5]]}, {}, 2),
    ("out of range", "openvino.GatherTree-1", BEAMS | {"max_seq_len": np.array([3])}, {}, 2),
    ("out of range", "openvino.GatherTree-1", BEAMS | {"max_seq_len": np.array([2])}, {}, 1),
    ("wide indices", "onnx.Gather-13", {"data": np.zeros(2, F32), "indices": [2**31, -(2**31)]}, {}, 1),
    ("empty indices", "onnx.Gather-13", {"data": np.zeros(2, F32), "indices": np.zeros((0, 2), I64)}, {}, 1),
    ("empty indices", "onnx.GatherND-13", ND | {"indices": np.zeros((2, 0), I64)}, {}, 0),
    (
        "empty indices",
        "openvino.Gather-8",
        {"data": np.zeros((0, 2), F32), "indices": np.zeros((0, 2), I64), "axis": 1},
        {"batch_dims": 1},
        0,
    ),
    ("k=0", "onnx.GatherND-13", ND | {"indices": np.zeros((2, 0), I64)}, {}, 1),
    ("k=0", "onnx.GatherND-13", ND | {"indices": np.zeros((0, 0), I64)}, {}, 0),
    ("k=0", "onnx.GatherND-13", {"data": np.zeros((0, 3)), "indices": np.zeros((2, 0), I64)}, {}, 0),
    ("empty axis", "onnx.Gather-13", {"data": np.zeros((0, 2), F32), "indices": [0]}, {}, 1),
    ("empty axis", "onnx.Gather-13", {"data": np.zeros((0, 2), F32), "indices": [0]}, {"axis": 1}, 0),
    ("nan", "onnx.ScatterND-18", ND | {"updates": np.array([[1, NAN, NAN]], F32)}, {"reduction": "max"}, 2),
    (
        "infinite extreme",
        "openvino.ScatterElementsUpdate-12",
        {
            "data": np.array([-INF, 0, 0], F32),
            "indices": [1, 2, 2],
            "updates": np.array([-INF, INF, -INF], F32),
            "axis": 0,
        },
        {"reduction": "max", "use_init_val": False},
        1,
    ),
    ("long axis", "onnx.GatherElements-13", {"data": np.zeros(64, F32), "indices": [0]}, {}, 1),
    ("shorter indices", "onnx.GatherElements-13", {"data": np.zeros((2, 3)), "indices": [[0, 0]]}, {"axis": 0}, 1),
    ("shorter indices", "onnx.GatherElements-13", {"data": np.zeros((2, 3)), "indices": [[0, 0, 0]]}, {"axis": 0}, 0),
    ("longer indices", "onnx.GatherElements-13", {"data": np.zeros((2, 1)), "indices": [[0, 0]]}, {"axis": 0}, 1),
    (
        "longer along axis",
        "openvino.ScatterElementsUpdate-3",
        {"data": np.zeros(1), "indices": [0, 0], "updates": np.zeros(2), "axis": 0},
        {},
        1,
    ),
    ("updates shape", "onnx.ScatterND-18", ND | {"updates": np.zeros((1, 2), F32)}, {}, 1),
    (
        "batch dims differ",
        "onnx.GatherND-13",
        {"data": np.zeros((2, 3)), "indices": np.zeros((1, 1, 1), I64)},
        {"batch_dims": 1},
        1,
    ),
    (
        "all batch dims",
        "onnx.GatherND-13",
        {"data": np.zeros((2, 3)), "indices": np.zeros((2, 3, 0), I64)},
        {"batch_dims": 2},
        1,
    ),
    (
        "all batch dims",
        "onnx.GatherND-13",
        {"data": np.zeros((2, 3)), "indices": np.zeros((2, 3, 1), I64)},
        {"batch_dims": 2},
        0,
    ),
    (
        "all batch dims",
        "onnx.GatherND-13",
        {"data": np.zeros((2, 3)), "indices": np.zeros((2, 0), I64)},
        {"batch_dims": 1},
        0,
    ),
    (
        "empty batch",
        "onnx.GatherND-13",
        {"data": np.zeros((0, 3)), "indices": np.zeros((0, 1, 1), I64)},
        {"batch_dims": 1},
        1,
    ),
    ("empty slice", "onnx.GatherND-13", {"data": np.zeros((2, 0)), "indices": [[5]]}, {}, 1),
    (
        "empty slice",
        "openvino.ScatterUpdate-3",
        {"data": np.zeros((0, 2)), "indices": [5], "updates": np.zeros((0, 1)), "axis": 1},
        {},
        1,
    ),
    ("scalar indices", "onnx.Gather-13", {"data": np.zeros(2), "indices": np.array(0)}, {}, 1),
    ("several axes", "openvino.Gather-8", {"data": np.zeros((2, 2)), "indices": [0], "axis": np.array([0, 1])}, {}, 1),
    ("unknown attribute", "onnx.ScatterND-18", ND, {"reduction": "sum"}, 1),
    (
        "short sequence",
        "openvino.GatherTree-1",
        {
            "step_ids": np.zeros((1, 2, 1)),
            "parent_ids": np.zeros((1, 2, 1)),
            "max_seq_len": np.array([0, 1.0]),
            "end_token": np.array(0.0),
        },
        {},
        1,
    ),
    (
        "narrow index type",
        "openvino.Gather-8",
        {"data": np.zeros(200), "indices": np.array([1], np.int8), "axis": 0},
        {},
        1,
    ),
    (
        "non-integral mean",
        "openvino.ScatterElementsUpdate-12",
        {"data": np.array([-8, 5]), "indices": [0, 0, 1], "updates": np.array([-5, -6, 2]), "axis": 0},
        {"reduction": "mean"},
        1,
    ),
    (
        "overflowing mean",
        "openvino.ScatterElementsUpdate-12",
        {"data": np.array([100, 1], np.int8), "indices": [0, 0], "updates": np.array([100, 100], np.int8), "axis": 0},
        {"reduction": "mean"},
        1,
    ),
    ("slices", "onnx.Gather-13", {"data": np.zeros((2, 3)), "indices": [0]}, {}, 1),
    ("slices", "onnx.Gather-13", {"data": np.zeros((2, 3)), "indices": [0]}, {"axis": 1}, 0),
    ("slices", "onnx.ScatterND-18", ND, {}, 1),
    ("divisible", "onnx.ScatterND-18", ND, {}, 0),
    ("divisible", "onnx.ScatterND-18", ND | {"indices": [[0], [1]], "updates": np.zeros((2, 3), F32)}, {}, 1),
    ("divisible", "onnx.ScatterElements-18", BOX, {"axis": 1}, 1),
    ("divisible", "onnx.ScatterElements-18", BOX | {"indices": [[0], [1]], "updates": np.zeros((2, 1), F32)}, {}, 0),
    ("divisible", "onnx.ScatterElements-18", {"data": [1, 2], "indices": [0, 1], "updates": [3, 4]}, {}, 0),
    ("divisible", "onnx.GatherND-13", ND, {}, 0),
    ("slices", "onnx.Gather-13", {"data": np.zeros((2, 3)), "indices": np.zeros(0, I64)}, {}, 0),
    ("empty result", "onnx.Gather-13", {"data": np.zeros((2, 0)), "indices": [1]}, {}, 1),
    ("empty result", "onnx.Gather-13", {"data": np.zeros((2, 0)), "indices": np.zeros(0, I64)}, {}, 0),
    ("empty result", "onnx.Gather-13", {"data": np.zeros((2, 0)), "indices": [1]}, {"axis": 1}, 0),
    ("empty result", "onnx.GatherND-13", {"data": np.zeros((2, 0)), "indices": [[1]]}, {}, 1),
    ("empty result", "onnx.ScatterND-18", ND, {}, 0),
    ("wide values", "onnx.Gather-13", {"data": np.array([np.inf, 0.5]), "indices": [0]}, {}, 1),
    ("malformed", "onnx.GatherND-13", {"data": np.zeros(2), "indices": [[0]]}, {"batch_dims": -1}, 1),
    ("negative batch dims", "onnx.GatherND-13", {"data": np.zeros(2), "indices": [[0]]}, {"batch_dims": -2}, 1),
    ("negative batch dims", "onnx.GatherND-13", {"data": np.zeros(2), "indices": [[0]]}, {}, 0),
    ("malformed", "onnx.Gather-13", {"data": np.zeros(2)}, {}, 1),
    ("malformed", "onnx.GatherND-13", {"data": np.zeros(2), "indices": np.zeros((1, 1), np.int32)}, {}, 1),
    ("malformed", "onnx.Gather-13", {"data": np.zeros(2), "indices": [0]}, {"axis": 1}, 1),
    ("malformed", "onnx.Gather-13", {"data": np.zeros(2), "indices": [0]}, {}, 0),
    ("computed indices", "onnx.Gather-13", {"data": np.zeros(2), "indices": [0]}, {}, 1),
    ("8-bit indices", "openvino.Gather-8", {"data": np.zeros(2), "indices": np.array(0, np.uint8), "axis": 0}, {}, 1),
    ("8-bit indices", "openvino.Gather-8", {"data": np.zeros(2), "indices": np.array(0, np.int16), "axis": 0}, {}, 0),
    ("index type", "onnx.GatherND-13", {"data": np.zeros(2), "indices": np.zeros((1, 1), np.int32)}, {}, 1),
    ("index type", "onnx.GatherND-13", {"data": np.zeros(2), "indices": [[0]]}, {}, 0),
    ("element type", "onnx.Gather-11", {"data": np.zeros(2, BF16), "indices": [0]}, {}, 1),
    ("element type", "onnx.Gather-13", {"data": np.zeros(2, BF16), "indices": [0]}, {}, 0),
    ("extra attribute", "onnx.GatherElements-13", {"data": np.zeros(2), "indices": [0]}, {"batch_dims": 0}, 1),
    ("extra attribute", "onnx.GatherElements-13", {"data": np.zeros(2), "indices": [0]}, {"axis": 0}, 0),
    ("low batch dims", "openvino.Gather-8", BOX | {"axis": 0}, {"batch_dims": -3}, 1),
    ("low batch dims", "openvino.Gather-8", BOX | {"axis": 0}, {"batch_dims": -2}, 0),
    ("empty last bag", "openvino.EmbeddingBagOffsetsSum-3", TABLE | {"indices": [0, 1], "offsets": [0, 2]}, {}, 1),
    ("empty last bag", "openvino.EmbeddingBagOffsetsSum-3", TABLE | {"indices": [0, 1], "offsets": [0, 0]}, {}, 0),
    ("empty last bag", "openvino.EmbeddingBagPackedSum-3", TABLE | {"indices": np.zeros((2, 0), I64)}, {}, 1),
    ("empty last bag", "openvino.EmbeddingBagPackedSum-3", TABLE | {"indices": np.zeros((0, 2), I64)}, {}, 0),
    ("no segments", "openvino.EmbeddingSegmentsSum-3", SEGMENTS | {"num_segments": np.array(0)}, {}, 1),
    ("no segments", "openvino.EmbeddingSegmentsSum-3", SEGMENTS, {}, 0),
    ("no default row", "openvino.EmbeddingSegmentsSum-3", SEGMENTS | {"default_index": np.array(-1)}, {}, 1),
    ("no default row", "openvino.EmbeddingSegmentsSum-3", SEGMENTS, {}, 0),
    ("negative segment", "openvino.SegmentMax-16", {"data": np.zeros((2, 1)), "segment_ids": [-1, 0]}, {}, 1),
    (
        "no members",
        "openvino.SegmentMax-16",
        {"data": np.zeros((0, 1)), "segment_ids": np.zeros(0, I64), "num_segments": np.array(3)},
        {},
        1,
    ),
    (
        "no members",
        "openvino.SegmentMax-16",
        {"data": np.zeros((0, 1)), "segment_ids": np.zeros(0, I64), "num_segments": np.array(0)},
        {},
        0,
    ),
]


@pytest.mark.parametrize(("condition", "name", "inputs", "attributes", "expected"), COUNTS)
def test_conditions_are_counted(
    condition: str, name: str, inputs: dict[str, Any], attributes: dict[str, Any], expected: int
) -> None:
    row = gs.op(name)
    arrays = tuple(np.asarray(inputs[known.name]) for known in row.inputs if known.name in inputs)
    operands = tuple(Operand(known.name, known.name) for known in row.inputs)
    known = {each.name: each.default for each in row.attributes} | attributes
    site = Site((0,), "node", "node", "", row, operands, known)
    assert COUNTED[condition](collect_call_values(site, arrays, attributes)) == expected


def test_means_that_can_not_be_taken_are_malformed() -> None:
    row = gs.op("openvino.ScatterElementsUpdate-12")
    attributes = {"reduction": "mean", "use_init_val": True}
    operands = tuple(Operand(known.name, known.name) for known in row.inputs)
    site = Site((0,), "node", "node", "", row, operands, attributes)
    axis = np.array(0)
    far = (np.zeros((2, 1), np.int32), np.zeros((2, 3), I64), np.zeros((2, 3), np.int32), axis)
    assert record_of(collect_call_values(site, far, {}), calls=1).counts["malformed"] == 1
    small = np.array([7, 1]).astype(ml_dtypes.int4)
    record = record_of(collect_call_values(site, (small, np.array([0, 0]), small, axis), {}), calls=1)
    assert record.counts["overflowing mean"] == 1


UNKNOWN, N = None, None
BEFORE: list[tuple[str, str, dict[str, Any], int | None]] = [
    # condition, op version, types and shapes and constants of operands, how many
    ("repeated", "onnx.ScatterND-18", {"data": (F32, (N,)), "indices": [[2], [0], [2]], "updates": (F32, (3,))}, 1),
    ("repeated", "onnx.ScatterND-18", {"data": (F32, (N,)), "indices": [[2], [-1]], "updates": (F32, (2,))}, None),
    ("repeated", "onnx.ScatterND-18", {"data": (F32, (3,)), "indices": [[2], [-1]], "updates": (F32, (2,))}, 1),
    ("repeated", "onnx.ScatterND-18", {"data": (F32, (N,)), "indices": (I64, (1, 1)), "updates": (F32, (1,))}, 0),
    ("negative", "onnx.Gather-13", {"data": (F32, UNKNOWN), "indices": [3, -2]}, 1),
    ("out of range", "onnx.Gather-13", {"data": (F32, (N,)), "indices": [3]}, None),
    ("out of range", "onnx.Gather-13", {"data": (F32, (N,)), "indices": [0, -1]}, 0),
    ("out of range", "openvino.Gather-7", {"data": (F32, (N,)), "indices": [0, -1], "axis": 0}, 1),
    ("out of range", "onnx.Gather-13", {"data": (F32, (3,)), "indices": (I64, (0,))}, 0),
    ("wide values", "onnx.Gather-13", {"data": (I64, (N,)), "indices": [3]}, None),
    ("wide values", "onnx.Gather-13", {"data": (F32, (N,)), "indices": [3]}, 0),
    ("empty indices", "onnx.Gather-13", {"data": (F32, (N,)), "indices": (I64, (N,))}, None),
    ("8-bit indices", "openvino.Gather-8", {"data": (F32, (N,)), "indices": (np.int8, UNKNOWN), "axis": 0}, 1),
    ("k=0", "onnx.GatherND-13", {"data": (F32, (N,)), "indices": (I64, (N, 1))}, 0),
    ("shorter indices", "onnx.GatherElements-13", {"data": (F32, (N, 4)), "indices": (I64, (N, 4))}, 0),
    ("shorter indices", "onnx.GatherElements-13", {"data": (F32, (N, 4)), "indices": (I64, (N, N))}, None),
    ("computed indices", "onnx.Gather-13", {"data": (F32, (N,)), "indices": [3]}, 0),
    ("divisible", "onnx.ScatterND-18", {"data": (F32, (3,)), "indices": (I64, (N, 1)), "updates": (F32, (N,))}, None),
    ("divisible", "onnx.ScatterND-18", {"data": (F32, (N,)), "indices": (I64, (1, 1)), "updates": (F32, UNKNOWN)}, 0),
    ("divisible", "onnx.ScatterElements-18", {"data": (F32, (N, 2)), "updates": (F32, (N, 2))}, 1),
    ("divisible", "onnx.ScatterElements-18", {"data": (F32, (N, N)), "updates": (F32, (N, N))}, None),
    ("divisible", "onnx.ScatterElements-18", {"data": (F32, (N,)), "updates": (F32, (N,))}, 0),
    ("divisible", "onnx.ScatterElements-18", {"data": (F32, UNKNOWN), "updates": (F32, UNKNOWN)}, None),
]


@pytest.mark.parametrize(("condition", "name", "inputs", "expected"), BEFORE)
def test_what_is_known_before_a_model_runs(
    condition: str, name: str, inputs: dict[str, Any], expected: int | None
) -> None:
    row = gs.op(name)
    operands = tuple(_operand(known.name, inputs[known.name]) for known in row.inputs if known.name in inputs)
    site = Site((0,), "node", "node", "", row, operands, {"axis": 0} if name.startswith("onnx.Gather-") else {})
    if "Elements" in name:
        site.attributes["axis"] = 0
    assert COUNTED[condition](collect_static_values(site)) == expected


def _operand(role: str, told: Any) -> Operand:
    """Return a type and a shape, or a constant."""
    if isinstance(told, tuple):
        return Operand(role, role, np.dtype(told[0]).name, told[1])
    value = np.asarray(told)
    return Operand(role, role, value.dtype.name, value.shape, lambda: value)


# Findings that need static or dynamic shapes


@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize(
    ("shape", "is_computed", "status", "certain"),
    [
        ((1,), False, "memory", True),
        ((), False, "memory", True),
        ((None,), False, "supported", True),
        (None, False, "memory", False),
        ((), True, "memory", True),
    ],
)
def test_a_scalar_of_an_ir_has_a_static_shape(
    tmp_path: Path, shape: tuple[int | None, ...] | None, is_computed: bool, status: str, certain: bool, runs: bool
) -> None:
    """Gather of data without elements crashes OpenVINO if the file gives all sizes."""
    writer = IRWriter()
    data, indices = writer.parameter("data", "f32", [2, 0]), writer.parameter("indices", "i64", shape)
    if is_computed:
        indices = writer.layer("Convert", "opset1", [indices], attributes={"destination_type": "i32"})
    writer.result("out", writer.layer("Gather", "opset8", [data, indices, np.int64(0)]))
    inputs = {"data": np.zeros((2, 0), F32), "indices": np.ones([1] * len(shape or ()), I64)}
    [node] = examine(writer.save(tmp_path / "model.xml"), inputs if runs else None).nodes
    verdict = node.verdicts["openvino"]
    assert (verdict.status, verdict.certain) == (status, certain)


@pytest.mark.parametrize(
    ("shape", "static", "dynamic"),
    [((2, 3), True, False), ((), True, False), ((N, 3), False, True), (UNKNOWN, None, None)],
)
def test_shapes_are_static_dynamic_or_unknown(
    shape: tuple[int | None, ...] | None, static: bool | None, dynamic: bool | None
) -> None:
    row = gs.op("onnx.Gather-13")
    operands = (Operand("data", "data", "float32", shape), Operand("indices", "indices", "int64", (1,)))
    told = record_of(collect_static_values(Site((0,), "node", "node", "", row, operands, {"axis": 0})), calls=0)
    assert verdicts.SETTINGS["static shapes"](told, told) is static
    assert verdicts.SETTINGS["dynamic shapes"](told, told) is dynamic


@pytest.mark.parametrize(("size", "status"), [(0, "supported"), (1, "refused"), (None, "refused")])
def test_a_reduction_that_onnx_runtime_lacks_does_no_harm_without_updates(size: int | None, status: str) -> None:
    row = gs.op("onnx.ScatterElements-18")
    operands = tuple(
        Operand(known.name, known.name, kind, shape)
        for known, kind, shape in zip(
            row.inputs, ("bfloat16", "int64", "bfloat16"), ((3,), (size,), (size,)), strict=True
        )
    )
    site = Site((0,), "node", "node", "", row, operands, {"axis": 0, "reduction": "add"})
    verdict = verdicts.judge("onnxruntime", row, record_of(collect_static_values(site), calls=0))
    assert (verdict.status, verdict.certain) == (status, True)


# Reductions that ONNX Runtime lacks: an error, or a crash if threads share the updates

ROWS = 50_000
LACKING = [
    ("onnx.ScatterND-18", "float16", "add"),
    ("onnx.ScatterND-18", "float16", "mul"),
    ("onnx.ScatterND-18", "bfloat16", "min"),
    ("onnx.ScatterND-18", "bool", "max"),
    ("onnx.ScatterElements-18", "float16", "add"),
    ("onnx.ScatterElements-18", "bfloat16", "mul"),
    ("onnx.ScatterElements-18", "bfloat16", "max"),
    ("onnx.ScatterElements-18", "bool", "min"),
]


def _scatter(name: str, element_type: str | None, reduction: str, updates: tuple[int | None, ...]) -> Site:
    """Return a scatter of rows into 1000 rows of 64 elements."""
    row = gs.op(name)
    operands = (
        Operand("data", "data", element_type, (1000, 64)),
        Operand("indices", "indices", "int64", (updates[0], 1) if row.op_type == "ScatterND" else updates),
        Operand("updates", "updates", element_type, updates),
    )
    return Site((0,), "node", "node", "", row, operands, {"axis": 0, "reduction": reduction})


def _judge(site: Site, threads: int = 0) -> verdicts.Verdict:
    return verdicts.judge("onnxruntime", site.row, record_of(collect_static_values(site), calls=0), threads=threads)


@pytest.mark.parametrize(("name", "element_type", "reduction"), LACKING)
@pytest.mark.parametrize(
    ("updates", "threads", "status"),
    [
        ((ROWS, 64), 0, "memory"),
        ((None, 64), 0, "memory"),
        ((ROWS, 64), 2, "memory"),
        ((ROWS, 64), 1, "refused"),
        ((3000, 64), 0, "refused"),
    ],
)
def test_a_refusal_may_be_a_crash_if_threads_share_the_updates(
    name: str, element_type: str, reduction: str, updates: tuple[int | None, ...], threads: int, status: str
) -> None:
    verdict = _judge(_scatter(name, element_type, reduction, updates), threads)
    assert (verdict.status, verdict.is_counted) == (status, True)
    assert verdict.certain == (status == "refused")
    assert {reason.status for reason in verdict.reasons} >= {status, "refused"}


@pytest.mark.parametrize(
    ("name", "updates"), [("onnx.ScatterND-18", (1, 10**6)), ("onnx.ScatterElements-18", (10**6, 1))]
)
def test_updates_that_threads_cannot_divide_do_not_crash(name: str, updates: tuple[int, int]) -> None:
    assert str(_judge(_scatter(name, "float16", "add", updates))) == "refused"


def test_a_crash_of_a_type_that_is_unknown_is_not_counted() -> None:
    verdict = _judge(_scatter("onnx.ScatterND-18", None, "add", (ROWS, 64)))
    assert (verdict.status, verdict.is_counted) == ("memory", False)


BY_CHANCE = "the effect varies from run to run"
OPEN = f"depends on the values and the unknown number of elements; {BY_CHANCE}"


@pytest.mark.parametrize(
    ("element_type", "updates", "texts"),
    [
        ("float16", (ROWS, 64), [f"divisible: 1 here; {BY_CHANCE}", "Always"]),
        ("float16", (None, 64), [f"divisible: {OPEN}", "Always"]),
        ("float32", (None, 64), [f"repeated: {OPEN}"]),
    ],
)
def test_only_facts_that_are_unknown_are_said_to_be(
    element_type: str, updates: tuple[int | None, ...], texts: list[str]
) -> None:
    reasons = _judge(_scatter("onnx.ScatterND-18", element_type, "add", updates)).reasons
    assert [condition_text(reason) for reason in reasons] == texts


def test_an_unknown_type_and_an_unknown_reduction_are_named() -> None:
    site = _scatter("onnx.ScatterND-18", None, "add", (3, 64))
    lacking = next(reason for reason in _judge(site).reasons if reason.finding.id.endswith("half-reductions"))
    assert condition_text(lacking) == "Depends on the unknown element type"
    del site.attributes["reduction"]
    lacking = next(reason for reason in _judge(site).reasons if reason.finding.id.endswith("half-reductions"))
    assert condition_text(lacking) == "Depends on the unknown element type and the unknown reduction"


@pytest.mark.parametrize("finding", catalog.load(), ids=lambda finding: finding.id)
def test_a_condition_text_names_no_type_that_is_known(finding: catalog.Finding) -> None:
    """Nodes with a known element type and reduction, and with unknown shapes and values."""
    rows = [row for row in ops() if row.domain == finding.namespace and row.op_type in finding.ops]
    for row in rows:
        element_type = row.element_types[0] if finding.types == ("*",) else finding.types[0]
        operands = tuple(
            Operand(known.name, known.name, element_type if known.kind == "data" else "int64") for known in row.inputs
        )
        attributes = {known.name: known.default for known in row.attributes}
        record = record_of(collect_static_values(Site((0,), "n", "n", "", row, operands, attributes)), calls=0)
        for reason in verdicts.judge(finding.runtime, row, record).reasons:
            assert "unknown element type" not in condition_text(reason)


@pytest.mark.parametrize(("known", "unknown"), [("updates", "data"), ("data", "updates")])
@pytest.mark.parametrize("name", ["onnx.ScatterND-18", "onnx.ScatterElements-18"])
def test_data_and_updates_have_the_same_type(known: str, unknown: str, name: str) -> None:
    operands = (
        Operand("data", "data", "bfloat16" if known == "data" else None, (3,)),
        Operand("indices", "indices", "int64", (1, 1)),
        Operand("updates", "updates", "bfloat16" if known == "updates" else None, (1,)),
    )
    site = Site((0,), "node", "node", "", gs.op(name), operands, {"axis": 0, "reduction": "add"})
    assert collect_static_values(site).types[unknown] == "bfloat16"
    assert str(_judge(site)) == "refused"

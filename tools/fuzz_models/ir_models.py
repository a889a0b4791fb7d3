"""Good OpenVINO models, small and of many kinds, for the fuzzer to damage."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from tools.fuzz_models.files import Files

F32, I32 = np.float32, np.int32


def save_ir(build: Callable[[Any], None]) -> Files:
    """The files that an IRWriter saves."""
    from gatherscatter_models.openvino.ir_write import IRWriter

    writer = IRWriter()
    build(writer)
    with tempfile.TemporaryDirectory() as folder:
        path = writer.save(Path(folder, "model.xml"))
        return {"model.xml": path.read_bytes(), "model.bin": path.with_suffix(".bin").read_bytes()}


def make_gathers() -> Files:
    def build(w: Any) -> None:
        x = w.parameter("x", "f32", [None, 3])
        table = w.layer("Add", "opset1", [x, w.constant(np.ones((1, 3), F32), "ones")], name="add")
        rows = w.layer("Gather", "opset8", [table, np.array([0, 0]), np.int64(0)], attributes={"batch_dims": 0})
        w.result("rows", rows)
        at = np.array([[0, 2, 1], [1, 1, 0]], I32)
        w.result("elements", w.layer("GatherElements", "opset6", [rows, at], attributes={"axis": 1}))
        pairs = np.array([[0, 1]], I32)
        w.result("pairs", w.layer("GatherND", "opset8", [x, pairs], attributes={"batch_dims": 0}))

    return save_ir(build)


def make_scatters() -> Files:
    def build(w: Any) -> None:
        x, u = w.parameter("x", "f32", [3, 2]), w.parameter("u", "f32", ["1..2", 2])
        a = w.layer("ScatterUpdate", "opset3", [x, np.array([1]), np.ones((1, 2), F32), np.int64(0)])
        b = w.layer("ScatterNDUpdate", "opset15", [a, np.array([[2], [2]]), np.ones((2, 2), F32)],
                    attributes={"reduction": "sum"})  # fmt: skip
        attributes = {"reduction": "max", "use_init_val": True}
        at = np.array([[0, 1]], I32)
        inputs = [b, at, np.ones((1, 2), F32), np.int64(0)]
        w.result("y", w.layer("ScatterElementsUpdate", "opset12", inputs, attributes=attributes, name="put"))
        w.result("u2", w.layer("Negative", "opset1", [u]))

    return save_ir(build)


def make_tree() -> Files:
    def build(w: Any) -> None:
        steps, parents = w.parameter("steps", "i32", [3, 1, 2]), w.parameter("parents", "i32", [3, 1, 2])
        inputs = [steps, parents, np.array([3], I32), np.array(0, I32)]
        w.result("beams", w.layer("GatherTree", "opset1", inputs))

    return save_ir(build)


def make_types() -> Files:
    """Strings, halves and booleans, and a model input of any rank."""

    def build(w: Any) -> None:
        at, any_rank = w.parameter("at", "i64", [2]), w.parameter("any", "f16", None)
        for name, values in {
            "words": np.array(["a", "é", "ccc"], object),
            "brains": np.ones(3, ml_dtypes.bfloat16),
            "truths": np.array([True, False, True]),
            "longs": np.arange(3, dtype=np.uint64),
        }.items():
            w.result(name, w.layer("Gather", "opset8", [w.constant(values, f"{name}_in"), at, np.int64(0)]))
        w.result("same", w.layer("Convert", "opset1", [any_rank], attributes={"destination_type": "i8"}))

    return save_ir(build)


def make_shapes() -> Files:
    """Gathers and scatters with layers whose sizes come from values."""

    def build(w: Any) -> None:
        x = w.parameter("x", "f32", [2, 4])
        add = w.layer
        shape = add("ShapeOf", "opset3", [x], attributes={"output_type": "i64"}, outputs=["i64"])
        wide = add("Broadcast", "opset3", [add("Gather", "opset8", [x, np.int64(0), np.int64(0)]), shape])
        flat = add("Reshape", "opset1", [wide, np.array([-1])], attributes={"special_zero": False})
        padded = add("Pad", "opset1", [flat, np.array([1]), np.array([2]), np.array(0, F32)],
                     attributes={"pad_mode": "constant"})  # fmt: skip
        cut = add("Slice", "opset8", [padded, np.array([1]), np.array([9]), np.array([1])])
        tiled = add("Tile", "opset1", [cut, np.array([2])])
        masks = {"begin_mask": "0", "end_mask": "0", "new_axis_mask": "0"}
        strided = add("StridedSlice", "opset1", [tiled, np.array([0]), np.array([8]), np.array([2])], attributes=masks)
        parts = add("Split", "opset1", [strided, np.int64(0)], attributes={"num_splits": 2}, outputs=["f32", "f32"])
        joined = add("Concat", "opset1", [parts.output(1), parts], attributes={"axis": 0})
        top = {"axis": 0, "mode": "max", "sort": "value", "index_element_type": "i64"}
        best = add("TopK", "opset11", [joined, np.int64(2)], attributes=top, outputs=["f32", "i64"])
        order = add("Range", "opset4", [np.int64(0), np.int64(2), np.int64(1)], attributes={"output_type": "i64"})
        picked = add("Gather", "opset8", [best, order, np.int64(0)])
        w.result("y", add("ReduceSum", "opset1", [picked, np.array([0])], attributes={"keep_dims": True}))
        w.result("at", best.output(1))

    return save_ir(build)

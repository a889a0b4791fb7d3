"""Good ONNX models, small and of many kinds, for the fuzzer to damage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from tests.support.onnx_graphs import function, graph, model, node, referring, scan_model
from tools.fuzz_models.files import Files

F32, I64, BOOL = np.float32, np.int64, np.bool_


def make_tensor(values: Any, dtype: Any = None) -> TensorProto:
    return numpy_helper.from_array(np.array(values, dtype))


def pack_onnx(made: onnx.ModelProto, **others: bytes) -> Files:
    return {"model.onnx": made.SerializeToString(), **{name.replace("_", "."): data for name, data in others.items()}}


def make_gathers() -> Files:
    made = model(
        [
            node("Gather", "x rows", "a", "some rows", axis=0),
            node("GatherElements", "a at", "b", axis=1),
            node("GatherND", "x pairs", "c", batch_dims=0),
            node("GatherND", "cube firsts", "d", batch_dims=1),
        ],
        {"x": (F32, ["n", 3]), "cube": (F32, [2, "k", 2])},
        {"b": (F32, None), "c": (F32, [2]), "d": (F32, None)},
        {"rows": [0, -1], "at": [[0, 2, 1], [1, 1, 0]], "pairs": [[0, 1], [0, 2]], "firsts": [[0], [-1]]},
    )
    return pack_onnx(made)


def make_scatters() -> Files:
    made = model(
        [
            node("ScatterND", "x pairs u", "a", reduction="add"),
            node("ScatterElements", "a at v", "b", "put", axis=1, reduction="max"),
            node("ScatterND", "b rows v", "c"),
        ],
        {"x": (F32, [2, 3]), "u": (F32, [2])},
        {"b": (F32, [2, 3]), "c": (F32, [2, 3])},
        {"pairs": [[0, 1], [0, 1]], "at": [[0, 2, 1], [1, 1, 0]], "v": np.ones((2, 3), F32), "rows": [[0], [1]]},
    )
    return pack_onnx(made)


def make_old() -> Files:
    """Scatter, which later versions of the standard call ScatterElements, and a Gather without negative indices."""
    made = model(
        [node("Scatter", "x at u", "y", axis=0), node("Gather", "y one", "z", axis=1)],
        {"x": (F32, [3, 2]), "u": (F32, [1, 2]), "at": (I64, [1, 2])},
        {"y": (F32, [3, 2]), "z": (F32, [3])},
        {"one": 1},
        opset=9,
    )
    made.graph.input.append(helper.make_tensor_value_info("one", TensorProto.INT64, []))
    return pack_onnx(made)


def make_cache() -> Files:
    made = model(
        [
            node("TensorScatter", "past new at", "present", axis=1, mode="circular"),
            node("Shape", "present", "shape"),
            node("Gather", "shape one", "length"),
        ],
        {"past": (F32, ["b", 4, 2]), "new": (F32, ["b", 2, 2]), "at": (I64, ["b"])},
        {"present": (F32, None), "length": (I64, [])},
        {"one": 1},
        opset=24,
    )
    return pack_onnx(made)


def make_branches() -> Files:
    """An If inside an If. The inner graphs read values and initializers of the outer ones."""
    inner = graph([node("Neg", "x", "inner_out")], {}, {"inner_out": (F32, [3])}, name="inner")
    innermost = graph([node("Add", "x c", "other_out")], {}, {"other_out": (F32, [3])}, {"c": np.ones(3, F32)})
    then = graph(
        [node("ScatterND", "x at u", "t", "set"), node("If", "flag", "tt", then_branch=inner, else_branch=innermost)],
        {},
        {"tt": (F32, [3])},
        {"u": np.array([7], F32)},
        "then",
    )
    otherwise = graph([node("GatherElements", "x order", "e", axis=0)], {}, {"e": (F32, [3])}, {"order": [2, 1, 0]})
    made = model(
        [node("If", "flag", "y", "choose", then_branch=then, else_branch=otherwise), node("Identity", "y", "z")],
        {"flag": (BOOL, []), "x": (F32, [3])},
        {"z": (F32, [3])},
        {"at": [[1]]},
    )
    return pack_onnx(made)


def make_loop() -> Files:
    body = graph(
        [
            node("Gather", "ids i", "id", "which"),
            node("Unsqueeze", "id zero", "tuple"),
            node("ScatterND", "state tuple one", "next", "add", reduction="add"),
            node("Gather", "next id", "seen"),
            node("Identity", "go", "on"),
        ],
        {"i": (I64, []), "go": (BOOL, []), "state": (F32, [4])},
        {"on": (BOOL, []), "next": (F32, [4]), "seen": (F32, [])},
        {"zero": np.array(0), "one": np.array(1, F32)},
        "body",
    )
    made = model(
        [node("Loop", "trips - start", "end all_seen", "steps", body=body)],
        {"ids": (I64, [4]), "start": (F32, [4]), "trips": (I64, [])},
        {"end": (F32, [4]), "all_seen": (F32, ["trips"])},
    )
    return pack_onnx(made)


def make_scan() -> Files:
    made = scan_model()
    return pack_onnx(made)


def make_functions() -> Files:
    """Functions that call each other, with attributes, defaults and an omitted input."""
    pick = function(
        "my",
        "Pick",
        "data at",
        "out",
        [referring(node("Gather", "data at", "out", "pick"), "axis", "along", AttributeProto.INT)],
        defaults={"along": 0},
    )
    put = function(
        "my",
        "Put",
        "data at unused",
        "out",
        [
            node("Pick", "data at", "rows", domain="my", along=0),
            node("Constant", "", "c", value=make_tensor([[1.0, 2.0]], F32)),
            node("Add", "rows c", "more"),
            node("Unsqueeze", "at last", "tuples"),
            node("ScatterND", "data tuples more", "out", reduction="mul"),
            node("Constant", "", "last", value_ints=[-1]),
        ],
        domains={"my": 1},
    )
    put.node.insert(0, put.node[5])
    del put.node[6]
    made = model(
        [node("Put", "x at", "a", "call", domain="my"), node("Pick", "a at", "y", domain="my", along=1)],
        {"x": (F32, [2, 2]), "at": (I64, [1])},
        {"y": (F32, None)},
        functions=[put, pick],
        domains={"my": 1},
    )
    return pack_onnx(made)


def make_external() -> Files:
    """Initializers and constants, in the main graph and in a branch, whose bytes are in another file."""

    def external(name: str, kind: int, shape: Sequence[int], **entries: Any) -> TensorProto:
        made = TensorProto(name=name, data_type=kind, dims=shape, data_location=TensorProto.EXTERNAL)
        for key, value in {"location": "weights.bin", **entries}.items():
            made.external_data.add(key=key, value=str(value))
        return made

    then = graph([node("Gather", "x far", "t")], {}, {"t": (F32, None)}, name="then")
    then.initializer.append(external("far", TensorProto.INT64, [1], offset=16, length=8))
    constant = node("Constant", "", "e", value=external("", TensorProto.FLOAT, [1, 2], offset=24))
    otherwise = graph([constant], {}, {"e": (F32, None)}, name="otherwise")
    made = model(
        [node("Add", "x0 w", "x"), node("If", "flag", "y", then_branch=then, else_branch=otherwise)],
        {"x0": (F32, [2, 2]), "flag": (BOOL, [])},
        {"y": (F32, None)},
    )
    made.graph.initializer.append(external("w", TensorProto.FLOAT, [2, 2], offset=0, length=16))
    made.graph.initializer.append(external("half", TensorProto.UINT4, [3], offset=1, length=2))
    return pack_onnx(made, weights_bin=np.array([1, 2, 3, 4], F32).tobytes() + bytes(16))


def make_types() -> Files:
    """Every way in which a tensor can store its values."""
    made = model(
        [
            node("Gather", "words at", "w"),
            node("ScatterElements", "words at more", "w2", axis=0),
            node("Gather", "halves at", "h"),
            node("Gather", "truths at", "t"),
            node("Gather", "bytes at", "b"),
            node("Gather", "complexes at", "c"),
            node("Gather", "brains at", "f"),
            node("Gather", "longs at", "l"),
            node("Constant", "", "k", value_strings=[b"a", b"b"]),
            node("Constant", "", "n", value_floats=[1.0, 2.0]),
        ],
        {"at": (I64, [2]), "more": (object, [2])},
        dict.fromkeys(("w", "w2", "h", "t", "b", "c", "f", "l", "k", "n"), (F32, None)),
        {"words": np.array(["a", "b", "é"], object), "halves": np.ones(3, np.float16), "truths": [True, False, True]},
    )
    made.graph.initializer.extend(
        [
            helper.make_tensor("bytes", TensorProto.INT8, [3], [1, 2, -3]),
            helper.make_tensor("complexes", TensorProto.COMPLEX64, [3], [1, 2j, 3]),
            helper.make_tensor("brains", TensorProto.BFLOAT16, [3], [1.0, 2.0, 3.0]),
            helper.make_tensor("longs", TensorProto.UINT64, [3], [1, 2, 2**64 - 1]),
        ]
    )
    for output, kind in zip(made.graph.output, (8, 8, 10, 9, 3, 14, 16, 13, 8, 1), strict=True):
        output.type.tensor_type.elem_type = kind
    return pack_onnx(made)


def make_sequences() -> Files:
    made = model(
        [
            node("SequenceConstruct", "x x", "s"),
            node("SequenceAt", "s one", "a"),
            node("SplitToSequence", "x", "parts", axis=0),
            node("ConcatFromSequence", "parts", "whole", axis=0),
            node("Gather", "whole at", "y"),
            node("SequenceInsert", "s x", "t"),
        ],
        {"x": (F32, [2, 2]), "at": (I64, ["n"])},
        {"a": (F32, None), "y": (F32, None)},
        {"one": 1},
    )
    made.graph.output.append(helper.make_tensor_sequence_value_info("t", TensorProto.FLOAT, None))
    return pack_onnx(made)


def make_layer() -> Files:
    """A layer of a graph network: gathers and scatters with their usual neighbours."""
    made = model(
        [
            node("Gather", "table kinds", "h", "look_up"),
            node("MatMul", "h weight", "m"),
            node("Gather", "m senders", "sent"),
            node("Shape", "h", "shape"),
            node("ConstantOfShape", "shape", "zeros"),
            node("Unsqueeze", "receivers last", "to"),
            node("ScatterND", "zeros to sent", "received", reduction="add"),
            node("Relu", "received", "active"),
            node("Concat", "h active", "both", axis=1),
            node("TopK", "both k", "best best_at", axis=1),
            node("GatherElements", "both best_at", "again", axis=1),
            node("ReduceSum", "again", "total", keepdims=0),
            node("Cast", "again", "cast", to=TensorProto.FLOAT16),
        ],
        {"kinds": (I64, ["n"]), "senders": (I64, ["m"]), "receivers": (I64, ["m"])},
        {"total": (F32, []), "cast": (np.float16, None)},
        {"table": np.arange(8, dtype=F32).reshape(4, 2), "weight": np.eye(2, dtype=F32), "last": [-1], "k": [2]},
    )
    return pack_onnx(made)

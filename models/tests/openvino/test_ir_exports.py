"""Models that OpenVINO writes, from its Python API and from ONNX files, compared output by output."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gatherscatter_models.openvino.engine import load_openvino
from gatherscatter_models.openvino.ir import load_ir
from tests.support.openvino_package import assert_same, run_in_openvino

openvino: Any = pytest.importorskip("openvino")
opset8: Any = pytest.importorskip("openvino.opset8")
ops: Any = pytest.importorskip("openvino.opset15")

Arrays = dict[str, np.ndarray]
Node = Any
Graph = Callable[[dict[str, Node]], list[Node]]

RNG = np.random.default_rng(3)
DATA = RNG.standard_normal((4, 5, 3)).astype(np.float32)


def i32(values: Any) -> np.ndarray:
    return np.array(values, np.int32)


def const(values: Any, dtype: Any = np.int64) -> Node:
    return ops.constant(np.array(values, dtype))


def size_of(node: Node, axis: int) -> Node:
    """Return a dimension as a 1-D tensor, as exports do."""
    return ops.gather(ops.shape_of(node, output_type="i64"), const([axis]), const(0))


def gather_nd_of_flattened(at: dict[str, Node]) -> list[Node]:
    """Return a GatherND over rows made by ShapeOf, Concat and Reshape, and a reshape of its result."""
    data, indices = at["data"], at["indices"]
    rows = ops.reshape(data, ops.concat([const([-1]), size_of(data, 2)], 0), special_zero=False)
    picked = ops.gather_nd(rows, ops.unsqueeze(indices, const(-1)), 0)
    shape = ops.concat([ops.shape_of(indices, output_type="i64"), size_of(data, 2)], 0)
    return [picked, ops.reshape(ops.multiply(picked, const(2, np.float32)), shape, special_zero=False)]


def batched_gather_nd(at: dict[str, Node]) -> list[Node]:
    indices = ops.unsqueeze(at["indices"], const(-1))
    return [opset8.gather_nd(at["data"], indices, 1), ops.gather_elements(at["data"], at["lanes"], 1)]


def scatter_nd_of_every_reduction(at: dict[str, Node]) -> list[Node]:
    index = ops.concat([ops.unsqueeze(at["indices"], const(-1)), ops.unsqueeze(at["columns"], const(-1))], -1)
    updates = ops.gather_nd(at["data"], index, 0)
    doubled = ops.add(updates, updates)
    reductions = ("none", "sum", "sub", "prod", "min", "max")
    return [ops.scatter_nd_update(at["data"], index, doubled, reduction) for reduction in reductions]


def scatter_elements_of_every_reduction(at: dict[str, Node]) -> list[Node]:
    updates = ops.convert(ops.broadcast(const([2.5], np.float32), ops.shape_of(at["lanes"])), "f32")
    return [
        ops.scatter_elements_update(at["data"], at["lanes"], updates, const(axis), reduction, initial)
        for axis, reduction, initial in [
            (1, "none", True),
            (1, "sum", True),
            (-2, "prod", False),
            (1, "min", True),
            (1, "max", False),
            (1, "mean", True),
        ]
    ]


def scatter_update_along(at: dict[str, Node]) -> list[Node]:
    shape = ops.concat([size_of(at["data"], 0), ops.shape_of(at["rows"]), size_of(at["data"], 2)], 0)
    updates = ops.broadcast(const(7, np.float32), shape)
    scattered = ops.scatter_update(at["data"], at["rows"], updates, const([1]))
    tail = ops.strided_slice(scattered, const([0, -2]), const([0, 0]), const([1, 1]), [1, 0], [1, 1])
    return [
        scattered,
        tail,
        ops.gather(scattered, at["rows"], const(1)),
        opset8.gather(at["data"], at["rows"], const(-2)),
    ]


def select_negative_indices(at: dict[str, Node]) -> list[Node]:
    """Return the layers that the ONNX importer formerly put before operators that refuse negative indices."""
    rows = ops.subtract(at["rows"], const(2, np.int32))
    size = ops.convert(ops.squeeze(size_of(at["data"], 1), const([0])), "i32")
    positive = ops.select(ops.less(rows, const(0, np.int32)), ops.add(rows, size), rows)
    return [ops.gather(at["data"], positive, const(1)), positive]


def batched_gather(at: dict[str, Node]) -> list[Node]:
    return [ops.gather(at["data"], at["indices"], const(1), 1)]


GRAPHS: list[tuple[Graph, Arrays]] = [
    (gather_nd_of_flattened, {"data": DATA, "indices": i32([[19, 0, 3], [7, 7, 1]])}),
    (
        batched_gather_nd,
        {
            "data": DATA,
            "indices": i32([[4, 0], [1, 1], [2, 3], [0, 0]]),
            "lanes": RNG.integers(0, 5, (4, 2, 3), np.int32),
        },
    ),
    (batched_gather, {"data": DATA, "indices": i32([[4, 0], [1, 1], [2, 3], [0, 0]])}),
    (scatter_nd_of_every_reduction, {"data": DATA, "indices": i32([0, 3, 1]), "columns": i32([4, 0, 1])}),
    (scatter_elements_of_every_reduction, {"data": DATA, "lanes": RNG.integers(0, 5, (4, 2, 3), np.int32)}),
    (scatter_update_along, {"data": DATA, "rows": i32([3, 0])}),
    (select_negative_indices, {"data": DATA, "rows": i32([4, 0, 1])}),
]


def serialized(model: Any, folder: Path) -> Path:
    path = folder / "model.xml"
    openvino.serialize(model, path)
    return path


@pytest.mark.parametrize("static", [True, False], ids=["static", "dynamic"])
@pytest.mark.parametrize(("graph", "inputs"), GRAPHS, ids=lambda value: getattr(value, "__name__", ""))
def test_graph_of_the_python_api(graph: Graph, inputs: Arrays, static: bool, tmp_path: Path) -> None:
    shapes = {name: list(array.shape) if static else [-1] * array.ndim for name, array in inputs.items()}
    nodes = {name: ops.parameter(shapes[name], array.dtype, name=name) for name, array in inputs.items()}
    path = serialized(openvino.Model([node.output(0) for node in graph(nodes)], list(nodes.values())), tmp_path)
    assert_same(load_ir(path).run(inputs), run_in_openvino(path, inputs))


def test_beam_search(tmp_path: Path) -> None:
    steps = i32([[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]]])
    parents = i32([[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]]])
    nodes = [ops.parameter([3, 1, 3], np.int32, name=name) for name in ("steps", "parents")]
    tree = ops.gather_tree(*nodes, const([3], np.int32), const(10, np.int32))
    path = serialized(openvino.Model([ops.transpose(tree, const([1, 2, 0])).output(0)], nodes), tmp_path)
    inputs = {"steps": steps, "parents": parents}
    ours = load_ir(path).run(inputs)
    assert next(iter(ours.values())).tolist() == [[[2, 6, 7], [2, 5, 8], [2, 6, 9]]]
    assert_same(ours, run_in_openvino(path, inputs))


LANE = RNG.random((1, 1, 3), np.float32)
ONNX_NODES = [
    ("GatherElements", {"axis": 1}, [DATA, RNG.integers(0, 5, (4, 2, 3))]),
    ("GatherND", {"batch_dims": 1}, [DATA, RNG.integers(-3, 3, (4, 2, 1))]),
    ("GatherND", {}, [DATA, RNG.integers(-3, 3, (6, 2))]),
    ("Gather", {"axis": -1}, [DATA, RNG.integers(-3, 3, (2, 2))]),
    ("ScatterND", {}, [DATA, np.array([[1], [-1]]), RNG.random((2, 5, 3), np.float32)]),
    ("ScatterND", {"reduction": "max"}, [DATA, np.array([[1, 2], [1, 2]]), RNG.random((2, 3), np.float32)]),
    ("ScatterND", {"reduction": "add"}, [DATA, np.array([[1, 2], [-4, 0]]), RNG.random((2, 3), np.float32)]),
    ("ScatterElements", {"axis": 1}, [DATA, np.array([[[-1, 2, 0]]]), LANE]),
    ("ScatterElements", {"axis": 0, "reduction": "mul"}, [DATA, np.array([[[3, -2, 0]]]), LANE]),
]  # fmt: skip


@pytest.mark.parametrize(("op_type", "attributes", "arrays"), ONNX_NODES)
def test_model_imported_from_onnx(
    op_type: str, attributes: dict[str, Any], arrays: list[np.ndarray], tmp_path: Path
) -> None:
    """The IR of an ONNX model uses the names of the ONNX model."""
    path, inputs = imported(op_type, attributes, arrays, tmp_path)
    ours = load_ir(path).run(inputs)
    assert list(ours) == ["y"]
    assert_same(ours, run_in_openvino(path, inputs))
    assert_same(load_openvino(tmp_path / "model.onnx").run(inputs), list(ours.values()))


def test_imported_gather_elements_keeps_refusing_negative_indices(tmp_path: Path) -> None:
    """OpenVINO's importer passes ONNX's negative indices to GatherElements-6, whose text forbids them (ruling V7)."""
    path, inputs = imported("GatherElements", {"axis": 1}, [DATA, np.full((4, 1, 3), -1)], tmp_path)
    with pytest.raises(IndexError, match=r"openvino\.GatherElements-6: .* negative indices do not count from the end"):
        load_ir(path).run(inputs)


def imported(
    op_type: str, attributes: dict[str, Any], arrays: list[np.ndarray], folder: Path
) -> tuple[Path, dict[str, np.ndarray]]:
    """Convert one ONNX node to an ONNX model and an IR. Return the path of the IR and its inputs."""
    onnx = pytest.importorskip("onnx")
    names = [f"x{i}" for i in range(len(arrays))]
    infos = [
        onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in zip(names, arrays, strict=True)
    ]
    node = onnx.helper.make_node(op_type, names, ["y"], **attributes)
    output = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = onnx.helper.make_graph([node], "g", infos, [output])
    file = folder / "model.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=10), file)
    return serialized(openvino.Core().read_model(file), folder), dict(zip(names, arrays, strict=True))


def test_engine_and_reader_agree_about_a_model(tmp_path: Path) -> None:
    data = ops.parameter([-1, openvino.Dimension(1, 4)], np.float32, name="data")
    indices = ops.parameter([2, 1], np.int64, name="indices")
    data.output(0).get_tensor().set_names({"the data"})
    picked = ops.gather_nd(data, indices, 0)
    path = serialized(openvino.Model([picked.output(0)], [data, indices]), tmp_path)
    ours, theirs = load_ir(path), load_openvino(path)
    assert ours.inputs == theirs.inputs
    assert ours.outputs == theirs.outputs
    inputs = {"the data": DATA[0, :, :], "indices": np.array([[0], [4]])}
    seen: list[str] = []
    assert_same(ours.run(inputs), list(theirs.run(inputs, seen.append).values()))
    assert seen == ["the whole model in openvino"]
    assert ours.node_count == theirs.node_count == 1

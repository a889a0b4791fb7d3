"""`extensions`: the package's operators in OpenVINO, in Python graphs, files and ONNX models."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gatherscatter as gs
import gatherscatter_models as gm
from gatherscatter import oracle
from gatherscatter.specs.table import result_shape
from gatherscatter_conformance import random_calls
from gatherscatter_conformance.random_source import Choices, HypothesisChoices
from gatherscatter_models.openvino.element_types import BFLOAT16, from_dtype
from gatherscatter_models.openvino.extension_ops import LOSSY
from tests.support.judge import outcome
from tests.support.openvino_package import as_ports

openvino: Any = pytest.importorskip("openvino")
onnx: Any = pytest.importorskip("onnx")
opset: Any = pytest.importorskip("openvino.opset15")

CONFIG = {"INFERENCE_PRECISION_HINT": "f32"}
# The oracle's types that OpenVINO has and that its CPU plugin passes to extensions.
TYPES = ("bool", *oracle.INTEGERS, *oracle.FLOATS)


@pytest.fixture(scope="module", name="core")
def core_with_extensions() -> Any:
    core = openvino.Core()
    core.add_extension(gm.openvino.extensions())
    return core


def graph(name: str, inputs: Sequence[np.ndarray], attributes: dict, static: bool, axis_constant: bool = True) -> Any:
    """Return a Model of one operation, whose inputs are parameters. An axis is a constant."""
    row = gs.op(name)
    nodes, parameters = [], []
    for known, array in zip(row.inputs, inputs, strict=False):
        if known.kind == "axis" and axis_constant:
            nodes.append(opset.constant(array))
            continue
        shape = list(array.shape) if static else [-1] * array.ndim
        kind = getattr(openvino.Type, from_dtype(array.dtype).name)
        parameters.append(opset.parameter(shape, kind))
        nodes.append(parameters[-1])
    return openvino.Model([gm.openvino.op_class(name)(nodes, **attributes).output(0)], parameters)


def run(core: Any, model: Any, inputs: Sequence[np.ndarray]) -> np.ndarray:
    """Run with the asynchronous call, which reports errors for any number of threads."""
    request = core.compile_model(model, "CPU", CONFIG).create_infer_request()
    request.start_async({i: tensor(array) for i, array in enumerate(inputs)})
    request.wait()
    data = np.array(request.output_tensors[0].data)
    halves = request.output_tensors[0].element_type == openvino.Type.bf16
    return data.view(BFLOAT16) if halves else data


def tensor(array: np.ndarray) -> Any:
    if array.dtype != BFLOAT16:
        return openvino.Tensor(np.array(array, order="C"))
    made = openvino.Tensor(openvino.Type.bf16, openvino.Shape(array.shape))
    made.data.view(np.uint16)[...] = array.view(np.uint16)
    return made


def fits(array: np.ndarray) -> bool:
    """Check that the CPU plugin's 32 bits can hold the values.

    The plugin flushes the smallest floats to zero, and turns a 64-bit infinity into the largest number.
    """
    if array.dtype.kind in "iu" and array.dtype.itemsize > 2:
        return bool((array == array.astype(np.int32)).all())
    if array.dtype.kind == "b" or array.dtype.kind in "iu":
        return True
    with np.errstate(all="ignore"):
        wide = array.astype(np.float32)
        small = (wide != 0) & (np.abs(wide) < np.finfo(np.float32).tiny)
        endless = np.isinf(array) if array.dtype.itemsize == 8 else np.zeros(array.shape, bool)
        return bool(((wide == array) | (array != array)).all() and not (small | endless).any())


ROWS = [row for row in oracle.ROWS.values() if not row.deprecated and row.domain != "com.microsoft"]


def check_operation(c: Choices, row: oracle.OracleRow, core: Any) -> None:
    """Check a call of an op version in OpenVINO: the oracle's result, or an error where the oracle has one."""
    inputs, attributes = random_calls.version_call(c, row)
    if row.kernel == "gather_reduce":
        inputs = as_ports(inputs)
    types = {oracle.element_type(array.dtype) for array in inputs}
    static = c.pick((True, False))
    if attributes.keys() - row.attributes.keys() or not types <= set(TYPES) or not all(map(fits, inputs)):
        return
    expected = outcome(oracle.call, row.name, *inputs, **attributes)
    result_fits = isinstance(expected, Exception) or (expected.size > 0 and fits(expected))
    if not result_fits or any(array.size == 0 for array in inputs):
        return  # the CPU plugin does not call an operation with empty tensors
    inputs = [np.array(array.astype(array.dtype.newbyteorder("=")), order="C") for array in inputs]
    parameters = inputs[:-1] if "axis" in row.inputs else inputs
    try:
        result: Any = run(core, graph(row.name, inputs, attributes, static), parameters)
    except (RuntimeError, ValueError, TypeError) as error:
        result = error
    if "with dynamic rank" in str(result):
        return  # the length of the tuples is open, and the CPU plugin does not support open ranks
    if isinstance(expected, Exception):
        assert isinstance(result, Exception), result
    else:
        assert not isinstance(result, Exception), result
        oracle.assert_same(result, expected, inputs[0], attributes.get("reduction") not in ("min", "max"))


@pytest.mark.full
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
@pytest.mark.filterwarnings("ignore:.*passes .* data to extensions in 32 bits:RuntimeWarning")
@given(data=st.data())
def test_an_operation_gives_what_the_specification_says(row: oracle.OracleRow, data: Any, core: Any) -> None:
    check_operation(HypothesisChoices(data.draw), row, core)


@pytest.mark.parametrize("name", ["onnx.ScatterND-18", "openvino.ScatterElementsUpdate-12", "openvino.GatherND-5"])
def test_files_keep_operations_and_their_attributes(name: str, core: Any, tmp_path: Path) -> None:
    data, updates = np.array([[1, 2], [3, 4]], np.float32), np.float32([10, 20])
    inputs, attributes = {
        "onnx.ScatterND-18": ([data, np.array([[1, 0], [-1, 0]]), updates], {"reduction": "add"}),
        "openvino.ScatterElementsUpdate-12": (
            [data, np.array([[0, 0]]), updates.reshape(1, 2), np.array(1)],
            {"reduction": "mean", "use_init_val": False},
        ),
        "openvino.GatherND-5": ([data, np.array([[0], [1]])], {"batch_dims": 1}),
    }[name]
    model = graph(name, inputs, attributes, static=True)
    path = tmp_path / "m.xml"
    openvino.serialize(model, path)
    assert f'type="{name}" version="extension"' in path.read_text()
    read = core.read_model(path)
    parameters = inputs[:-1] if name.startswith("openvino.Scatter") else inputs
    np.testing.assert_array_equal(run(core, read, parameters), oracle.call(name, *inputs, **attributes))
    with pytest.raises(RuntimeError, match="extension"):
        openvino.Core().read_model(path)


ONNX_CASES = [
    ("GatherND", {"batch_dims": 1}, [np.eye(3, dtype=np.float32), np.array([[[1]], [[-1]], [[0]]])]),
    ("GatherElements", {"axis": 1}, [np.eye(3, dtype=np.float32), np.array([[0, -1]])]),
    ("Gather", {"axis": -1}, [np.eye(3, dtype=np.float32), np.array([[0, -1]])]),
    ("ScatterND", {"reduction": "mul"}, [np.full((3, 2), 2, np.float16), np.array([[1], [1]]), np.ones((2, 2), "f2")]),
    ("ScatterElements", {"reduction": "max"}, [np.zeros(4, np.int8), np.array([3, -1]), np.array([5, 6], np.int8)]),
    ("ScatterElements", {"reduction": "add"}, [np.zeros(2, bool), np.array([1, 1]), np.ones(2, bool)]),
    ("TensorScatter", {"mode": "circular"}, [np.zeros((1, 3, 2), "f4"), np.ones((1, 2, 2), "f4"), np.array([5])]),
    ("TensorScatter", {}, [np.zeros((1, 3, 2), "f4"), np.ones((1, 2, 2), "f4")]),
]


def onnx_file(op_type: str, attributes: dict, inputs: Sequence[np.ndarray], folder: Path) -> Path:
    names = [f"x{i}" for i in range(len(inputs))]
    kinds = [onnx.helper.np_dtype_to_tensor_dtype(array.dtype) for array in inputs]
    infos = [
        onnx.helper.make_tensor_value_info(name, kind, [None] * array.ndim)
        for name, kind, array in zip(names, kinds, inputs, strict=True)
    ]
    output = onnx.helper.make_tensor_value_info("y", kinds[0], None)
    made = onnx.helper.make_graph([onnx.helper.make_node(op_type, names, ["y"], **attributes)], "g", infos, [output])
    version = 24 if op_type == "TensorScatter" else 18
    model = onnx.helper.make_model(made, opset_imports=[onnx.helper.make_opsetid("", version)], ir_version=10)
    onnx.save(model, folder / "m.onnx")
    return folder / "m.onnx"


@pytest.mark.parametrize(("op_type", "attributes", "inputs"), ONNX_CASES, ids=lambda value: str(value)[:20])
def test_an_onnx_model_runs_on_our_kernels(
    op_type: str, attributes: dict, inputs: list[np.ndarray], core: Any, tmp_path: Path
) -> None:
    path = onnx_file(op_type, attributes, inputs, tmp_path)
    model = core.read_model(path)
    name = gs.op(f"onnx.{op_type}").name
    if op_type != "GatherND":  # open rank, because the length of the tuples is not known
        result = run(core, model, inputs)
        expected = oracle.call(name, *inputs, **attributes)
        np.testing.assert_array_equal(result, expected)
        assert result.dtype == expected.dtype
    assert name in [node.get_type_name() for node in model.get_ops()]


def test_a_half_sum_is_that_of_onnx(core: Any, tmp_path: Path) -> None:
    """The plugin computes in float32. ONNX rounds after every step."""
    inputs = [np.float16([2048]), np.array([0, 0]), np.float16([1, 1])]
    path = onnx_file("ScatterElements", {"reduction": "add"}, inputs, tmp_path)
    assert run(core, core.read_model(path), inputs).tolist() == [2048]
    assert run(core, openvino.Core().read_model(path), inputs).tolist() == [2050]


def test_gather_of_int64_stays_openvinos_own(core: Any, tmp_path: Path) -> None:
    path = onnx_file("Gather", {}, [np.array([1, 2]), np.array([0])], tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kinds = [node.get_type_name() for node in core.read_model(path).get_ops()]
    assert "Gather" in kinds


def test_our_text_reaches_the_user(core: Any) -> None:
    inputs = [np.zeros(3, np.float32), np.array([[1], [7]]), np.ones(2, np.float32)]
    with pytest.raises(
        RuntimeError, match=re.escape("indices[1, 0] = 7 is out of range for axis 0 of data with size 3")
    ):
        run(core, graph("onnx.ScatterND-18", inputs, {}, static=True), inputs)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.uint32, np.float64])
def test_wide_data_is_announced(dtype: type) -> None:
    inputs = [np.zeros(3, dtype), np.array([[1]]), np.ones(1, dtype)]
    with pytest.warns(RuntimeWarning, match=r"onnx\.ScatterND-18: OpenVINO's CPU plugin passes .64 data|u32 data"):
        graph("onnx.ScatterND-18", inputs, {}, static=True)
    assert from_dtype(np.dtype(dtype)).name in LOSSY


def test_a_result_that_does_not_fit_is_an_error(core: Any) -> None:
    """Sums of 2**30 exceed 32 bits, although the data does not."""
    inputs = [np.array([2**30]), np.array([[0], [0]]), np.array([2**30, 2**30])]
    with pytest.warns(RuntimeWarning, match="32 bits"):
        model = graph("onnx.ScatterND-18", inputs, {"reduction": "add"}, static=True)
    with pytest.raises(RuntimeError, match="the result holds int64 values that do not fit OpenVINO's int32"):
        run(core, model, inputs)


def test_an_axis_made_at_run_time(core: Any) -> None:
    inputs = [np.eye(3, dtype=np.float32), np.array([[0], [1], [2]]), np.full((3, 1), 5, np.float32), np.array(1)]
    model = graph("openvino.ScatterElementsUpdate-12", inputs, {}, static=True, axis_constant=False)
    assert run(core, model, inputs).tolist() == [[5, 0, 0], [0, 5, 0], [0, 0, 5]]


@pytest.mark.parametrize(
    ("name", "shapes", "attributes", "axis", "expected"),
    [
        ("onnx.Gather-13", [(2, None, 4), (7, 8)], {}, 1, [2, 7, 8, 4]),
        ("openvino.Gather-8", [(2, 3, 4), (2, 8)], {"batch_dims": -1}, 2, [2, 3, 8]),
        ("openvino.Gather-8", [(2, 3), (5,)], {}, None, [None, None]),
        ("onnx.GatherND-13", [(2, 3, 4), (2, 5, 1)], {"batch_dims": 1}, None, [2, 5, 4]),
        ("onnx.GatherND-13", [(2, 3), (5, None)], {}, None, None),
        ("openvino.GatherND-5", [(2, 3, 4), (2, 3, 1)], {"batch_dims": 2}, None, [6]),
        ("openvino.GatherND-5", [(None, 3, 4), (None, 3, 1)], {"batch_dims": 2}, None, [None]),
        ("onnx.GatherElements-13", [(2, 3), (1, None)], {}, 0, [1, None]),
        ("onnx.ScatterND-18", [(2, None), (1, 1), (1, None)], {}, None, [2, None]),
        ("onnx.GatherND-13", [None, (5, 1)], {}, None, None),
    ],
)
def test_shapes_of_results(
    name: str, shapes: list, attributes: dict, axis: int | None, expected: list[int | None] | None
) -> None:
    shape = result_shape(gs.op(name), shapes, attributes, axis)
    assert (None if shape is None else list(shape)) == expected


def test_impossible_shapes_are_refused_when_the_graph_is_made() -> None:
    inputs = [np.zeros((2, 3), np.float32), np.zeros((4, 3), np.int64)]
    with pytest.raises(ValueError, match="data of rank 2 can't be indexed by tuples of 3 indices"):
        graph("onnx.GatherND-13", inputs, {}, static=True)


def test_without_the_package() -> None:
    import subprocess
    import sys

    code = (
        "import sys; sys.modules['openvino'] = None\n"
        "import gatherscatter_models as gm\n"
        "try: gm.openvino.extensions()\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert " openvino" in done.stdout

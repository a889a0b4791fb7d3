"""`gatherscatter_models.openvino.convert`: conversions between ONNX and IR keep the meaning, in both directions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gatherscatter_models as gm
from gatherscatter import oracle
from gatherscatter_conformance import random_calls
from gatherscatter_conformance.random_source import Choices, HypothesisChoices
from gatherscatter_models.doctor import examine, fix
from gatherscatter_models.interface import ModelError
from gatherscatter_models.openvino.element_types import from_dtype
from gatherscatter_models.openvino.ir_write import IRWriter
from tests.support.command_line import INPUTS, MODEL, fail, succeed
from tests.support.judge import outcome
from tests.support.onnx_graphs import function, node
from tests.support.onnx_graphs import model as small_model
from tests.support.openvino_package import as_ports, run_in_openvino

ERRORS = (TypeError, ValueError, IndexError)


# ------------------------------------------------------------------------------------------- models of one operator


def plain(array: np.ndarray) -> np.ndarray:
    """Return the array in the form that models take: native, contiguous, text as objects."""
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8")
    if array.dtype.kind in "UT":
        return array.astype(object)
    return np.array(array.astype(array.dtype.newbyteorder("=")), order="C")


def declared(array: np.ndarray, static: bool) -> list[int | None]:
    return list(array.shape) if static else [None] * array.ndim


def onnx_model(op_type: str, opset: int, inputs: Sequence[Any], attributes: dict, static: bool, constants: set) -> Any:
    """Return a model of one node with inputs x0, x1, .... Inputs at some positions are initializers."""
    names = ["" if array is None else f"x{i}" for i, array in enumerate(inputs)]
    infos, initializers = [], []
    for i, (name, array) in enumerate(zip(names, inputs, strict=True)):
        if array is None:
            continue
        if i in constants:
            initializers.append(onnx.numpy_helper.from_array(array, name))
        else:
            kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
            infos.append(onnx.helper.make_tensor_value_info(name, kind, declared(array, static)))
    node = onnx.helper.make_node(op_type, names, ["y"], **attributes)
    kind = onnx.helper.np_dtype_to_tensor_dtype(inputs[0].dtype)
    output = onnx.helper.make_tensor_value_info("y", kind, None)
    graph = onnx.helper.make_graph([node], "g", infos, [output], initializers)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=10)


def ir_model(
    op_type: str, opset: int, inputs: Sequence[Any], attributes: dict, static: bool, constants: set, path: Path
) -> Path:
    """Return the same model as an IR."""
    writer = IRWriter()
    feeding = [
        array if i in constants else writer.parameter(f"x{i}", from_dtype(array.dtype).name, declared(array, static))
        for i, array in enumerate(inputs)
    ]
    first = from_dtype(inputs[0].dtype).name
    writer.result("y", writer.layer(op_type, f"opset{opset}", feeding, attributes=attributes, outputs=[first]))
    return writer.save(path)


def feed(inputs: Sequence[Any], constants: set) -> dict[str, np.ndarray]:
    return {f"x{i}": array for i, array in enumerate(inputs) if array is not None and i not in constants}


def run_one(model: Any, inputs: dict[str, np.ndarray]) -> Any:
    return outcome(lambda: gm.run(model, inputs)["y"])


def relaxed(row: oracle.OracleRow, inputs: Sequence[Any]) -> bool:
    """Check for faults of shapes that the other format does not have.

    These are one-element updates of a rank that is only known at run time (V13), the position of an empty update, and
    empty indices that are longer than data off the axis.
    """
    if row.kernel == "gather_elements":
        return inputs[1].size == 0
    if row.kernel == "scatter_nd":
        return inputs[1].ndim == 1 and inputs[2].size == 1
    return row.kernel == "tensor_scatter" and 0 in inputs[1].shape


def check(result: Any, expected: Any, data: np.ndarray, reduction: str) -> None:
    """Check that the result is the oracle's, bit by bit, or an error where the oracle has one."""
    if isinstance(expected, Exception):
        assert isinstance(result, ERRORS), f"expected {expected!r}, got\n{result}"
    else:
        assert not isinstance(result, Exception), result
        oracle.assert_same(result, expected, data, reduction not in ("min", "max"))


# ---------------------------------------------------------------------------------------------------- what is refused


def onnx_refusal(row: oracle.OracleRow, inputs: Sequence[Any], attributes: dict) -> bool:
    """Check that a call has no exact counterpart in an IR."""
    data = inputs[0]
    half = data.dtype.name in ("float16", "bfloat16")
    return (
        data.dtype.kind == "c"
        or (data.dtype.name not in oracle.T16 and data.dtype.kind != "O")
        or (half and attributes.get("reduction") in ("add", "mul"))
        or (data.dtype.kind == "O" and row.kernel in ("scatter_nd", "tensor_scatter"))
        or (data.dtype.kind == "O" and attributes.get("reduction", "none") != "none")
    )


def ir_refusal(row: oracle.OracleRow, inputs: Sequence[Any], attributes: dict, constants: set) -> bool:
    """Check that a call has no exact counterpart in ONNX."""
    data = inputs[0]
    return (
        row.kernel in ("gather_tree", "gather_reduce")
        or ("axis" in row.inputs and len(inputs) - 1 not in constants)
        or (attributes.get("reduction") == "mean" and data.dtype.name in ("int64", "uint64"))
        or (row.name == "openvino.Gather-8" and data.ndim > 0 and 0 in data.shape)
    )


ONNX_ROWS = [row for row in oracle.ROWS.values() if row.name.startswith("onnx.")]
IR_ROWS = [row for row in oracle.ROWS.values() if row.name.startswith("openvino.")]


def parts(row: oracle.OracleRow) -> tuple[str, int]:
    family, _, version = row.name.rpartition("-")
    opset = 4 if row.name == "openvino.ScatterNDUpdate-3" else int(version)  # if OpenVINO has it
    return family.partition(".")[2], opset


def random_call(c: Choices, row: oracle.OracleRow) -> tuple[list, dict, bool, set]:
    """Return a call of the op version, whether its shapes are declared, and which of its inputs are constants."""
    inputs, attributes = random_calls.version_call(c, row)
    inputs = [None if array is None else plain(np.asarray(array)) for array in inputs]
    if row.kernel == "gather_reduce":
        inputs = as_ports(inputs)
    static = c.pick((True, False))
    constants = {i for i in range(len(inputs)) if c.pick((False, False, True))}
    return inputs, attributes, static, constants


def loads(source: Any) -> bool:
    try:
        gm.load(source)
    except (ModelError, LookupError, ValueError, TypeError):
        return False
    return True


def check_from_onnx(c: Choices, row: oracle.OracleRow, folder: Path) -> None:
    """Convert ONNX to IR and back. Both must give the oracle's result, or refuse for a valid reason."""
    inputs, attributes, static, constants = random_call(c, row)
    if attributes.keys() - row.attributes.keys():
        return  # files may contain unknown attributes
    op_type, version = parts(row)
    try:
        model = onnx_model(op_type, version, inputs, attributes, static, constants)
    except (TypeError, ValueError, KeyError):
        return  # there is no such model
    if not loads(model):
        return
    expected = outcome(oracle.call, row.name, *inputs, **attributes)
    reduction = attributes.get("reduction", "none")
    if isinstance(expected, Exception) and relaxed(row, inputs):
        return
    path = folder / "m.xml"
    converted = outcome(gm.openvino.convert, model, path)
    if isinstance(converted, ModelError):
        assert isinstance(expected, Exception) or onnx_refusal(row, inputs, attributes), converted
        return
    check(run_one(path, feed(inputs, constants)), expected, inputs[0], reduction)
    back = outcome(lambda: gm.openvino.convert(path).model)
    result = back if isinstance(back, ModelError) else run_one(back, feed(inputs, constants))
    check(result, expected, inputs[0], reduction)


def check_from_ir(c: Choices, row: oracle.OracleRow, folder: Path) -> None:
    """Convert an IR to ONNX. It must give the oracle's result, or refuse for a valid reason."""
    inputs, attributes, static, constants = random_call(c, row)
    if attributes.keys() - row.attributes.keys():
        return  # files may contain unknown attributes
    op_type, version = parts(row)
    if "axis" in row.inputs and c.pick((True, True, True, False)):
        constants.add(len(inputs) - 1)
    try:
        source = ir_model(op_type, version, inputs, attributes, static, constants, folder / "m.xml")
    except (TypeError, ValueError, KeyError):
        return
    if not loads(source):
        return
    expected = outcome(oracle.call, row.name, *inputs, **attributes)
    reduction = attributes.get("reduction", "none")
    model = outcome(lambda: gm.openvino.convert(source).model)
    if isinstance(model, ModelError):
        assert isinstance(expected, Exception) or ir_refusal(row, inputs, attributes, constants), model
        return
    result = run_one(model, feed(inputs, constants))
    if row.name == "openvino.Gather-8" and 0 in inputs[0].shape and isinstance(result, IndexError):
        return  # the axis is empty at run time: ONNX cannot give zeros
    check(result, expected, inputs[0], reduction)
    back = outcome(lambda: gm.openvino.convert(model, folder / "back.xml"))
    result = back if isinstance(back, ModelError) else run_one(folder / "back.xml", feed(inputs, constants))
    check(result, expected, inputs[0], reduction)


@pytest.mark.parametrize("row", ONNX_ROWS, ids=lambda row: row.name)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@given(data=st.data())
def test_onnx_to_ir_and_back(row: oracle.OracleRow, data: Any) -> None:
    with TemporaryDirectory() as folder:
        check_from_onnx(HypothesisChoices(data.draw), row, Path(folder))


@pytest.mark.full
@pytest.mark.parametrize("row", IR_ROWS, ids=lambda row: row.name)
@given(data=st.data())
def test_ir_to_onnx_and_back(row: oracle.OracleRow, data: Any) -> None:
    with TemporaryDirectory() as folder:
        check_from_ir(HypothesisChoices(data.draw), row, Path(folder))


@pytest.mark.parametrize("updates", [np.array(5.0), np.array([5.0]), np.array([[5.0]])])
def test_one_update_of_any_rank(updates: np.ndarray, tmp_path: Path) -> None:
    """Ruling V13, where ranks are not declared and only known at run time."""
    inputs = [np.array([1.0, 2.0], np.float32), np.array([1]), updates.astype(np.float32)]
    source = ir_model("ScatterNDUpdate", 15, inputs, {"reduction": "none"}, False, set(), tmp_path / "m.xml")
    result = run_one(gm.openvino.convert(source).model, feed(inputs, set()))
    np.testing.assert_array_equal(result, np.array([1.0, 5.0], np.float32))


# -------------------------------------------------------------------------------------- models between the frameworks


def repeats(data: np.ndarray, tuples: np.ndarray) -> bool:
    """Check whether two index tuples name the same target."""
    rows = (tuples % np.array(data.shape[: tuples.shape[-1]])).reshape(-1, tuples.shape[-1])
    return len(np.unique(rows, axis=0)) < len(rows)


# The types that OpenVINO's CPU plugin keeps. It computes 64-bit data in 32 bits.
NOT_NARROWED = ("float32", "int32", "int8", "uint8", "bool")
# Calls in which it differs from its specification (docs/openvino.md lists the same). They are skipped.
FAULTS_OF_OPENVINO = {
    "empty tensors and index tuples of length 0": lambda row, inputs, attributes: any(0 in x.shape for x in inputs),
    "scalar indices of ScatterUpdate": lambda row, inputs, attributes: (
        row.kernel == "scatter_update" and not inputs[1].ndim
    ),
    "num_segments and default_index must be scalars": lambda row, inputs, attributes: (
        row.kernel == "gather_reduce"
        and any(
            x.shape == (1,)
            for x, name in zip(inputs, row.inputs, strict=False)
            if name in ("num_segments", "default_index")
        )
    ),
    "NaN in min and max": lambda row, inputs, attributes: (
        attributes.get("reduction") in ("min", "max") and any(x.dtype.kind == "f" and np.isnan(x).any() for x in inputs)
    ),
    "means of integers are cut towards zero": lambda row, inputs, attributes: (
        attributes.get("reduction") == "mean" and inputs[0].dtype.kind in "iu"
    ),
    "repeated targets of ScatterNDUpdate without a reduction": lambda row, inputs, attributes: (
        row.kernel == "scatter_nd" and attributes.get("reduction", "none") == "none" and repeats(*inputs[:2])
    ),
    "subnormal floats become zero": lambda row, inputs, attributes: any(
        x.dtype.kind == "f" and ((x != 0) & (np.abs(x) < np.finfo(x.dtype).tiny)).any() for x in inputs
    ),
    "GatherTree of booleans": lambda row, inputs, attributes: row.kernel == "gather_tree" and inputs[0].dtype == bool,
    "indices beyond 32 bits": lambda row, inputs, attributes: any(
        x.dtype.itemsize > 3 and x.dtype.kind in "iu" and (x != x.astype(np.int32)).any() for x in inputs[1:]
    ),
}


def runs_in_openvino(row: oracle.OracleRow, inputs: Sequence[Any], attributes: dict, expected: Any) -> bool:
    """Select calls that OpenVINO computes as specified. After a bad index, it may read or write anywhere."""
    if isinstance(expected, Exception) or any(x is None for x in inputs) or inputs[0].dtype.name not in NOT_NARROWED:
        return False
    return not any(fault(row, inputs, attributes) for fault in FAULTS_OF_OPENVINO.values())


def close(ours: Any, theirs: np.ndarray, attributes: dict) -> None:
    """Compare with a tolerance, because OpenVINO adds floats in a different order."""
    assert not isinstance(ours, Exception), ours
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    if ours.dtype.kind == "f" and attributes.get("reduction", "none") in ("sum", "prod", "add", "mul", "mean", "sub"):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-30)
    else:
        np.testing.assert_array_equal(ours, theirs)


def check_our_ir_in_openvino(c: Choices, row: oracle.OracleRow, folder: Path) -> None:
    """An ONNX node that this package converted runs in OpenVINO."""
    inputs, attributes, static, constants = random_call(c, row)
    if attributes.keys() - row.attributes.keys():
        return
    expected = outcome(oracle.call, row.name, *inputs, **attributes)
    if not runs_in_openvino(row, inputs, attributes, expected):
        return
    if row.kernel == "gather_nd" and not static and 1 not in constants:
        return  # the length of the tuples and the rank are open: the CPU plugin does not support such a GatherND
    model = onnx_model(*parts(row), inputs, attributes, static, constants)
    knowledge = "valid" if row.kernel == "gather" and c.pick((True, False)) else "any"
    path = gm.openvino.convert(model, indices=knowledge).save(folder / "m.xml")
    close(expected, run_in_openvino(path, feed(inputs, constants))[0], attributes)


def check_their_ir(c: Choices, row: oracle.OracleRow, folder: Path) -> None:
    """An IR that OpenVINO wrote runs here, and as ONNX in ONNX's checker and ONNX Runtime."""
    openvino = pytest.importorskip("openvino")
    inputs, attributes, static, constants = random_call(c, row)
    if attributes.keys() - row.attributes.keys():
        return
    if "axis" in row.inputs:
        constants.add(len(inputs) - 1)
    expected = outcome(oracle.call, row.name, *inputs, **attributes)
    if not runs_in_openvino(row, inputs, attributes, expected):
        return
    ours = ir_model(*parts(row), inputs, attributes, static, constants, folder / "ours.xml")
    openvino.serialize(openvino.Core().read_model(ours), folder / "theirs.xml")
    given, reduction = feed(inputs, constants), attributes.get("reduction", "none")
    check(run_one(folder / "theirs.xml", given), expected, inputs[0], reduction)
    if row.kernel in ("gather_tree", "gather_reduce"):
        return
    model = gm.openvino.convert(folder / "theirs.xml").model
    if model.graph.output[0].type.tensor_type.HasField("shape"):  # the checker does not support open ranks
        onnx.checker.check_model(model, full_check=True)
    check(run_one(model, given), expected, inputs[0], reduction)
    if runs_in_onnx_runtime(inputs, attributes):
        close(expected, run_in_onnx_runtime(model, given), attributes)


def runs_in_onnx_runtime(inputs: Sequence[Any], attributes: dict) -> bool:
    """Select calls that ONNX Runtime supports. Its CPU kernels lack many types, and lose NaN in min and max."""
    nan = inputs[0].dtype.kind == "f" and any(np.isnan(x).any() for x in inputs if x.dtype.kind == "f")
    return inputs[0].dtype.name in ("float32", "int32") and not (nan and attributes.get("reduction") in ("min", "max"))


def run_in_onnx_runtime(model: Any, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """Use one thread, because with more, its ScatterND loses updates."""
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)[0]


TO_OPENVINO = [row for row in ONNX_ROWS if row.name != "onnx.Scatter-11"]


@pytest.mark.full
@pytest.mark.parametrize("row", TO_OPENVINO, ids=lambda row: row.name)
@given(data=st.data())
def test_openvino_runs_our_ir(row: oracle.OracleRow, data: Any) -> None:
    with TemporaryDirectory() as folder:
        check_our_ir_in_openvino(HypothesisChoices(data.draw), row, Path(folder))


@pytest.mark.full
@pytest.mark.parametrize("row", IR_ROWS, ids=lambda row: row.name)
@given(data=st.data())
def test_ir_of_openvino_runs_here_and_as_onnx(row: oracle.OracleRow, data: Any) -> None:
    with TemporaryDirectory() as folder:
        check_their_ir(HypothesisChoices(data.draw), row, Path(folder))


# ------------------------------------------------------------------------------------------------------ single cases


def graph_model(text: str, opset: int = 18) -> Any:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> g {text}')


def layer_types(model: Any, folder: Path, **options: str) -> list[str]:
    """Return the layers of the converted model, without constants."""
    text = gm.openvino.convert(model, **options).save(folder / "m.xml").read_text()
    return [name for name in re.findall(r' type="(\w+)"', text) if name not in ("Const", "Parameter", "Result")]


GATHER = "(float[n] data, {kind}[k] ids) => (float[k] out) {{ out = {op} (data, ids) }}"


@pytest.mark.parametrize(
    ("op", "indices", "expected"),
    [
        ("Gather", "any", ["ShapeOf", "Gather", "Less", "Add", "Select", "Gather"]),
        ("Gather", "valid", ["Gather"]),
        ("GatherElements", "valid", ["ShapeOf", "Gather", "Less", "Add", "Select", "GatherElements"]),
        ("GatherElements", "nonnegative", ["GatherElements"]),
    ],
)
def test_what_is_known_of_indices_spares_layers(op: str, indices: str, expected: list[str], tmp_path: Path) -> None:
    model = graph_model(GATHER.format(op=op, kind="int32"))
    assert layer_types(model, tmp_path, indices=indices) == expected


def test_constant_indices_need_no_layers(tmp_path: Path) -> None:
    text = "(float[4] data) => (float[2] out) <int64[2] ids = {-1, 0}> { out = GatherElements (data, ids) }"
    model = graph_model(text)
    assert layer_types(model, tmp_path) == ["GatherElements"]
    assert gm.run(tmp_path / "m.xml", [np.arange(4, dtype=np.float32)])["out"].tolist() == [3, 0]


@pytest.mark.parametrize("bad", [4, -5])
def test_an_index_out_of_range_stays_an_error(bad: int, tmp_path: Path) -> None:
    """Gather-8 would give zeros for this index."""
    path = gm.openvino.convert(graph_model(GATHER.format(op="Gather", kind="int64"))).save(tmp_path / "m.xml")
    with pytest.raises(IndexError, match="out of range"):
        gm.run(path, [np.zeros(4, np.float32), np.array([0, bad])])


def gather_8(folder: Path, op: str = "Gather", version: str = "opset8", **attributes: int) -> Path:
    writer = IRWriter()
    data, ids = writer.parameter("data", "f32", [None]), writer.parameter("ids", "i32", [None])
    axis = [] if attributes else [np.int64(0)]
    writer.result("rows", writer.layer(op, version, [data, ids, *axis], name="pick", attributes=attributes))
    return writer.save(folder / "gather.xml")


def test_zeros_of_gather_8_in_onnx(tmp_path: Path) -> None:
    model = gm.openvino.convert(gather_8(tmp_path)).model
    result = gm.run(model, [np.float32([5, 6]), np.array([1, 2, -2, -3], np.int32)])["rows"]
    assert result.tolist() == [6, 0, 5, 0]
    assert "Where" not in [
        node.op_type for node in gm.openvino.convert(gather_8(tmp_path), indices="valid").model.graph.node
    ]


@pytest.mark.parametrize(
    ("op", "version", "attributes"), [("Gather", "opset7", {}), ("GatherElements", "opset6", {"axis": 0})]
)
def test_a_negative_index_stays_an_error_in_onnx(
    op: str, version: str, attributes: dict[str, int], tmp_path: Path
) -> None:
    model = gm.openvino.convert(gather_8(tmp_path, op, version, **attributes)).model
    with pytest.raises(IndexError, match="has this number where an index is negative, which the original"):
        gm.run(model, [np.float32([5, 6]), np.array([1, -1], np.int32)], engine="reference")


def test_models_of_other_libraries_are_named_with_the_way_to_a_file() -> None:
    openvino, onnxruntime, torch = map(pytest.importorskip, ("openvino", "onnxruntime", "torch"))
    compiled = openvino.Core().compile_model(openvino.Model([openvino.opset13.constant(1)], []), "CPU")
    session = onnxruntime.InferenceSession(graph_model(GATHER.format(op="Gather", kind="int64")).SerializeToString())
    for model, advice in {
        compiled: "not openvino.CompiledModel; give the openvino.Model",
        torch.nn.Linear(1, 1): "not torch.Linear; export it with torch.onnx.export",
        session: "not onnxruntime.InferenceSession; give the path of the file",
        3: "not int$",
    }.items():
        for call in (gm.load, examine, lambda model: fix(model, "fixed.onnx")):
            with pytest.raises(ModelError, match=advice):
                call(model)
    with pytest.raises(ModelError, match=r"not openvino\.Model; give the openvino\.Model, or the path"):
        fix(openvino.Model([], [], "empty"), "fixed.onnx")


REFUSED = [
    (
        "(float16[n] data, int64[k] ids, float16[k] new) => (float16[n] out)"
        '{ out = ScatterElements <reduction = "add"> (data, ids, new) }',
        "ScatterElements (1/1): it can't be converted exactly: ONNX rounds float16 after every step, OpenVINO once; "
        "cast data and updates to float32 around it",
    ),
    (
        "(string[n] data, int64[k, 1] ids, string[k] new) => (string[n] out) { out = ScatterND (data, ids, new) }",
        "ScatterND (1/1): it can't be converted exactly: OpenVINO's ScatterNDUpdate has no strings",
    ),
    (
        "(float[n] data) => (float[n] out) { out = Erf (data) }",
        "Erf (1/1): convert supports gathers, scatters, and nodes that compute shapes and indices, "
        "but no nodes of this type",
    ),
    (
        "(float[n] data, int64[k] ids) => (float[k] out) { out = Gather <axis = 3> (data, ids) }",
        "onnx.Gather-13: axis 3 is out of range for data of rank 1 (valid: -1..0); in node Gather (1/1)",
    ),
    (
        "(float data, int64[k] ids) => (float[k] out) { out = Gather (data, ids) }",
        "onnx.Gather-13: data must have at least one dimension; in node Gather (1/1)",
    ),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refused_nodes(text: str, message: str) -> None:
    with pytest.raises(ModelError) as error:
        gm.openvino.convert(graph_model(text))
    assert str(error.value) == f"ModelProto: {message}"


def test_refused_layers(tmp_path: Path) -> None:
    writer = IRWriter()
    data, ids = writer.parameter("data", "f32", [None]), writer.parameter("ids", "i32", [None])
    axis = writer.parameter("axis", "i32", [])
    writer.result("rows", writer.layer("Gather", "opset8", [data, ids, axis], name="pick"))
    with pytest.raises(
        ModelError, match=r"^m\.xml: layer 'pick' \(Gather\): its axis is computed at run time, but is an "
    ):
        gm.openvino.convert(writer.save(tmp_path / "m.xml"))
    writer = IRWriter()
    writer.result("y", writer.layer("Sqrt", "opset1", [writer.parameter("x", "f32", [2])], name="root"))
    with pytest.raises(ModelError, match=r"'root' \(Sqrt\): convert supports gathers, .* but no layers of this type"):
        gm.openvino.convert(writer.save(tmp_path / "m.xml"))


def test_a_default_of_an_input_is_refused() -> None:
    model = graph_model("(float[2] data, int64[1] ids) => (float[1] out) { out = Gather (data, ids) }")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1]), "ids"))
    with pytest.raises(ModelError, match="input 'ids' has a default, and inputs of an IR can't have one"):
        gm.openvino.convert(model)
    model.ir_version = 3  # in this version, every constant had to be an input
    assert gm.openvino.convert(model).model is not None


def test_what_convert_takes_and_gives(tmp_path: Path) -> None:
    openvino = pytest.importorskip("openvino")
    model = graph_model(GATHER.format(op="Gather", kind="int64"))
    onnx.save(model, tmp_path / "m.onnx")
    converted = gm.openvino.convert(str(tmp_path / "m.onnx"), tmp_path / "m.xml")
    assert isinstance(converted.model, IRWriter)
    assert (tmp_path / "m.bin").is_file()
    read = openvino.Core().read_model(tmp_path / "m.xml")
    inputs = [np.float32([5, 6]), np.array([1, -2])]
    for source in (tmp_path / "m.xml", read):
        back = gm.openvino.convert(source)
        path = back.save(tmp_path / "back.onnx")
        assert gm.run(path, inputs)["out"].tolist() == [6, 5]
    with pytest.raises(ModelError, match=r"m\.xml: the name of the converted model must end in \.onnx"):
        back.save(tmp_path / "m.xml")
    with pytest.raises(ModelError, match=r"m\.ir: the name of the converted model must end in \.xml"):
        converted.save(tmp_path / "m.ir")
    with pytest.raises(TypeError, match=r"model must be a path, an onnx\.ModelProto or an openvino\.Model, not int"):
        gm.openvino.convert(3)
    with pytest.raises(ValueError, match="indices must be one of 'any', 'valid', 'nonnegative', not 'all'"):
        gm.openvino.convert(model, indices="all")
    with pytest.raises(ModelError, match="there is no such file"):
        gm.openvino.convert("nowhere.xml")


def test_a_graph_of_shapes_and_indices(tmp_path: Path) -> None:
    """Exporters put such graphs around a gather: they split shapes, make indices positive, and reshape results."""
    model = graph_model(
        """(float[b, n, 2] data, int64[b, k] ids) => (float[b, k, 2] out, int64[1] count)
        <int64[1] one = {1}, int64[1] last = {-1}, int64[1] two = {2}, int64 zero = {0}> {
            sizes = Shape (data)
            rows = Gather (sizes, one)
            count = Identity (rows)
            low = Less (ids, zero)
            more = Add (ids, rows)
            safe = Where (low, more, ids)
            tuples = Unsqueeze (safe, last)
            taken = GatherND <batch_dims = 1> (data, tuples)
            flat = Reshape (taken, last)
            shape = Shape (ids)
            whole = Concat <axis = 0> (shape, two)
            again = Reshape (flat, whole)
            there = Transpose <perm = [1, 0, 2]> (again)
            out = Transpose <perm = [1, 0, 2]> (there)
        }"""
    )
    data, ids = np.arange(12, dtype=np.float32).reshape(2, 3, 2), np.array([[0, -1], [2, 1]])
    expected = data[np.arange(2)[:, None], ids]
    path = gm.openvino.convert(model).save(tmp_path / "m.xml")
    for source in (path, gm.openvino.convert(path).model):
        result = gm.run(source, [data, ids])
        np.testing.assert_array_equal(result["out"], expected)
        assert result["count"].tolist() == [3]
    np.testing.assert_array_equal(run_in_openvino(path, {"data": data, "ids": ids})[0], expected)


def test_functions_of_a_model_are_inlined(tmp_path: Path) -> None:
    local = function("mine", "Take", "table at", "rows", [node("Gather", "table at", "rows")])
    content = ([node("Take", "data ids", "out", domain="mine")], {"data": ("f4", [3]), "ids": ("i8", [2])})
    model = small_model(*content, {"out": ("f4", [2])}, functions=[local], domains={"mine": 1})
    path = gm.openvino.convert(model).save(tmp_path / "m.xml")
    assert gm.run(path, [np.float32([5, 6, 7]), np.array([2, -3])])["out"].tolist() == [7, 5]


def test_the_command(tmp_path: Path) -> None:
    target = tmp_path / "m.xml"
    assert succeed("convert", MODEL, target) == f"written: {target}\n"
    assert succeed("convert", target, tmp_path / "m.onnx") == f"written: {tmp_path / 'm.onnx'}\n"
    inputs = dict(np.load(INPUTS))
    for path in (target, tmp_path / "m.onnx"):
        for ours, theirs in zip(gm.run(path, inputs).values(), gm.run(MODEL, inputs).values(), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    assert "must end in .xml" in fail("convert", MODEL, tmp_path / "m.txt")


def layer_in_onnx(op: str, version: int, inputs: Sequence[np.ndarray], attributes: dict, folder: Path) -> Any:
    """Return a layer of open shapes and a constant axis, converted to ONNX and run."""
    constants = {3} if len(inputs) == 4 else set()
    path = ir_model(op, version, inputs, attributes, False, constants, folder / "m.xml")
    return run_one(gm.openvino.convert(path).model, feed(inputs, constants))


def test_sums_without_the_initial_value_keep_the_sign_of_zero(tmp_path: Path) -> None:
    inputs = [np.float32([5, 6]), np.array([0]), np.float32([-0.0]), np.array(0)]
    attributes = {"reduction": "sum", "use_init_val": False}
    result = layer_in_onnx("ScatterElementsUpdate", 12, inputs, attributes, tmp_path)
    assert (result.tolist(), np.signbit(result).tolist()) == ([0, 6], [True, False])


def test_means_of_integers_are_rounded_down(tmp_path: Path) -> None:
    inputs = [np.array([-8, 9], np.int32), np.array([0, 0]), np.array([-5, -6], np.int32), np.array(0)]
    for initial, expected in ((True, [-7, 9]), (False, [-6, 9])):  # -19 / 3 and -11 / 2
        attributes = {"reduction": "mean", "use_init_val": initial}
        assert layer_in_onnx("ScatterElementsUpdate", 12, inputs, attributes, tmp_path).tolist() == expected


def test_shapes_that_openvino_refuses_stay_errors(tmp_path: Path) -> None:
    longer = [np.float32([5, 6]), np.array([0, 1, 0]), np.float32([1, 2, 3]), np.array(0)]
    assert isinstance(layer_in_onnx("ScatterElementsUpdate", 3, longer, {}, tmp_path), ERRORS)
    narrower = [np.eye(3, dtype=np.float32), np.array([[0, 1]])]
    result = layer_in_onnx("GatherElements", 6, narrower, {"axis": 0}, tmp_path)
    assert isinstance(result, (*ERRORS, RuntimeError)), result


def test_what_no_ir_can_have() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 18]> g (float[n] x, int64[k] i) => (float[k] y) { y = Gather (x, i) }'
    )
    twice, none, odd = (onnx.ModelProto.FromString(model.SerializeToString()) for _ in range(3))
    twice.graph.output.append(model.graph.output[0])
    del none.graph.output[:]
    odd.graph.name = "\x01"
    for bad, text in ((twice, "'y' is listed twice"), (none, "no output"), (odd, "has a character")):
        with pytest.raises(ModelError, match=text):
            gm.openvino.convert(bad)

"""The node tests of the onnx package, run through `gatherscatter_models.onnx.backend`."""

from __future__ import annotations

import unittest
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.backend.base import Backend as BackendBase
from onnx.backend.base import BackendRep
from onnx.backend.test import BackendTest
from onnx.backend.test.case.test_case import TestCase as NodeCase
from onnx.backend.test.loader import load_model_tests

import gatherscatter as gs
from gatherscatter_models.interface import ModelError
from gatherscatter_models.onnx import backend
from tests.support.recording import record_versions

FAMILY = {row.op_type for row in gs.ops() if row.domain == "onnx"}

# Names of docs/specification.md, section 5.1, by file.
NAMES = {
    *("gather_0", "gather_1", "gather_2d_indices", "gather_negative_indices"),
    *("gather_elements_0", "gather_elements_1", "gather_elements_negative_indices"),
    *("gathernd_example_int32", "gathernd_example_float32", "gathernd_example_int32_batch_dim1"),
    *("scatter_without_axis", "scatter_with_axis"),
    *("scatter_elements_without_axis", "scatter_elements_with_axis", "scatter_elements_with_negative_indices"),
    *("scatter_elements_with_duplicate_indices", "scatter_elements_with_reduction_mul"),
    *("scatter_elements_with_reduction_max", "scatter_elements_with_reduction_min"),
    *("scatternd", "scatternd_add", "scatternd_multiply", "scatternd_max", "scatternd_min"),
    *("scatternd_max_with_element_indices", "scatternd_min_with_element_indices"),
    *("tensorscatter", "tensorscatter_circular", "tensorscatter_3d"),
}


def _walk(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                yield from _walk(graph.node)


def _uses_family(model: onnx.ModelProto) -> bool:
    bodies = [model.graph.node, *(function.node for function in model.functions)]
    return any(node.op_type in FAMILY for body in bodies for node in _walk(body))


def _is_family_node(model: onnx.ModelProto) -> bool:
    return len(model.graph.node) == 1 and model.graph.node[0].op_type in FAMILY


def _load() -> list[NodeCase]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other operators' cases divide by zero
        return [case for case in load_model_tests(kind="node") if _uses_family(case.model)]


CASES = _load()
OURS = [case for case in CASES if _is_family_node(case.model)]
OTHERS = [case for case in CASES if not _is_family_node(case.model)]


def test_exactly_the_29_node_tests_of_the_family_exist() -> None:
    assert sorted(case.name for case in OURS) == sorted(f"test_{name}" for name in NAMES)
    assert len(NAMES) == 29


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the names of the op versions that run."""
    return record_versions(monkeypatch)


@pytest.mark.parametrize("case", OURS, ids=lambda case: case.name)
def test_node(case: NodeCase, called: list[str]) -> None:
    prepared = backend.prepare(case.model)
    for inputs, outputs in case.data_sets:
        results = prepared.run(inputs)
        assert len(results) == len(outputs)
        for result, expected in zip(results, outputs, strict=True):
            assert result.dtype == expected.dtype
            np.testing.assert_array_equal(result, expected, strict=True)
    op_type, opset = case.model.graph.node[0].op_type, case.model.opset_import[0].version
    newest = max(row.version for row in gs.ops() if row.op_type == op_type and row.version <= opset)
    assert called == [f"onnx.{op_type}-{newest}"] * len(case.data_sets)


@pytest.mark.parametrize("case", OTHERS, ids=lambda case: case.name)
def test_node_of_another_operator_that_is_made_of_ours(case: NodeCase) -> None:
    prepared = backend.prepare(case.model)
    for inputs, outputs in case.data_sets:
        results = prepared.run(inputs)
        assert len(results) == len(outputs)
        for result, expected in zip(results, outputs, strict=True):
            _assert_close(result, expected, case)


def _assert_close(result: Any, expected: Any, case: NodeCase) -> None:
    if isinstance(expected, list):  # a sequence
        assert len(result) == len(expected)
        for element, other in zip(result, expected, strict=True):
            _assert_close(element, other, case)
        return
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    if expected.dtype.kind in "fc":
        np.testing.assert_allclose(result, expected, rtol=case.rtol, atol=case.atol)
    else:
        np.testing.assert_array_equal(result, expected)


def test_there_are_other_operators_made_of_ours() -> None:
    assert len(OTHERS) > 50


def test_the_module_is_a_backend_itself() -> None:
    case = next(case for case in OURS if case.name == "test_scatternd")
    inputs, outputs = case.data_sets[0]
    assert backend.is_compatible(case.model)
    assert backend.supports_device("CPU")
    assert not backend.supports_device("CUDA:0")
    np.testing.assert_array_equal(backend.run_model(case.model, inputs)[0], outputs[0])


def test_results_have_the_names_of_the_outputs() -> None:
    case = next(case for case in OURS if case.name == "test_gather_0")
    results = backend.run_model(case.model, case.data_sets[0][0])
    assert results["y"] is results[0]


def test_run_node_takes_the_opset() -> None:
    data, indices = np.arange(5.0), np.array([[1], [1]])
    node = onnx.helper.make_node("ScatterND", ["data", "indices", "updates"], ["out"], reduction="max")
    (out,) = backend.run_node(node, [data, indices, np.array([7.0, 3.0])])
    assert out.tolist() == [0, 7, 2, 3, 4]
    with pytest.raises(ModelError, match=r"onnx\.ScatterND-16: reduction must be one of 'none', 'add', 'mul'"):
        backend.run_node(node, [data, indices, np.array([7.0, 3.0])], opset_version=16)


ADD = onnx.helper.make_node("Add", ["x", "y"], ["z"])


def test_run_node_takes_inputs_as_it_gets_them() -> None:
    x, y = np.array([1, 2], np.float32), np.array([4, 8], np.float32)
    for inputs in ([x, y], (x, y), {"y": y, "x": x}):
        results = backend.run_node(ADD, inputs)
        assert results["z"].tolist() == [5, 10]
    assert backend.run_node(onnx.helper.make_node("Neg", ["x"], ["z"]), x)[0].tolist() == [-1, -2]
    assert backend.run_node(onnx.helper.make_node("Add", ["x", "x"], ["z"]), [x, x])[0].tolist() == [2, 4]
    with pytest.raises(ModelError, match=r"the node has 2 inputs \(x, y\); 1 arrays were given"):
        backend.run_node(ADD, x)


def test_run_node_checks_what_it_is_told_about_outputs() -> None:
    inputs = [np.ones(2, np.float32), np.ones(2, np.float32)]
    backend.run_node(ADD, inputs, outputs_info=[(np.float32, (2,))])
    backend.run_node(ADD, inputs, outputs_info=[(np.dtype("float32"), [2])])
    for info, message in (
        ([(np.float64, (2,))], r"output 0 is float32 \(2,\); outputs_info says float64 \(2,\)"),
        ([(np.float32, (3,))], r"outputs_info says float32 \(3,\)"),
        ([], "the node has 1 outputs; outputs_info has 0 entries"),
    ):
        with pytest.raises(ModelError, match=message):
            backend.run_node(ADD, inputs, outputs_info=info)


def test_run_node_of_another_domain_takes_its_newest_opset() -> None:
    node = onnx.helper.make_node("Binarizer", ["x"], ["y"], domain="ai.onnx.ml", threshold=1.5)
    assert backend.run_node(node, [np.array([[1, 2]], np.float32)])[0].tolist() == [[0, 1]]


def test_inputs_of_a_prepared_model_are_a_mapping_a_sequence_or_the_one_array(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["": 18]> g (float[n] x) => (float[n] y) {y = Neg (x)}'
    )
    onnx.save(model, tmp_path / "model.onnx")
    x = np.array([1, 2], np.float32)
    for prepared in (backend.prepare(model), backend.prepare(tmp_path / "model.onnx", "CPU:0")):
        assert isinstance(prepared, BackendRep)
        for inputs in (x, [x], (x,), {"x": x}):
            assert prepared.run(inputs)["y"].tolist() == [-1, -2]


@pytest.mark.parametrize("device", ["CUDA", "CUDA:1", "GPU", "cpu", ""])
def test_there_is_only_the_cpu(device: str) -> None:
    assert not backend.supports_device(device)
    with pytest.raises(RuntimeError, match="the only device is 'CPU'"):
        backend.prepare(CASES[0].model, device)


def test_the_module_has_all_that_the_interface_of_a_backend_has() -> None:
    for name in vars(BackendBase):
        if not name.startswith("_"):
            assert callable(getattr(backend, name))
    assert issubclass(backend.Backend, BackendBase)


def test_the_runner_of_the_onnx_package_takes_it() -> None:
    """This is the usual way to test a backend. The cases are those of operators whose name begins with scatternd."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runner = BackendTest(backend, __name__).include(r"^test_scatternd.*_cpu$")
        cases = [case for case in runner.test_suite if "test_scatternd" in case.id() and case.id().endswith("_cpu")]
    result = unittest.TestResult()
    for case in cases:
        case.run(result)
    assert (result.testsRun, result.failures, result.errors, result.skipped) == (7, [], [], [])


def test_run_node_with_an_optional_input_left_out() -> None:
    node = onnx.helper.make_node("TensorScatter", ["past", "update", ""], ["present"])
    (present,) = backend.run_node(node, [np.zeros((1, 3, 2), np.float32), np.ones((1, 1, 2), np.float32)])
    assert present.tolist() == [[[1, 1], [0, 0], [0, 0]]]


def test_what_is_not_supported_is_not_compatible() -> None:
    node = onnx.helper.make_node("NoSuchOp", ["x"], ["y"])
    with pytest.raises(ModelError, match=r"No Op registered for NoSuchOp"):
        backend.run_node(node, [np.zeros(2)])
    case = next(case for case in OURS if case.name == "test_scatternd")
    assert not backend.is_compatible(case.model, device="CUDA")
    broken = onnx.ModelProto()
    broken.CopyFrom(case.model)
    broken.opset_import[0].version = 999
    assert not backend.is_compatible(broken)

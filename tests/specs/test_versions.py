"""Every op version against the oracle: the table row by row, each combination once, and random calls."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gatherscatter as gs
from gatherscatter import oracle
from gatherscatter.arrays.convert import element_type
from gatherscatter.errors import OpValueError
from gatherscatter.specs import table
from gatherscatter.specs.rows import REQUIRED
from gatherscatter_conformance.random_calls import dtype_of, fill_from_bytes, representations
from gatherscatter_conformance.random_source import HypothesisChoices
from tests.support.cases import CASES
from tests.support.judge import check_version, error_class, outcome, run_version

ROWS = list(oracle.ROWS.values())
each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


# ------------------------------------------------------------------------------------------ the table, row by row


def test_there_are_exactly_the_38_op_versions():
    assert sorted(version.name for version in gs.ops()) == sorted(oracle.ROWS)
    assert len(gs.ops()) == len(oracle.ROWS) == 38


@each_row
def test_table_names_and_inputs(row):
    version = gs.op(row.name)
    assert (version.domain, version.op_type, version.version) == (row.domain, row.op_type, row.version)
    assert version.name == row.name
    assert tuple(x.name for x in version.inputs) == row.inputs
    optional = ["write_indices", "default_index", "per_sample_weights", "zero_points"]
    optional += ["num_segments"] if "SegmentMax" in row.name else []
    assert [x.name for x in version.inputs if x.optional] == [name for name in row.inputs if name in optional]
    kinds = {x.name: x.kind for x in version.inputs}
    assert kinds.get("indices", "indices") == kinds.get("write_indices", "indices") == "indices"
    assert kinds.get("axis", "axis") == "axis"
    values = {"data", "updates", "past_cache", "update", "step_ids", "emb_table", "per_sample_weights"}
    assert {kinds[name] for name in values & set(kinds)} == {"data"}
    assert version.deprecated is row.deprecated
    assert version.kernel == row.kernel
    assert version.source


@each_row
def test_table_attributes_and_defaults(row):
    version = gs.op(row.name)
    attributes = {a.name: a for a in version.attributes}
    assert set(attributes) == set(row.attributes)
    for name, default in row.attributes.items():
        found = attributes[name]
        if default is oracle.REQUIRED:
            assert found.default is REQUIRED
            assert found.type == ("string" if name in row.choices else "int")
        else:
            assert found.default == default
            assert found.type == {int: "int", str: "string", bool: "bool"}[type(default)]
        assert sorted(found.choices or ()) == sorted(row.choices.get(name, ()))


@each_row
def test_table_element_types(row):
    """Check the types that every NumPy user has. The next test checks the storage types."""
    storage = {*oracle.OV_STORAGE, "uint1", "uint2"} if row.domain == "openvino" else set()
    assert set(gs.op(row.name).element_types) - storage == set(row.types) - storage


@each_row
def test_table_storage_types(row):
    """Check 8-bit and 4-bit types. u1 and u2 exist in OpenVINO but not in every ml_dtypes, so they are optional."""
    if row.domain == "openvino" and row.kernel != "gather_reduce":
        found = {name for name in gs.op(row.name).element_types if name in (*oracle.T24, "int2", "uint1", "uint2")}
        assert found - set(oracle.T16) - {"uint1", "uint2"} == set(oracle.OV_STORAGE)


@each_row
def test_table_index_types_and_range(row):
    version = gs.op(row.name)
    if row.kernel == "gather_tree":  # all four inputs share one type
        assert set(version.index_types) <= set(version.element_types)
        return
    assert sorted(version.index_types) == sorted(row.index_types)
    if row.rule != "own":
        assert version.index_range == row.rule


@each_row
def test_element_type_names_are_those_of_the_table(row):
    for name in representations(row.types):
        spec_name = "string" if dtype_of(name).kind in "OUST" else name
        assert element_type(dtype_of(name)) == spec_name
        assert spec_name in gs.op(row.name).element_types


FAMILIES = sorted({(row.domain, row.op_type) for row in ROWS})


@pytest.mark.parametrize(("domain", "op_type"), FAMILIES, ids=".".join)
def test_find_picks_the_newest_version_not_above(domain, op_type):
    known = sorted(row.version for row in ROWS if (row.domain, row.op_type) == (domain, op_type))
    for opset in range(1, 30):
        below = [version for version in known if version <= opset]
        if below:
            assert table.find(domain, op_type, opset).version == below[-1]
        else:
            with pytest.raises(LookupError):
                table.find(domain, op_type, opset)
    assert gs.op(f"{domain}.{op_type}").version == known[-1]


# --------------------------------------------------------------------------------------- each combination at least once


def small_case(row: oracle.OracleRow, element: str, index: str) -> tuple[list[np.ndarray], dict[str, Any]]:
    """Return a small legal call with duplicates, and with a negative index where the version and the type have them."""
    negative = row.rule == "negative" and index in ("int8", "int16", "int32", "int64")

    def elements(*shape: int, start: int = 0) -> np.ndarray:
        size = int(np.prod(shape))
        return fill_from_bytes(element, shape, bytes(range(start, start + size)))

    def positions(values: list, last: int) -> np.ndarray:
        array = np.array(values)
        return (np.where(array == last, -1, array) if negative else array).astype(index)

    if row.kernel == "gather":
        made = [elements(3, 4), positions([[0, 3], [3, 1]], 3)], {"axis": 1}
    elif row.kernel == "gather_elements":
        made = [elements(3, 4), positions([[0, 3, 3, 1, 0], [1, 1, 2, 0, 3], [3, 0, 0, 2, 1]], 3)], {"axis": 1}
    elif row.kernel == "gather_nd":
        b = {"batch_dims": 1} if "batch_dims" in row.attributes else {}
        made = [elements(2, 3, 2), positions([[[1], [0]], [[0], [1]]], 1 + len(b))], b
    elif row.kernel == "scatter_elements":
        indices = positions([[0, 0, 2], [1, 0, 1]], 2)
        made = [elements(2, 3), indices, elements(2, 3, start=6)], {"axis": 1}
    elif row.kernel == "scatter_nd":
        made = [elements(3, 3), positions([[0], [2], [0], [1], [0]], 2), elements(5, 3, start=4)], {}
    elif row.kernel == "scatter_update":
        made = [elements(2, 3), positions([2, 0, 2], 2), elements(2, 3, start=6)], {"axis": 1}
    elif row.kernel == "tensor_scatter":
        made = [elements(2, 3, 2), elements(2, 2, 2, start=5), positions([0, 1], -1)], {}
    elif row.kernel == "gather_quantized":
        scales = np.array([[0.5], [2], [-1]], np.float32)
        made = [elements(3, 8), positions([[0, 2], [2, 1]], 2), scales], {"block_size": 16}
    elif row.kernel == "gather_reduce":
        table, weights = elements(3, 2), elements(4, start=6)
        line, ids, scalar = positions([0, 2, 2, 1], -1), positions([0, 0, 0, 1], -1), positions([2], -1)[0]
        packed = "offsets" not in row.inputs and "segment_ids" not in row.inputs
        given = {"emb_table": table, "data": elements(4, 2), "indices": line.reshape(2, 2) if packed else line,
                 "offsets": positions([0, 3], -1), "segment_ids": ids, "num_segments": np.array(scalar),
                 "default_index": np.array(scalar), "per_sample_weights": weights.reshape(2, 2) if packed else weights,
                 }  # fmt: skip
        fill = {"fill_mode": "LOWEST"} if "fill_mode" in row.attributes else {}
        made = [given[name] for name in row.inputs], fill
    else:  # gather_tree: one and two exist in every element type
        ones, twos = np.ones((3, 2, 3)), np.full((3, 2, 3), 2.0)
        steps = np.where(np.arange(18).reshape(3, 2, 3) % 5, ones, twos)
        made = [x.astype(dtype_of(element)) for x in (steps, ones, np.full(2, 2.0), np.array(2.0))], {}
    return made


def attribute_combinations(row: oracle.OracleRow) -> list[dict[str, Any]]:
    choices = dict(row.choices)
    if "use_init_val" in row.attributes:
        choices["use_init_val"] = (True, False)
    return [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]


CELLS = [(row, element) for row in ROWS for element in representations(row.types)]


@pytest.mark.parametrize(("row", "element"), CELLS, ids=[f"{row.name}-{element}" for row, element in CELLS])
def test_each_type_with_each_reduction_and_index_type(row, element):
    for attributes in attribute_combinations(row):
        for n, index in enumerate(row.index_types or ("int64",)):
            inputs, more = small_case(row, element, index)
            more = {name: value for name, value in more.items() if name not in attributes}
            if "axis" in row.inputs:
                inputs.append(np.array([more.pop("axis")], oracle.IX[n]))  # and so each axis type as well
            check_version(row.name, inputs, {**attributes, **more})


@each_row
def test_element_types_that_the_version_does_not_have(row):
    everything = {*oracle.T24, *oracle.OVANY, "datetime64[s]", "timedelta64[s]", "longdouble"}
    for name in representations(tuple(sorted(everything - set(row.types)))):
        inputs, attributes = small_case(row, "bool", (row.index_types or ("bool",))[0])
        blank = np.full if name == "object" else np.zeros
        arguments = ("", object) if name == "object" else (dtype_of(name),)
        inputs = [x if x.dtype != bool else blank(x.shape, *arguments) for x in inputs]
        if "axis" in row.inputs:
            inputs.append(np.array(attributes.pop("axis")))
        with pytest.raises(TypeError):
            run_version(row.name, *inputs, **attributes)


@each_row
def test_index_types_that_the_version_does_not_have(row):
    if row.kernel == "gather_tree":
        return
    for name in sorted({*oracle.IX, "bool", "float32", "float64"} - set(row.index_types)):
        inputs, attributes = small_case(row, "float32", row.index_types[0])
        n = next(n for n, each in enumerate(gs.op(row.name).inputs) if each.kind == "indices")
        inputs[n] = np.zeros(inputs[n].shape, name)
        if "axis" in row.inputs:
            inputs.append(np.array(attributes.pop("axis")))
        with pytest.raises(TypeError):
            run_version(row.name, *inputs, **attributes)


@each_row
def test_attribute_values_that_the_version_does_not_list(row):
    for name, listed in row.choices.items():
        unlisted = {*oracle.REDUCTIONS, "sum", "prod", "linear", "wrap", "", "None", listed[-1].upper()} - set(listed)
        for value in sorted(unlisted):
            inputs, attributes = small_case(row, "float32", row.index_types[0])
            if "axis" in row.inputs:
                inputs.append(np.array(attributes.pop("axis")))
            with pytest.raises(OpValueError):
                run_version(row.name, *inputs, **{**attributes, name: value})


ORDERED = {  # each call has two faults; the error is the first in the documented order
    "unknown keyword before attribute value": ("onnx.ScatterND-18", {"nonsense": 1, "reduction": "?"}, {}, TypeError),
    "unknown keyword before shape": ("onnx.ScatterND-18", {"nonsense": 1}, {2: np.ones(3)}, TypeError),
    "type before attribute value": ("onnx.ScatterND-18", {"reduction": "?"}, {2: np.ones(1, "i4")}, TypeError),
    "type before attribute of another version": ("onnx.ScatterND-13", {"reduction": "add"}, {1: np.zeros((1, 1), "i4")},
                                                 TypeError),
    "attribute value before reduction for the type": ("onnx.ScatterND-18", {"reduction": "?"},
                                                      {0: np.ones(2, "F"), 2: np.ones(1, "F")}, ValueError),
    "reduction for the type before shape": ("onnx.ScatterND-18", {"reduction": "max"},
                                            {0: np.ones(2, "F"), 2: np.ones(9, "F")}, TypeError),
    "reduction for the type before axis": ("openvino.ScatterElementsUpdate-12", {"reduction": "mean"},
                                           {0: np.ones(2, bool), 2: np.ones(1, bool), 3: np.zeros(2, int)}, TypeError),
    "shape before index": ("onnx.ScatterND-18", {}, {1: np.array([[9]]), 2: np.ones(3)}, ValueError),
    "type before index": ("onnx.ScatterND-18", {}, {1: np.array([[9]], "i4")}, TypeError),
}  # fmt: skip


@pytest.mark.parametrize("fault", ORDERED)
def test_order_of_errors(fault):
    name, attributes, changes, expected = ORDERED[fault]
    flat = name.startswith("openvino")
    inputs = [np.ones(2), np.array([0] if flat else [[0]]), np.ones(1), *([np.array(0)] if flat else [])]
    for n, value in changes.items():
        inputs[n] = value
    result, judged = (
        outcome(run_version, name, *inputs, **attributes),
        outcome(oracle.call, name, *inputs, **attributes),
    )
    assert (error_class(result), error_class(judged)) == (expected, expected)


@each_row
def test_domain_functions_are_the_same_operators(row):
    """gs.onnx.ScatterND(..., opset=18) is gs.op("onnx.ScatterND-18")."""
    element = "float32" if "float32" in row.types else row.types[0]
    inputs, attributes = small_case(row, element, (row.index_types or ("int64",))[-1])
    if "axis" in row.inputs:
        inputs.append(attributes.pop("axis"))  # a plain int, as users write it
    function = getattr(getattr(gs, row.domain.rpartition(".")[2]), row.op_type)
    typed = inputs[row.inputs.index("scales") if "scales" in row.inputs else 0]  # has the type of the result
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        result = function(*inputs, **attributes, opset=row.version)
    oracle.assert_same(result, oracle.call(row.name, *inputs, **attributes), typed)


# Sizes that reach blocks, vector tails and several threads: many single elements, and few wide rows.
LARGE = {"scatter_elements": (5, 20_000, 1), "scatter_nd": (3, 30, 700)}
REDUCING = [row for row in ROWS if "max" in row.reductions]


@pytest.mark.parametrize("element", ["float16", "bfloat16", "float32", "int8", "uint64", "bool"])
@pytest.mark.parametrize("row", REDUCING, ids=lambda row: row.name)
def test_larger_reductions(row, element):
    sizes, count, width = LARGE[row.kernel]
    noise = np.random.default_rng(count)
    data = fill_from_bytes(element, (sizes, width), noise.bytes(sizes * width))
    updates = fill_from_bytes(element, (count, width), noise.bytes(count * width))
    inputs = [data, noise.integers(-sizes, sizes, (count, 1)), updates]
    if "axis" in row.inputs:
        inputs.append(np.array(0))
    for attributes in attribute_combinations(row):
        check_version(row.name, inputs, attributes)


# ------------------------------------------------------------------------------------------------------- Hypothesis


@each_row
@given(data=st.data())
def test_random_calls(row, data):
    CASES[f"version {row.name}"](HypothesisChoices(data.draw))

"""The operators in C++ accept exactly the calls that src/gatherscatter/specs/rows.py allows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.specs import call
from gatherscatter.specs.rows import INTEGERS, ONNX_24
from gatherscatter.specs.table import OpVersion
from gatherscatter_conformance.random_calls import dtype_of
from models.tests.onnx.native.sessions import ABSENT_TYPES, run_node
from tests.support.judge import outcome

ROWS = [row for row in gs.ops() if row.domain == "onnx"]
each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)

ELEMENT_TYPES = [name for name in ONNX_24 if name not in ABSENT_TYPES]
INDEX_TYPES = [*INTEGERS, "float32", "bool"]
ATTRIBUTES: dict[str, tuple[Any, ...]] = {
    "axis": (0, 1, 5),
    "batch_dims": (0, 1),
    "reduction": ("none", "add", "sub", "mul", "min", "max", "mean", "sum"),
    "include_self": (0, 1),
    "mode": ("raise", "wrap", "clip", "fill", "drop", "linear", "circular"),
    "num_segments": (3,),
    "keepdims": (0, 1),
}
WRONG_TYPES = {"axis": ("0", 0.5, [0]), "batch_dims": ("0", 0.5), "reduction": (7, 0.5, ["add"]), "mode": (1,)}


def arrays(row: OpVersion, element: str = "float32", index: str = "int64") -> list[np.ndarray]:
    """Return inputs that every version accepts, if it supports their types."""
    dtype = np.dtype(object) if element == "string" else dtype_of(element)
    data = np.array([["a"]], object) if element == "string" else np.zeros((1, 1), dtype)
    at = np.zeros((1, 1), index)
    return [data, data, at[0]] if row.op_type == "TensorScatter" else [data, at, data][: len(row.inputs)]


def check(row: OpVersion, inputs: list[np.ndarray], attributes: dict[str, Any]) -> None:
    """Check that the node of a version has the version's result or message."""
    result = outcome(run_node, row.op_type, inputs, {**attributes, "opset": row.version})
    expected = outcome(call, row, inputs, attributes)
    assert isinstance(result, Exception) == isinstance(expected, Exception), (result, expected)
    if isinstance(expected, Exception):
        assert type(result) is type(expected), result
        text = str(expected).replace("of type object", "of type string")
        # The native library does not read the values of tensors of wrong types.
        assert str(result) == (text.split(";")[0] if "must be integers" in text else text)
    else:
        assert result.dtype == expected.dtype
        assert result.shape == expected.shape


@each_row
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_element_types(row: OpVersion) -> None:
    for element in ELEMENT_TYPES:
        check(row, arrays(row, element), {})


@each_row
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_index_types(row: OpVersion) -> None:
    for index in INDEX_TYPES:
        check(row, arrays(row, index=index), {})


@each_row
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_attributes_and_their_values(row: OpVersion) -> None:
    for name, values in ATTRIBUTES.items():
        for value in values:
            check(row, arrays(row), {name: value})


@each_row
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_types_of_attributes(row: OpVersion) -> None:
    for attribute in row.attributes:
        for value in WRONG_TYPES[attribute.name]:
            check(row, arrays(row), {attribute.name: value})


@each_row
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_reductions_of_element_types(row: OpVersion) -> None:
    reductions = [choice for each in row.attributes if each.name == "reduction" for choice in each.choices or ()]
    for element, reduction in itertools.product(row.element_types, reductions):
        if element not in ABSENT_TYPES:
            check(row, arrays(row, element), {"reduction": reduction})


@pytest.mark.parametrize("op_type", dict.fromkeys(row.op_type for row in ROWS))
def test_the_version_is_the_newest_that_is_not_above_the_opset(op_type: str) -> None:
    rows = [row for row in ROWS if row.op_type == op_type]
    for opset in range(-1, 30):
        found = [row for row in rows if row.version <= opset]
        result = outcome(run_node, op_type, arrays(rows[0], index="float32"), {"opset": opset})
        if found:
            assert str(result).startswith(f"{found[-1].name}: "), opset
        else:
            first = rows[0].version
            assert str(result) == f"onnx.{op_type} does not exist in opset {opset}; opset {first} introduced it"
            assert isinstance(result, gs.OpValueError)


@pytest.mark.parametrize("accumulate", ["step", "wide", "exact", "other"])
@each_row
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_accumulate_goes_with_the_operators_that_reduce(row: OpVersion, accumulate: str) -> None:
    reduces = row.op_type in ("ScatterElements", "ScatterND")
    adds = {"reduction": "add"} if any(attribute.name == "reduction" for attribute in row.attributes) else {}
    result = outcome(run_node, row.op_type, arrays(row), {"accumulate": accumulate, "opset": row.version, **adds})
    if reduces and (accumulate == "step" or (adds and accumulate != "other")):
        assert isinstance(result, np.ndarray)
    elif reduces:
        assert isinstance(result, gs.OpValueError)
    else:
        assert "has no attribute 'accumulate'" in str(result)

"""The domain ``gatherscatter`` of ONNX models: the operators of ONNX, with additional types and attributes.

A node with the attribute ``opset`` runs the version of ONNX's operator in that opset. It may have ``accumulate``. A
node without ``opset`` runs the operator of this package. These operators have no versions. They accept all element
types, and all integer types as indices. GatherReduce and GatherQuantized exist only in this package.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from gatherscatter.arrays import convert
from gatherscatter.errors import make_error
from gatherscatter.functions import gather_quantized, gather_reduce
from gatherscatter.operation import Bags, Kernel
from gatherscatter.specs import table
from gatherscatter.specs.calls import call, check_call, check_inputs, has_reductions, make_operation, name_inputs
from gatherscatter.specs.rows import DOMAIN, OWN_ROWS
from gatherscatter.specs.table import OpVersion, make_op_version

_INT = 2  # of onnx.AttributeProto


class OwnOperator(OpVersion):
    """An operator of the domain."""

    @cached_property
    def name(self) -> str:
        return f"{self.domain}.{self.op_type}"

    @property
    def source(self) -> str:
        """The address of its description."""
        return "docs/onnx.md, The operators of the domain"


OWN_OPERATORS = {row.op_type: make_op_version(row, OwnOperator) for row in OWN_ROWS}


def find(op_type: str, opset: int | None = None) -> OpVersion:
    """Return the operator of the domain, or with ``opset`` the version of ONNX's operator in that opset.

    >>> find("ScatterND").name, find("ScatterND", 17).name
    ('gatherscatter.ScatterND', 'onnx.ScatterND-16')

    Raises
    ------
    LookupError
        There is no such operator in the domain, or in that opset.
    """
    if opset is not None:
        return table.find("onnx", op_type, opset)
    if op_type not in OWN_OPERATORS:
        raise LookupError(f"there is no operator {DOMAIN}.{op_type}; there are {', '.join(OWN_OPERATORS)}")
    return OWN_OPERATORS[op_type]


def find_of_node(node: Any) -> OpVersion:
    """Return the result of `find` for a node of the domain, an ``onnx.NodeProto``."""
    opset = next((each for each in node.attribute if each.name == "opset"), None)
    if opset is None:
        return find(node.op_type)
    if opset.type != _INT or opset.ref_attr_name:
        raise LookupError(f"the attribute opset of {DOMAIN}.{node.op_type} must be an integer")
    return find(node.op_type, opset.i)


def run(row: OpVersion, inputs: tuple[Any, ...], attributes: dict[str, Any]) -> np.ndarray:
    """Run an operator returned by `find`, on the inputs and attributes of a node without ``opset``.

    Raises
    ------
    TypeError, ValueError, IndexError
        As `gatherscatter.specs.calls.call`.

    >>> import numpy as np
    >>> data, indices, updates = np.zeros(3), np.array([1, 1]), np.array([2.0, 4.0])
    >>> run(find("ScatterElements"), (data, indices, updates), {"reduction": "mean", "include_self": 0})
    array([0., 3., 0.])
    """
    if row.domain == "onnx":
        given = dict(attributes)
        reduces = has_reductions(each for each in table.ops() if (each.domain, each.op_type) == ("onnx", row.op_type))
        accumulate = given.pop("accumulate", None) if reduces else None
        return call(row, inputs, given, accumulate)
    run_own: Callable[..., np.ndarray] = _RUNS.get(row.kernel, call)
    return run_own(row, inputs, attributes)


def check(row: OpVersion, inputs: tuple[Any, ...], attributes: dict[str, Any]) -> None:
    """Raise the errors of a call of `run` about types, attributes and shapes. The values of indices are not checked."""
    if row.kernel not in _RUNS:
        check_call(row, inputs, attributes)
        return
    arrays, values = check_inputs(row, inputs, attributes)
    if row.kernel == Kernel.GATHER_QUANTIZED:
        gather_quantized.check_small_table(make_operation(row, arrays[0], values), *arrays)
        return
    given = name_inputs(row, arrays)
    members = given["data"].shape[:1] if given.get("indices") is None else given["indices"].shape
    if (segments := given.get("segment_ids")) is not None:
        gather_reduce.check_members_shape(row.name, "segment_ids", segments.shape, members)


def _gather_quantized(row: OpVersion, inputs: tuple[Any, ...], attributes: dict[str, Any]) -> np.ndarray:
    arrays, values = check_inputs(row, inputs, attributes)
    return gather_quantized.run(make_operation(row, arrays[0], values), name_inputs(row, arrays))


def _gather_reduce(row: OpVersion, inputs: tuple[Any, ...], attributes: dict[str, Any]) -> np.ndarray:
    arrays, values = check_inputs(row, inputs, attributes)
    given: dict[str, Any] = dict.fromkeys(known.name for known in row.inputs) | name_inputs(row, arrays)
    init = given.pop("init")
    num_segments = None if values["num_segments"] == -1 else values["num_segments"]
    if num_segments is not None and num_segments < 0:
        raise make_error("num_segments", row.name, value=num_segments)
    operation = make_operation(row, given["data"], values)._replace(bags=Bags(num_segments))
    call = gather_reduce.prepare_inputs(operation, **given)
    call.arrays["init"] = None if init is None else convert.native(init)
    result = call.run(operation)
    bags = result.ndim - call.arrays["data"].ndim + 1
    keeps = values["keepdims"] and bags == given["indices"].ndim - 1
    return np.expand_dims(result, bags) if keeps else result


_RUNS: dict[Kernel, Callable[..., np.ndarray]] = {
    Kernel.GATHER_REDUCE: _gather_reduce,
    Kernel.GATHER_QUANTIZED: _gather_quantized,
}

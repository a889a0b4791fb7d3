"""The Loop operator, as its specification defines it.

The reference evaluator's Loop (onnx 1.23) runs no iteration if the condition is omitted. It joins the scan outputs
along their first axis instead of stacking them along a new one. It also fails if there was no iteration.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun


class Loop(OpRun):
    """Runs a subgraph while a condition holds, up to a number of times."""

    op_domain = ""
    body: ReferenceEvaluator  # set by OpRun from the attribute

    def __init__(self, onnx_node: onnx.NodeProto, run_params: dict[str, Any], schema: Any = None) -> None:
        super().__init__(onnx_node, run_params, schema)
        self.carried = len(self.body.input_names) - 2
        if self.carried < 0 or len(self.body.output_names) < 1 + self.carried:
            raise ValueError("the body of Loop takes iteration and condition, and returns the condition")
        if max(len(onnx_node.input) - 2, 0) != self.carried:
            raise ValueError(f"Loop has {len(onnx_node.input) - 2} carried values; its body takes {self.carried}")

    def need_context(self) -> bool:
        """Return True: the body reads values of the enclosing graphs."""
        return True

    def _run(
        self,
        trips: Any = None,
        condition: Any = None,
        *state: Any,
        body: Any,
        context: dict[str, Any],
        attributes: Any = None,
        **_: Any,
    ) -> tuple[Any, ...]:
        count, index, going = len(state), 0, True if condition is None else _to_bool(condition)
        limit = np.inf if trips is None else np.asarray(trips).item()
        scans: list[list[Any]] = [[] for _ in body.output_names[1 + count :]]
        while going and index < limit:
            own = (np.array(index, dtype=np.int64), np.array(going), *state)
            feeds = {**context, **dict(zip(body.input_names, own, strict=True))}
            flag, *values = body.run(None, feeds, attributes=attributes)
            going, state = _to_bool(flag), tuple(values[:count])
            for scan, value in zip(scans, values[count:], strict=True):
                scan.append(value)
            index += 1
        types = body.output_types[1 + count :]
        return (*state, *(np.stack(scan) if scan else _empty(of) for scan, of in zip(scans, types, strict=True)))


def _to_bool(condition: Any) -> bool:
    return bool(np.asarray(condition).item())


def _empty(of: onnx.TypeProto) -> np.ndarray:
    """Return the scan output of no iterations: no elements, with the declared type and the known part of the shape."""
    tensor = of.tensor_type
    dims = [max(dim.dim_value, 0) for dim in tensor.shape.dim]
    return np.empty((0, *dims), dtype=onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))

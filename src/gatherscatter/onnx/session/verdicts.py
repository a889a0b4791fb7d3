"""Why a gather or scatter node of a session runs on this package's kernels.

What ONNX Runtime gets wrong or refuses is in the findings. What it does right and fast stays with it, so that a graph
is cut as seldom as possible. Where shapes or values are unknown, a finding may apply, and the node is ours. Data of
unknown type counts as float32. Speed is a reason only where sizes are known.
"""

from __future__ import annotations

from dataclasses import replace

from gatherscatter.findings.nodes import NodeValues
from gatherscatter.findings.verdicts import judge_before_run

# Measured with ONNX Runtime 1.31.1 on the CPU: from this number of elements on, our kernels save more than a hand-over
# costs.
MANY = 65_536


def find_reason(values: NodeValues, threads: int) -> str | None:
    """Why a node is ours; None if it is ONNX Runtime's, which has ``threads``, or 0 if it chooses their number."""
    data = values.row.inputs[0].name
    if values.types.get(data) is None:  # behind an operator of another domain; such models are seldom of other types
        values = replace(values, types=values.types | {data: "float32"})
    reasons = judge_before_run("onnxruntime", values, threads=threads).reasons
    if reasons:
        return f"ONNX Runtime: {reasons[0].finding.title}"
    return _find_slowness(values)


def _find_slowness(values: NodeValues) -> str | None:
    if values.row.op_type == "ScatterElements" and (values.elements or 0) >= MANY:
        return f"ONNX Runtime takes longer for {values.elements} elements"
    if values.row.op_type in ("Gather", "GatherND") and values.slice_shape == () and (values.count or 0) >= MANY:
        return f"ONNX Runtime takes longer for {values.count} single elements"
    return None

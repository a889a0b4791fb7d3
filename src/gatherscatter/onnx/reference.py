"""The gather and scatter operators as classes that the onnx package's reference evaluator takes.

One class is made for every ONNX operator type of the registry.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gatherscatter import versions
from gatherscatter.errors import OpValueError, integer_fault
from gatherscatter.onnx.extra import onnx

# isort: split
# After the module that says which extra is missing:
from onnx.reference.op_run import OpRun


class RegistryOp(OpRun):
    """A node of the family: looks its version up when it is loaded, and calls it when it runs."""

    op_domain = ""
    opset: ClassVar[int | None] = None  # decides the version; None: that of the model or function the node is in

    def __init__(self, onnx_node: onnx.NodeProto, run_params: dict[str, Any], schema: Any = None) -> None:
        # False, not None: no defaults from the newest schema. What the node leaves out is up to the row.
        super().__init__(onnx_node, run_params, schema=False)
        opset = run_params["opsets"][""] if self.opset is None else self.opset
        self.row = versions.find("onnx", onnx_node.op_type, opset)

    def _run(self, *inputs: Any, **attributes: Any) -> tuple[Any, ...]:
        return (self.row(*inputs, **attributes),)


def reference_ops(opset: int | None = None) -> list[type[OpRun]]:
    """Classes for ``onnx.reference.ReferenceEvaluator(model, new_ops=...)`` that run on this package's kernels.

    The evaluator takes them for the nodes of the main graph and of subgraphs, but not for those of functions;
    `gatherscatter.run` does both.

    Parameters
    ----------
    opset : int, optional
        The nodes run as the newest version not above this opset. Default: each by the opset of its model.

    Returns
    -------
    list of classes, one for each operator that this opset has

    Raises
    ------
    TypeError, ValueError
        ``opset`` is no integer, or none that the installed onnx package has.

    Source: ``onnx.reference.op_run.OpRun``.

    >>> import numpy as np, onnx, gatherscatter as gs
    >>> from onnx.reference import ReferenceEvaluator
    >>> model = onnx.parser.parse_model('''<ir_version: 10, opset_import: ["": 18]>
    ...     g (float[4] data, int64[n, 1] indices, float[n] updates) => (float[4] out)
    ...     { out = ScatterND <reduction = "add"> (data, indices, updates) }''')
    >>> evaluator = ReferenceEvaluator(model, new_ops=gs.onnx.reference_ops())
    >>> inputs = {"data": np.zeros(4), "indices": np.array([[1], [1]]), "updates": np.array([1.0, 2.0])}
    >>> evaluator.run(None, inputs)
    [array([0., 3., 0., 0.])]
    """
    if opset is not None:
        _check_opset(opset)
    rows = [row for row in versions.ops() if row.domain == "onnx" and (opset is None or row.version <= opset)]
    facts = {"__module__": __name__, "opset": opset}
    return [type(op_type, (RegistryOp,), dict(facts)) for op_type in dict.fromkeys(row.op_type for row in rows)]


def _check_opset(opset: int) -> None:
    if not isinstance(opset, int | np.integer):
        integer_fault("reference_ops", "opset", opset)
    newest = onnx.defs.onnx_opset_version()
    if not 1 <= opset <= newest:
        text = f"reference_ops: opset must be one of the installed onnx package's, 1 to {newest}, not {opset}"
        raise OpValueError(text, op="reference_ops", input="opset")

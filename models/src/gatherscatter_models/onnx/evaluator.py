"""The onnx package's reference evaluator, with gathers and scatters on this package's kernels.

The opset of the model or function around a node decides which version of its operator runs. Subgraphs and functions use
the same classes. Loop is corrected as well (`loop`). All other operators are those of the onnx package.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cache
from typing import Any, ClassVar

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from gatherscatter.errors import OpValueError, integer_fault
from gatherscatter.specs import own_operators, table
from gatherscatter.specs.calls import call
from gatherscatter.specs.rows import DOMAIN
from gatherscatter_models.interface import ModelError
from gatherscatter_models.onnx.graph import CONTRIBUTED, find_contributed, node_label, one_line
from gatherscatter_models.onnx.loop import Loop


class EvaluatorOp(OpRun):
    """A gather or scatter node. It finds its op version when it is loaded, and calls it when it runs."""

    op_domain = ""
    opset: ClassVar[int | None] = None  # decides the version; None: the opset of the model or function around the node

    def __init__(self, onnx_node: onnx.NodeProto, run_params: dict[str, Any], schema: Any = None) -> None:
        # False, not None: no defaults from the newest schema. The op version supplies the defaults.
        super().__init__(onnx_node, run_params, schema=False)
        opset = run_params["opsets"][""] if self.opset is None else self.opset
        self.row = table.find("onnx", onnx_node.op_type, opset)

    def _run(self, *inputs: Any, **attributes: Any) -> tuple[Any, ...]:
        return (call(self.row, inputs, attributes),)


class OwnDomainOp(EvaluatorOp):
    """A node of this package's domain. Its attribute ``opset``, if it has one, decides the version."""

    op_domain = DOMAIN

    def __init__(self, onnx_node: onnx.NodeProto, run_params: dict[str, Any], schema: Any = None) -> None:
        OpRun.__init__(self, onnx_node, run_params, schema=False)
        self.row = own_operators.find_of_node(onnx_node)
        self.attributes_names_.discard("opset")

    def _run(self, *inputs: Any, **attributes: Any) -> tuple[Any, ...]:
        return (own_operators.run(self.row, inputs, attributes),)


class ContributedOp(EvaluatorOp):
    """A node of a runtime's own domain."""

    def __init__(self, onnx_node: onnx.NodeProto, run_params: dict[str, Any], schema: Any = None) -> None:
        OpRun.__init__(self, onnx_node, run_params, schema=False)
        self.row = find_contributed(onnx_node)


def reference_ops(opset: int | None = None) -> list[type[OpRun]]:
    """Return classes for ``onnx.reference.ReferenceEvaluator(model, new_ops=...)`` that run on this package's kernels.

    They implement the gathers and scatters of ONNX, of ONNX Runtime's domain com.microsoft and of the domain
    ``gatherscatter`` (docs/onnx.md). The evaluator uses them for nodes of the main graph and of subgraphs, but not for
    nodes in functions. `gatherscatter_models.run` uses them for all nodes.

    Parameters
    ----------
    opset : int, optional
        Run the nodes of ONNX's domain with the newest versions that are not above this opset. Default: the opset of the
        model.

    Returns
    -------
    list of classes, one for each operator that this opset or one of the two other domains has

    Raises
    ------
    TypeError, ValueError
        ``opset`` is not an integer, or the installed onnx package does not have this opset.

    Source: ``onnx.reference.op_run.OpRun``.

    >>> import numpy as np, onnx, gatherscatter_models as gm
    >>> from onnx.reference import ReferenceEvaluator
    >>> model = onnx.parser.parse_model('''<ir_version: 10, opset_import: ["": 18]>
    ...     g (float[4] data, int64[n, 1] indices, float[n] updates) => (float[4] out)
    ...     { out = ScatterND <reduction = "add"> (data, indices, updates) }''')
    >>> evaluator = ReferenceEvaluator(model, new_ops=gm.onnx.reference_ops())
    >>> inputs = {"data": np.zeros(4), "indices": np.array([[1], [1]]), "updates": np.array([1.0, 2.0])}
    >>> evaluator.run(None, inputs)
    [array([0., 3., 0., 0.])]
    """
    if opset is not None:
        _check_opset(opset)
    rows = [row for row in table.ops() if row.domain == "onnx" and (opset is None or row.version <= opset)]
    facts = {"__module__": __name__, "opset": opset}
    ours = [type(op_type, (OwnDomainOp,), {"__module__": __name__}) for op_type in own_operators.OWN_OPERATORS]
    ours += [
        type(op_type, (ContributedOp,), {"__module__": __name__, "op_domain": domain})
        for domain, op_type in sorted(CONTRIBUTED)
    ]
    return [type(name, (EvaluatorOp,), dict(facts)) for name in dict.fromkeys(row.op_type for row in rows)] + ours


def _check_opset(opset: int) -> None:
    if not isinstance(opset, int | np.integer):
        integer_fault("reference_ops", "opset", opset)
    newest = onnx.defs.onnx_opset_version()
    if not 1 <= opset <= newest:
        text = f"reference_ops: opset must be 1 to {newest}, the opsets of the installed onnx package, not {opset}"
        raise OpValueError(text, op="reference_ops", input="opset")


class Evaluator(ReferenceEvaluator):
    """Evaluates a graph or function. Its errors name the node that failed.

    The parent class makes evaluators of this class for subgraphs and functions.
    """

    def __init__(self, proto: Any, **options: Any) -> None:
        # Set here because the parent class passes new_ops to subgraphs, but not to functions.
        options["new_ops"] = _operators()
        super().__init__(proto, **options)
        nodes = self.rt_nodes_
        self.rt_nodes_ = [
            LabelledNode(node, node_label(node.onnx_node, position, len(nodes)))
            for position, node in enumerate(nodes, 1)
        ]
        for node in nodes:  # their constants may be outputs, which the caller could change
            if isinstance(constant := getattr(node, "cst", None), np.ndarray):
                constant.flags.writeable = False
        self._constants = set(self.rt_inits_).difference(self.input_names)

    def run(self, output_names: Any, feed_inputs: dict[str, Any], *args: Any, **options: Any) -> Any:
        """Run all nodes. Initializers of a graph override values of the enclosing graph."""
        if not self._constants.isdisjoint(feed_inputs):
            feed_inputs = {name: value for name, value in feed_inputs.items() if name not in self._constants}
        return super().run(output_names, feed_inputs, *args, **options)

    def reporting(self, progress: Callable[[str], None]) -> Evaluator:
        """Return a copy that calls ``progress`` with a description before every node."""
        reporter = copy(self)
        reporter.rt_nodes_ = [type(node)(node.node, node.label, progress) for node in self.rt_nodes_]
        return reporter


@cache
def _operators() -> list[type[OpRun]]:
    return [*reference_ops(), Loop]


# The documented errors of a run: errors of operators, and errors that do not come from the model.
_DOCUMENTED = (TypeError, ValueError, IndexError, NotImplementedError, MemoryError, RecursionError, OSError)


class LabelledNode:
    """A node of the evaluator that reports its progress and adds its name to errors."""

    def __init__(self, node: Any, label: str, progress: Callable[[str], None] | None = None) -> None:
        self.node = node
        self.label = label
        self.progress = progress

    def __getattr__(self, name: str) -> Any:
        return getattr(self.node, name)

    def run(self, *args: Any, **options: Any) -> Any:
        """Run the node; an error keeps its type and attributes, and gets a note."""
        if self.progress is not None:
            self.progress(self.label)
        try:
            return self.node.run(*args, **options)
        except Exception as error:
            original = _unwrap_error(error)
            if not isinstance(original, _DOCUMENTED):  # an unexpected error inside the onnx package
                original = ModelError(one_line(f"{type(original).__name__}: {original}"))
            original.add_note(f"in node {self.label}")
            if original is error:
                raise
            raise original from None


def _unwrap_error(error: Exception) -> Exception:
    """Return the original error of an operator. The onnx package wraps it in a vaguer TypeError."""
    while type(error) is TypeError and isinstance(error.__cause__, TypeError | ValueError | AttributeError):
        error = error.__cause__
    return error

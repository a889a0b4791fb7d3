"""`examine`: read a model, run it if there are inputs, and judge every gather and scatter node."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import ArrayLike

from gatherscatter.errors import OpError
from gatherscatter.specs.table import OpVersion
from gatherscatter.system.files import write_text
from gatherscatter_models.doctor.page import page
from gatherscatter_models.doctor.report import HasData, ModelReport, NodeReport
from gatherscatter_models.findings.nodes import Key, Observer, Site, collect_call_values, collect_static_values
from gatherscatter_models.findings.verdicts import (
    DEFAULT,
    Record,
    judge,
    merge_records,
    names,
    record_of,
)
from gatherscatter_models.interface import Model, ModelError, check_model, is_ir, name_inputs

if TYPE_CHECKING:
    from gatherscatter_models.loading import ModelSource


class NodeSource(Protocol):
    """A model to examine: ``sites`` are its gather and scatter nodes, ``notes`` name the parts not examined."""

    name: str
    sites: list[Site]
    notes: list[str]

    def load(self, observe: Observer) -> Model:
        """Return the model, ready to run. ``observe`` is called for every gather and scatter node."""
        ...


class Diagnosis(ModelReport):
    """The facts about a model's gathers and scatters, and what runtimes do with them. `examine` returns it."""

    def save_html(self, path: str | os.PathLike[str], fixed: HasData | None = None) -> None:
        """Write the report as one HTML page that needs no network."""
        write_text(path, page(self, fixed))


Inputs = Mapping[str, ArrayLike] | Sequence[ArrayLike]


def examine(
    model: ModelSource,
    inputs: Inputs | None = None,
    *,
    targets: Sequence[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Diagnosis:
    """Report what runtimes do with the gather and scatter nodes of a model, judged by known findings.

    Without inputs, only the types, shapes and constants of the file are known. A verdict that depends on other values
    is not certain: its text begins with "may". With inputs, gatherscatter runs the model and checks the values at each
    node. The verdicts are then about these inputs only.

    Parameters
    ----------
    model : path, onnx.ModelProto or openvino.Model
        An ``.onnx`` file, the ``.xml`` of an OpenVINO IR, or a ModelProto.
    inputs : mapping of str to array, or sequence of arrays, optional
        The inputs of one run, as for `gatherscatter_models.run`.
    targets : sequence of str, optional
        Runtimes to judge. Default: ONNX Runtime and OpenVINO. `gatherscatter_models.doctor.names` lists all. The
        findings about most of the others come from public threads. Such verdicts are marked "reported".
    progress : callable, optional
        Called with a description before every node of the main graph.

    Returns
    -------
    Diagnosis
        ``nodes`` has a report for each node, the worst first. ``summary`` has a line for each target. ``advice`` says
        how to run nodes that ONNX Runtime gets wrong or refuses.

    Raises
    ------
    ModelError
        The file can't be read, or the inputs don't fit the model.
    ValueError
        A target is unknown.

    >>> import numpy as np, onnx
    >>> from gatherscatter_models.doctor import examine
    >>> model = onnx.parser.parse_model('''<ir_version: 10, opset_import: ["": 18]>
    ...     pick (float[n] data, int64[k, 1] index_tuples) => (float[k] out) { out = GatherND (data, index_tuples) }''')
    >>> for line in examine(model).summary:                                 # the file alone
    ...     print(line)
    openvino: 1 of 1 may crash or read out-of-bounds memory
    onnxruntime: 1 of 1 supported
    >>> examine(model, [np.zeros(9, np.float32), np.array([[3], [-1]])]).summary
    ['onnxruntime: 1 of 1 supported', 'openvino: 1 of 1 supported']
    """
    chosen = check_targets(targets)
    source = read_source(model)
    seen: dict[Key, Record] = {}
    error = "" if inputs is None else _run(source, inputs, seen, progress)
    nodes = [_report(site, seen.get(site.key), chosen) for site in source.sites]
    nodes.sort(key=lambda node: node.rank)
    return Diagnosis(source.name, chosen, tuple(nodes), bool(seen), error, tuple(source.notes))


def read_source(model: ModelSource) -> NodeSource:
    """Return the nodes of a model, from an IR or from ONNX."""
    check_model(model, kinds="a path, a ModelProto or an openvino.Model")
    if is_ir(model):
        from gatherscatter_models.doctor.ir_nodes import IrSource

        return IrSource(model)
    from gatherscatter_models.doctor.onnx_nodes import OnnxSource

    return OnnxSource(model)


def check_targets(targets: Sequence[str] | None) -> tuple[str, ...]:
    """Return the targets, each once."""
    for target in targets or ():
        if target not in names():
            raise ValueError(f"there is no target {target!r}; there are {', '.join(names())}")
    return tuple(dict.fromkeys(targets or DEFAULT))


def _run(source: NodeSource, inputs: Inputs, seen: dict[Key, Record], progress: Callable[[str], None] | None) -> str:
    """Run the model and record the values at its nodes. Return the reason if it stopped, else ''."""
    sites = {site.key: site for site in source.sites}

    def observe(key: Key, row: OpVersion, arrays: tuple[Any, ...], attributes: dict[str, Any]) -> None:
        record = record_of(collect_call_values(sites[key], arrays, attributes), calls=1)
        seen[key] = merge_records(seen[key], record) if key in seen else record

    try:
        model = source.load(observe)
    except ModelError as error:
        return f"the model can't be run here: {error}"
    given = name_inputs(model.inputs, inputs)
    try:
        model.run(given, progress)
    except (OpError, TypeError, ValueError, IndexError, NotImplementedError, RuntimeError) as error:
        notes = getattr(error, "__notes__", ())  # they name the node
        if isinstance(error, ModelError) and not (seen or notes):
            raise  # the inputs are wrong
        return "; ".join([f"the model stopped: {error}", *notes])
    return ""


def _report(site: Site, seen: Record | None, targets: Sequence[str]) -> NodeReport:
    told = record_of(collect_static_values(site), calls=0)
    return NodeReport(site, told, seen, {target: judge(target, site.row, told, seen) for target in targets})

"""`examine`: read a model, run it if there are inputs, and judge every gather and scatter node."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from gatherscatter.errors import OpError
from gatherscatter.model_interface import ModelError, name_inputs
from gatherscatter.versions import OpVersion

from .diagnosis import Diagnosis, NodeReport
from .record import Record, merged, record_of
from .sites import Key, Site, Source
from .targets import DEFAULT, names
from .values import before_running, on_arrival
from .verdicts import judge

if TYPE_CHECKING:
    from gatherscatter.models import ModelSource

Inputs = Mapping[str, ArrayLike] | Sequence[ArrayLike]


def examine(
    model: ModelSource,
    inputs: Inputs | None = None,
    *,
    targets: Sequence[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Diagnosis:
    """Say what runtimes do with the gather and scatter nodes of a model, by what is known of these runtimes.

    Without inputs, types, shapes and constants of the file decide, and what depends on other values is "possible".
    With inputs, the model runs here, and the values that reach each node decide; so they do for these inputs only.

    Parameters
    ----------
    model : path or onnx.ModelProto
        An ``.onnx`` file, the ``.xml`` of an OpenVINO IR, or a ModelProto.
    inputs : mapping of str to array, or sequence of arrays, optional
        The inputs of one run, as for `gatherscatter.run`.
    targets : sequence of str, optional
        Runtimes to judge by; by default ONNX Runtime and OpenVINO. `gatherscatter.doctor.names` gives all; what is
        known of most of them is from public threads, and marked so.
    progress : callable, optional
        Called with a description before every node of the main graph.

    Returns
    -------
    Diagnosis
        ``nodes`` has a report for each node, the worst first; ``summary`` a line for each target.

    Raises
    ------
    ModelError
        The file can't be read, or the inputs don't fit the model.
    ValueError
        There is no such target.

    >>> import numpy as np, onnx
    >>> from gatherscatter.doctor import examine
    >>> model = onnx.parser.parse_model('''<ir_version: 10, opset_import: ["": 18]>
    ...     pick (float[n] data, int64[k, 1] places) => (float[k] out) { out = GatherND (data, places) }''')
    >>> for line in examine(model).summary:                                 # the file alone
    ...     print(line)
    openvino: 1 of 1 possibly crash or read foreign memory
    onnxruntime: 1 of 1 supported
    >>> examine(model, [np.zeros(9, np.float32), np.array([[3], [-1]])]).summary
    ['onnxruntime: 1 of 1 supported', 'openvino: 1 of 1 supported']
    """
    chosen = check_targets(targets)
    source = read(model)
    seen: dict[Key, Record] = {}
    error = "" if inputs is None else _run(source, inputs, seen, progress)
    nodes = [_report(site, seen.get(site.key), chosen) for site in source.sites]
    nodes.sort(key=lambda node: node.rank)
    return Diagnosis(source.name, chosen, tuple(nodes), bool(seen), error, tuple(source.notes))


def read(model: ModelSource) -> Source:
    """The model, taken apart."""
    if isinstance(model, str | os.PathLike) and Path(model).suffix.lower() == ".xml":
        from .ir_sites import IrSource

        return IrSource(model)
    from .onnx_sites import OnnxSource

    return OnnxSource(model)


def check_targets(targets: Sequence[str] | None) -> tuple[str, ...]:
    """The targets, each once."""
    for target in targets or ():
        if target not in names():
            raise ValueError(f"nothing is known of a target {target!r}; there are {', '.join(names())}")
    return tuple(dict.fromkeys(targets or DEFAULT))


def _run(source: Source, inputs: Inputs, seen: dict[Key, Record], progress: Callable[[str], None] | None) -> str:
    """Run the model and note what reaches its nodes; why it stopped, if it did."""
    sites = {site.key: site for site in source.sites}

    def observe(key: Key, row: OpVersion, arrays: tuple[Any, ...], attributes: dict[str, Any]) -> None:
        record = record_of(on_arrival(sites[key], arrays, attributes), calls=1)
        seen[key] = merged(seen[key], record) if key in seen else record

    try:
        model = source.load(observe)
    except ModelError as error:
        return f"the model can't be run here: {error}"
    given = name_inputs(model.inputs, inputs)
    try:
        model.run(given, progress)
    except (OpError, TypeError, ValueError, IndexError, NotImplementedError, RuntimeError) as error:
        notes = getattr(error, "__notes__", ())  # say which node it was
        if isinstance(error, ModelError) and not (seen or notes):
            raise  # the inputs are wrong
        return "; ".join([f"the model stopped: {error}", *notes])
    return ""


def _report(site: Site, seen: Record | None, targets: Sequence[str]) -> NodeReport:
    told = record_of(before_running(site), calls=0)
    return NodeReport(site, told, seen, {target: judge(target, site.row, told, seen) for target in targets})

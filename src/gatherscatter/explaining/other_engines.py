"""What other engines do with a call, from the known findings and the values of the call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gatherscatter.arrays.convert import element_type
from gatherscatter.explaining.call import ExplainedCall
from gatherscatter.findings.catalog import EFFECTS, RUNTIMES
from gatherscatter.findings.nodes import NodeValues
from gatherscatter.findings.verdicts import Reason, judge, names, record_of
from gatherscatter.specs.calls import GENERIC_REDUCTIONS
from gatherscatter.specs.rows import REQUIRED
from gatherscatter.specs.table import TABLE, OpVersion


@dataclass(frozen=True)
class Elsewhere:
    """A departure of an engine that affects this call.

    Attributes
    ----------
    engine : its name
    effect : what happens, one of `gatherscatter.findings.catalog.EFFECTS`
    text : one sentence about it
    releases : in which release it was seen
    certain : whether it happens for sure; else it depends on settings of the engine
    source : "run" if the project has seen it, else the address of a public thread
    """

    engine: str
    effect: str
    text: str
    releases: str
    certain: bool
    source: str

    def __str__(self) -> str:
        seen = f" {self.releases}" if self.releases else ""
        doubt = "" if self.certain else " (depends on settings)"
        cited = "" if self.source == "run" else f" (reported: {self.source})"
        return f"{self.engine}{seen}, {self.effect}{doubt}: {self.text}{cited}"


def find_departures(call: ExplainedCall) -> tuple[Elsewhere, ...]:
    """What engines that take model files do differently with this call, the most severe first.

    Departures that are only reported in public threads are included. An engine without known departures is not
    mentioned.
    """
    row = _newest(call)
    if row is None or isinstance(call.error, TypeError) or call.name("data") not in call.arrays:
        return ()
    if call.op != call.row.name and call.rule in ("clip", "wrap"):  # no engine has an operator for these modes
        return ()
    record = record_of(_values(call, row), calls=1)
    found = [(name, reason) for name in names() for reason in judge(name, row, record).reasons]
    order = list(EFFECTS)
    found.sort(key=lambda each: (not each[1].certain, order.index(each[1].finding.effect)))
    return tuple(_entries(found))


def _entries(found: list[tuple[str, Reason]]) -> Iterator[Elsewhere]:
    for name, reason in found:
        finding = reason.finding
        source = "run" if finding.evidence == "run" else finding.url
        yield Elsewhere(RUNTIMES[name], finding.effect, finding.title, finding.releases, reason.certain, source)


def _values(call: ExplainedCall, row: OpVersion) -> NodeValues:
    """The call as the doctor sees a node."""
    attributes: dict[str, Any] = {one.name: one.default for one in row.attributes if one.default is not REQUIRED}
    known = {"axis": call.axis, "batch_dims": call.batch_dims, "use_init_val": call.include_self}
    if call.kernel == "tensor_scatter":
        known["mode"] = call.rule  # type: ignore[assignment]
    arrays = dict(call.arrays)
    if call.table is not None:
        row, arrays, given = call.table
        known = given
    own = {one.name for one in row.attributes}
    attributes |= {name: value for name, value in known.items() if name in own}
    if any(known.kind == "axis" for known in row.inputs):
        arrays["axis"] = np.asarray(call.axis)
    return NodeValues(
        row,
        attributes,
        call.reduction,
        arrays,
        {name: element_type(array.dtype) for name, array in arrays.items()},
        {name: array.shape for name, array in arrays.items()},
        constants=frozenset(arrays),  # how the indices of a model would come about isn't known
    )


def _newest(call: ExplainedCall) -> OpVersion | None:
    """The op version that stands for a call of an array function, of ONNX if there is one; None if none does that."""
    if call.op == call.row.name:
        return call.row
    if call.reduces_bags:
        return None
    fitting = [
        row for row in TABLE if row.kernel == call.kernel and not row.deprecated and _has_reduction(row, call.reduction)
    ]
    return max(fitting, key=lambda row: (row.domain == "onnx", row.version), default=None)


def _has_reduction(row: OpVersion, reduction: str) -> bool:
    choices = next((one.choices or () for one in row.attributes if one.name == "reduction"), ("none",))
    return reduction in (GENERIC_REDUCTIONS.get(choice, choice) for choice in choices)

"""Verdicts: what runtimes will do with a node, judged by the findings and by a record of the node's values."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from gatherscatter.specs.rows import DOMAIN
from gatherscatter.specs.table import OpVersion
from gatherscatter_models.findings import catalog
from gatherscatter_models.findings.catalog import Finding
from gatherscatter_models.findings.conditions import COUNTED
from gatherscatter_models.findings.nodes import Count, Dims, NodeValues
from gatherscatter_models.interface import ModelError

OWN_RUNTIME = "onnxruntime"  # runs nodes of gatherscatter's domain, with its library
DEFAULT = ("onnxruntime", "openvino")


@dataclass(frozen=True)
class Record:
    """Facts about the values at a node, of one call or of several. None means unknown.

    Attributes
    ----------
    calls : number of calls seen; 0 if the facts come from the file alone
    types, shapes : by role; a dim that differs between calls is None
    reduction : the reduction, under this package's name for it
    attributes : by name
    tuples : number of index tuples, or of single indices
    lowest, highest : the range of the index values
    elements : number of elements that a scatter wrote, or a gather read, in its largest call
    counts : for each condition, the number of values that meet it
    """

    calls: int
    types: dict[str, str | None]
    shapes: dict[str, Dims]
    reduction: str | None
    attributes: dict[str, Any]
    tuples: int | None
    lowest: int | None
    highest: int | None
    elements: int | None
    counts: dict[str, Count]

    @property
    def element_type(self) -> str | None:
        """The element type of data."""
        return next(iter(self.types.values()), None)


def record_of(
    values: NodeValues, *, calls: int, conditions: Collection[str] = COUNTED.keys(), reads_indices: bool = True
) -> Record:
    """Return the record of one call, or of the facts known before any call.

    Only ``conditions`` are counted. The range of the indices is found only with ``reads_indices``.
    """
    columns = values.columns if reads_indices else None
    some = columns is not None and columns.size > 0
    return Record(
        calls=calls,
        types=values.types,
        shapes=values.shapes,
        reduction=values.reduction,
        attributes=values.attributes,
        tuples=values.count,
        lowest=int(columns.min()) if some and columns is not None else None,
        highest=int(columns.max()) if some and columns is not None else None,
        elements=values.elements,
        counts=_counts(values, conditions),
    )


def _counts(values: NodeValues, conditions: Collection[str]) -> dict[str, Count]:
    """Return the count of each condition. A call whose parts don't fit together can't be counted: it is malformed."""
    counts: dict[str, Count] = {}
    fits = True
    for name in conditions:
        try:
            counts[name] = COUNTED[name](values)
        except ModelError:  # a constant that can't be read
            raise
        except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError):
            counts[name], fits = None, False
    return counts if fits else counts | {"malformed": 1}


def merge_records(one: Record, other: Record) -> Record:
    """Return one record for the calls of both."""
    return replace(
        one,
        calls=one.calls + other.calls,
        types={role: name if name == other.types.get(role) else None for role, name in one.types.items()},
        shapes={role: _common(shape, other.shapes.get(role)) for role, shape in one.shapes.items()},
        reduction=one.reduction if one.reduction == other.reduction else None,
        tuples=_combine_if_known(one.tuples, other.tuples, int.__add__),
        lowest=_choose_known(one.lowest, other.lowest, min),
        highest=_choose_known(one.highest, other.highest, max),
        elements=_combine_if_known(one.elements, other.elements, max),
        counts={name: _combine_if_known(count, other.counts[name], int.__add__) for name, count in one.counts.items()},
    )


def _common(one: Dims, other: Dims) -> Dims:
    if one is None or other is None or len(one) != len(other):
        return None
    return tuple(a if a == b else None for a, b in zip(one, other, strict=True))


def _combine_if_known(one: int | None, other: int | None, combine: Callable[[int, int], int]) -> int | None:
    return None if one is None or other is None else combine(one, other)


def _choose_known(one: int | None, other: int | None, choose: Callable[[int, int], int]) -> int | None:
    return other if one is None else one if other is None else choose(one, other)


def names() -> tuple[str, ...]:
    """Return the names of the runtimes that run model files and have findings.

    Returns
    -------
    tuple of str, with the default targets of `gatherscatter_models.doctor.examine` first

    >>> from gatherscatter_models.doctor import names
    >>> names()[:2]
    ('onnxruntime', 'openvino')
    """
    known = (each.runtime for each in catalog.load() if each.namespace or each.onnx_ops)
    return tuple(dict.fromkeys((*DEFAULT, *known)))


def is_tested(runtime: str) -> bool:
    """Whether all findings of a runtime come from this package's own tests. Then no finding means supported."""
    return all(each.evidence == "run" for each in catalog.load() if each.runtime == runtime)


def takes(runtime: str, row: OpVersion) -> bool:
    """Whether a runtime takes models of the format of an op version. An IR is for OpenVINO only.

    ONNX Runtime takes the nodes of gatherscatter's domain, with its library.

    >>> import gatherscatter as gs
    >>> takes("onnxruntime", gs.op("openvino.Gather-8"))
    False
    """
    if row.domain in ("openvino", DOMAIN):
        return runtime == (OWN_RUNTIME if row.domain == DOMAIN else "openvino")
    return True


def find_relevant_findings(runtime: str, row: OpVersion) -> list[Finding]:
    """Return the findings about an op version in a runtime, for any values, most severe first."""
    return [finding for finding in catalog.load() if finding.runtime == runtime and _applies_to(finding, row)]


def _applies_to(finding: Finding, row: OpVersion) -> bool:
    if row.domain == "onnx" and row.op_type in finding.onnx_ops:
        return True
    own = finding.namespace == row.domain and row.op_type in finding.ops
    return own and (not finding.versions or row.version in finding.versions)


# Worst first, with the words for them in tables.
STATUSES = {
    "memory": "crash or out-of-bounds memory",
    "different": "silently different",
    "refused": "refused",
    "open": "left open by the specification",
    "unknown": "unknown",
    "elsewhere": "not for this format",
    "supported": "supported",
}
# The words for a status that depends on unknown values, or on chance.
_POSSIBLE = {
    "memory": "may crash or read out-of-bounds memory",
    "different": "may silently give a different result",
    "refused": "may be refused",
    "open": "may be left open by the specification",
}
SIZE = "the unknown number of elements"
DEPARTURES = ("memory", "different", "refused")  # statuses that the specification does not allow
_OF_EFFECT = {
    "out-of-bounds memory": "memory",
    "crash": "memory",
    "nondeterministic": "different",
    "wrong result": "different",
    "accepted": "different",
    "refused": "refused",
    "unspecified": "open",
}

# Settings of findings that a model decides. Other settings are up to the person who runs the model.
# A function takes the facts of the file, and the best facts known.
SETTINGS: dict[str, Callable[[Record, Record], bool | None]] = {
    "static shapes": lambda told, known: _static(told),
    "dynamic shapes": lambda told, known: None if (static := _static(told)) is None else not static,
    'mode = "circular"': lambda told, known: _is(told, "mode", "circular"),
    "use_init_val = false": lambda told, known: _is(told, "use_init_val", False),
    "data of rank 1 and indices of rank 0 or 1, at most 64 elements of each": lambda told, known: _has_short_vectors(
        known
    ),
}


@dataclass(frozen=True)
class Reason:
    """A finding that applies or may apply to a node.

    Attributes
    ----------
    finding : the finding
    count : the number of values that meet its condition; None if it is unknown, so that the finding may apply
    unknown : the other facts on which the finding depends and that are unknown, in words
    """

    finding: Finding
    count: int | None
    unknown: tuple[str, ...] = ()

    @property
    def by_chance(self) -> bool:
        """Whether the effect occurs in some runs only."""
        return self.finding.effect == "nondeterministic" or self.finding.threads > 1

    @property
    def certain(self) -> bool:
        return self.count is not None and not self.unknown and not self.by_chance

    @property
    def is_crash_by_chance(self) -> bool:
        """Whether calls that raise an error in some runs may crash in others."""
        return self.by_chance and self.status == "memory" and set(self.unknown) <= {SIZE}

    @property
    def status(self) -> str:
        return _OF_EFFECT[self.finding.effect]


@dataclass(frozen=True)
class Verdict:
    """The effect of a node in a runtime.

    Attributes
    ----------
    status : a key of `STATUSES`
    certain : whether the status is certain. It is not if it depends on unknown values or on chance
    reasons : the findings on which the verdict is based, each as a `Reason`

    ``str`` gives the text of the verdict. It ends in "(reported)" if the first finding is known only from a public
    thread.
    """

    status: str
    certain: bool
    reasons: tuple[Reason, ...]

    @property
    def rank(self) -> tuple[int, bool]:
        """Sort key: worst first."""
        return list(STATUSES).index(self.status), not self.certain

    @property
    def is_counted(self) -> bool:
        """Whether it counts: it is certain, or chance decides between it and a departure that is certain otherwise."""
        return self.certain or any(reason.certain for reason in self.reasons)

    def __str__(self) -> str:
        text = STATUSES[self.status] if self.certain else _POSSIBLE[self.status]
        return f"{text} (reported)" if self.reasons and self.reasons[0].finding.evidence == "thread" else text


def judge(
    runtime: str,
    row: OpVersion,
    told: Record,
    seen: Record | None = None,
    *,
    threads: int = 0,
    cautious: bool = False,
) -> Verdict:
    """Return the verdict about a node: the worst that is certain, else the worst that is possible.

    A crash by chance comes before the refusal that other runs of the same call give.

    ``threads`` is the number of threads of the runtime; 0 if unknown. A finding that depends on a setting counts if
    everything else about it is certain. With ``cautious`` it also counts if everything else is possible.
    """
    if not takes(runtime, row):
        return Verdict("elsewhere", True, ())
    reasons = [
        reason
        for finding in find_relevant_findings(runtime, row)
        if (reason := _find_reason(finding, told, seen or told, threads, cautious))
    ]
    ranks = list(STATUSES)
    reasons.sort(key=lambda each: (not (each.certain or each.is_crash_by_chance), ranks.index(each.status)))
    if reasons:
        return Verdict(reasons[0].status, reasons[0].certain, tuple(reasons))
    return Verdict("supported" if is_tested(runtime) else "unknown", True, ())


def judge_before_run(runtime: str, values: NodeValues, *, threads: int = 0) -> Verdict:
    """Return the cautious verdict about a node that has not run. Only the conditions that matter for it are counted."""
    found = find_relevant_findings(runtime, values.row)
    told = record_of(values, calls=0, conditions=(), reads_indices=False)
    conditions = {finding.condition for finding in found if False not in _check_types(finding, told).values()}
    told = record_of(values, calls=0, conditions=conditions, reads_indices=False)
    return judge(runtime, values.row, told, threads=threads, cautious=True)


def _find_reason(finding: Finding, told: Record, known: Record, threads: int, cautious: bool) -> Reason | None:
    """Return the reason that a finding gives; None if it does not apply."""
    count = known.counts.get(finding.condition)
    facts = _check_types(finding, known)
    if finding.setting in SETTINGS:
        facts[f"the setting: {finding.setting}"] = SETTINGS[finding.setting](told, known)
    if finding.elements >= 0 and known.elements is not None:
        facts[SIZE] = known.elements > finding.elements
    elif finding.elements > 0:  # with a limit of 0, assume that there are updates
        facts[SIZE] = None
    if 0 < threads < finding.threads or count == 0 or False in facts.values():
        return None
    if finding.setting and finding.setting not in SETTINGS:
        if not (count or cautious):
            return None
        facts[f"the setting: {finding.setting}"] = None  # it may be used
    return Reason(finding, count, tuple(name for name, fact in facts.items() if fact is None))


def _check_types(finding: Finding, known: Record) -> dict[str, bool | None]:
    """Return, in words, whether a finding is about this element type of data and this reduction; None if unknown."""
    element_type = known.element_type
    allowed = _is_allowed(element_type, finding.types)
    if finding.except_types:
        allowed = None if element_type is None else element_type not in finding.except_types
    return {
        "the unknown element type": allowed,
        "the unknown reduction": _is_allowed(known.reduction, finding.reductions),
    }


def _is_allowed(value: str | None, allowed: tuple[str, ...]) -> bool | None:
    if "*" in allowed:
        return True
    return None if value is None else value in allowed


def _is(told: Record, attribute: str, value: object) -> bool | None:
    given = told.attributes.get(attribute)
    return None if given is None else given == value


def _has_short_vectors(known: Record) -> bool | None:
    """Whether data and indices are vectors or scalars of at most 64 elements; None if unknown."""
    shapes = [known.shapes.get(role) for role in ("data", "indices")]
    if any(shape is not None and (len(shape) > 1 or any((size or 0) > 64 for size in shape)) for shape in shapes):
        return False
    return None if any(shape is None or None in shape for shape in shapes) else True


def _static(told: Record) -> bool | None:
    """Whether the file gives all sizes; None if it does not give the rank of an input, which may be a scalar."""
    shapes = told.shapes.values()
    if any(shape is not None and None in shape for shape in shapes):
        return False
    return None if None in shapes else True

"""Findings held against what is known of a node: what a runtime will do with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gatherscatter.conformance.findings import Finding
from gatherscatter.versions import OpVersion

from .record import Record
from .targets import concerning, is_tested, takes

# Worst first, with the words that tables have for them.
STATUSES = {
    "memory": "may crash or read foreign memory",
    "different": "silently different",
    "refused": "refused",
    "open": "as the text leaves open",
    "unknown": "unknown",
    "elsewhere": "not for this format",
    "supported": "supported",
}
DEPARTURES = ("memory", "different", "refused")  # from what a specification says
_OF_EFFECT = {
    "foreign memory": "memory",
    "crash": "memory",
    "nondeterministic": "different",
    "wrong result": "different",
    "accepted": "different",
    "refused": "refused",
    "unspecified": "open",
}

# So many elements ONNX Runtime scatters on one thread, whatever their type (found: up to 100,000 of four bytes).
SERIAL = 16_384
LEAST_ELEMENTS = {"onnxruntime-scatternd-race": SERIAL, "onnxruntime-scatternd-last-update": SERIAL}

# Settings of findings that a model decides; the others are up to those who run it.
# By what the file tells, or by the best that is known.
SETTINGS: dict[str, Callable[[Record, Record], bool | None]] = {
    "static shapes": lambda told, known: _static(told),
    "dynamic shapes": lambda told, known: not _static(told),
    'mode = "circular"': lambda told, known: _is(told, "mode", "circular"),
    "use_init_val = false": lambda told, known: _is(told, "use_init_val", False),
    "data of rank 1 and indices of rank 0 or 1, at most 64 elements of each": lambda told, known: _short(known),
}


@dataclass(frozen=True)
class Reason:
    """A finding that holds at a node, or may: ``count`` is how many values fulfil its condition, None if unknown."""

    finding: Finding
    count: int | None

    @property
    def by_chance(self) -> bool:
        """Whether it comes and goes from run to run."""
        return self.finding.effect == "nondeterministic" or self.finding.id in LEAST_ELEMENTS

    @property
    def certain(self) -> bool:
        return self.count is not None and not self.by_chance

    @property
    def status(self) -> str:
        return _OF_EFFECT[self.finding.effect]


@dataclass(frozen=True)
class Verdict:
    """What a runtime does with a node. ``certain`` is False where it depends on values that are not known.

    As text, what is known from a public thread only is called reported.
    """

    status: str
    certain: bool
    reasons: tuple[Reason, ...]

    @property
    def rank(self) -> tuple[int, bool]:
        """Worst first."""
        return list(STATUSES).index(self.status), not self.certain

    def __str__(self) -> str:
        text = STATUSES[self.status] if self.certain else f"possibly {STATUSES[self.status].removeprefix('may ')}"
        return f"{text} (reported)" if self.reasons and self.reasons[0].finding.evidence == "thread" else text


def judge(runtime: str, row: OpVersion, told: Record, seen: Record | None = None) -> Verdict:
    """The verdict about a node: the worst that is certain, else the worst that is possible."""
    if not takes(runtime, row):
        return Verdict("elsewhere", True, ())
    reasons = [
        Reason(finding, count)
        for finding in concerning(runtime, row)
        if (count := _count(finding, told, seen or told)) is None or count > 0
    ]
    reasons.sort(key=lambda reason: (not reason.certain, list(STATUSES).index(reason.status)))
    if reasons:
        return Verdict(reasons[0].status, reasons[0].certain, tuple(reasons))
    return Verdict("supported" if is_tested(runtime) else "unknown", True, ())


def _count(finding: Finding, told: Record, known: Record) -> int | None:
    """How many values make the finding hold; 0 if it doesn't, None if that is unknown."""
    few = known.elements is not None and known.elements < LEAST_ELEMENTS.get(finding.id, 0)
    count = known.counts.get(finding.condition)
    facts = [
        _among(next(iter(known.types.values()), None), finding.types),
        _among(known.reduction, finding.reductions),
        SETTINGS[finding.setting](told, known) if finding.setting in SETTINGS else True,
    ]
    if few or count == 0 or False in facts:
        return 0
    if finding.setting and finding.setting not in SETTINGS:
        return None if count else 0  # it may be set so, which is worth a word where all else is certain
    unknown_size = finding.id in LEAST_ELEMENTS and known.elements is None
    return None if None in facts or unknown_size else count


def _among(value: str | None, allowed: tuple[str, ...]) -> bool | None:
    if "*" in allowed:
        return True
    return None if value is None else value in allowed


def _is(told: Record, attribute: str, value: object) -> bool | None:
    given = told.attributes.get(attribute)
    return None if given is None else given == value


def _short(known: Record) -> bool | None:
    """Whether data and indices are vectors, or one a scalar, of 64 elements at most."""
    shapes = [known.shapes.get(role) for role in ("data", "indices")]
    if any(shape is not None and (len(shape) > 1 or any((size or 0) > 64 for size in shape)) for shape in shapes):
        return False
    return None if any(shape is None or None in shape for shape in shapes) else True


def _static(told: Record) -> bool:
    """Whether the file gives all sizes."""
    return all(shape is not None and None not in shape for shape in told.shapes.values())

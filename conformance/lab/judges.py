"""The judges: implementations by other people, which are compared with the oracle where operators overlap.

The table ``judges.toml`` explains each disagreement between a judge and the oracle.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from gatherscatter import specs
from gatherscatter_conformance.case import Case
from gatherscatter_conformance.rules import RULES
from gatherscatter_conformance.verdicts import SEVERITY
from gatherscatter_models.findings.conditions import COUNTED
from gatherscatter_models.findings.nodes import Site, collect_call_values
from gatherscatter_models.findings.verdicts import record_of

JUDGES = {
    "pytorch": "PyTorch",
    "tensorflow": "TensorFlow",
    "stablehlo": "StableHLO",
    "openvino-evaluate": "OpenVINO",
}
"""The runtimes that judge the oracle, and their short names."""

GROUPS = {
    "missing": "the judge refuses the call, because it has no function for this operator, type, shape or index",
    "convention": "the judge's library has another rule for its function",
    "open": "the specification leaves the answer open, and the judge does not agree with the ruling",
    "fault": "the judge departs from the specification that it implements",
}
"""The kinds of disagreements. A missing function does not count as an opinion."""

AGREES, NOT_ASKED = "pass", "not asked"


@dataclass(frozen=True)
class Explanation:
    """Why some judges and the oracle disagree about some cases.

    Attributes
    ----------
    group : str
        A key of `GROUPS`.
    judges, verdicts : tuple of str
        The judges that disagree, and the verdicts that show it.
    cases : tuple of str
        Ids of cases, as patterns in which ``*`` also matches slashes.
    types : tuple of str
        Element types of data. Empty: all types.
    condition : str
        What the call must have: a key of `gatherscatter_models.findings.conditions.COUNTED`.
    why : str
        The behaviour of the judge.
    text, source : str
        The sentence that shows that the oracle is right, and its source.
    """

    group: str
    judges: tuple[str, ...]
    verdicts: tuple[str, ...]
    cases: tuple[str, ...]
    why: str
    text: str
    source: str
    types: tuple[str, ...] = ()
    condition: str = "always"

    def __post_init__(self) -> None:
        known = (
            (self.judges, JUDGES),
            (self.verdicts, SEVERITY),
            ((self.group,), GROUPS),
            ((self.condition,), COUNTED),
        )
        for values, names in known:
            if unknown := set(values) - set(names):
                raise ValueError(f"judges.toml: {', '.join(sorted(unknown))} is none of {', '.join(names)}")
        if self.group == "missing" and not set(self.verdicts) <= {"refuses", "allowed"}:
            raise ValueError(f"judges.toml: the group missing allows only the verdicts refuses and allowed: {self.why}")

    def covers(self, judge: str, case: Case, verdict: str) -> bool:
        """Whether the explanation is about this verdict of this judge."""
        return (
            judge in self.judges
            and verdict in self.verdicts
            and any(fnmatchcase(case.id, pattern) for pattern in self.cases)
            and case.type in (self.types or (case.type,))
            and _has(case, self.condition)
        )


def disagrees(verdict: str) -> bool:
    """Return whether a judge with this verdict disagrees with the oracle.

    >>> disagrees("allowed"), disagrees("pass"), disagrees("not asked")
    (True, False, False)
    """
    return verdict not in (AGREES, NOT_ASKED)


def explain(judge: str, case: Case, verdict: str) -> Explanation | None:
    """Return the first explanation that covers the verdict of a judge about a case, or None.

    Parameters
    ----------
    judge : a key of `JUDGES`
    case : of the corpus
    verdict : a name of `gatherscatter_conformance.verdicts.VERDICTS`; "pass" and "not asked" need no explanation

    >>> from gatherscatter_conformance import corpus
    >>> case = corpus.cases("onnx/GatherElements-13/float32/none/negative/*")[0]
    >>> explain("pytorch", case, "refuses").why
    'gather and scatter do not accept negative indices.'
    """
    if not disagrees(verdict):
        return None
    return next((each for each in explanations() if each.covers(judge, case, verdict)), None)


@cache
def explanations() -> tuple[Explanation, ...]:
    """Return all explanations, in the order of the table."""
    return tuple(_rows())


def _rows() -> Iterator[Explanation]:
    text = Path(__file__).with_name("judges.toml").read_text(encoding="utf-8")
    for row in tomllib.loads(text)["explanation"]:
        values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
        if rule := values.pop("rule", ""):
            values |= {"text": RULES[rule].text, "source": f"{rule}; {RULES[rule].source}"}
        yield Explanation(**values)


@cache
def _has(case: Case, condition: str) -> bool:
    """Whether the call of a case fulfils a condition."""
    if condition == "always":
        return True
    row = specs.op(case.op)
    defaults = {each.name: each.default for each in row.attributes if each.default is not specs.REQUIRED}
    site = Site((), "", "", "", row, (), defaults | case.attributes)
    values = collect_call_values(site, case.inputs, case.attributes)
    return bool(record_of(values, calls=1, conditions=(condition,)).counts[condition])

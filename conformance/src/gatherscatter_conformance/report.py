"""The report of a run: in memory, as JSON, and as counts for a table."""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

import numpy as np

from gatherscatter import specs
from gatherscatter.system.machine import cpu
from gatherscatter_conformance import corpus, rules
from gatherscatter_conformance.case import KINDS, Case, element_type
from gatherscatter_conformance.runtimes import Runtime, find
from gatherscatter_conformance.verdicts import SEVERITY, VERDICTS, Judgement

FORMAT = 1
_SHOWN = 400  # elements of an array that are written out
_NO_SCRIPT = ("pass", "not asked")


@dataclass(frozen=True)
class RuntimeInfo:
    """A runtime in the report."""

    name: str
    title: str
    package: str
    version: str
    recipe: bool
    seconds: float = 0.0

    @classmethod
    def of(cls, runtime: Runtime, name: str) -> RuntimeInfo:
        """Return the facts about a runtime, under its requested name."""
        return cls(name, runtime.title, runtime.package, runtime.version(), runtime.recipe)


@dataclass
class ConformReport:
    """Results by runtime and case id. It is filled while cases run, and complete when all of them have run."""

    cases: dict[str, Case] = field(default_factory=dict)
    runtimes: dict[str, RuntimeInfo] = field(default_factory=dict)
    results: dict[str, dict[str, Judgement]] = field(default_factory=dict)
    complete: bool = False
    created: str = field(default_factory=lambda: datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))

    def add_cases(self, cases: Iterable[Case]) -> None:
        """Add the cases that are run."""
        self.cases |= {case.id: case for case in cases}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values. docs/conformance.md describes the format."""
        used = {rule for case in self.cases.values() for rule in case.rules}
        return {
            "format": FORMAT,
            "corpus": corpus.VERSION,
            "created": self.created,
            "complete": self.complete,
            "machine": f"{cpu()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}",
            "python": platform.python_version(),
            "gatherscatter": metadata.version("gatherscatter"),
            "verdicts": [asdict(verdict) for verdict in VERDICTS],
            "kinds": KINDS,
            "rules": {id: asdict(rule) for id, rule in rules.RULES.items() if id in used},
            "runtimes": [asdict(info) | {"seconds": round(info.seconds, 1)} for info in self.runtimes.values()],
            "cases": [describe_case(case) for case in self.cases.values()],
            "results": {name: self._results(name) for name in self.runtimes},
        }

    def _results(self, name: str) -> dict[str, Any]:
        runtime = find(name)
        results = self.results[name]
        return {id: _result(runtime, case, results[id]) for id, case in self.cases.items() if id in results}


def merge_reports(report: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Add the results of another report: for runtimes of another environment, or for cases that ran before.

    If both have a result, that of ``report`` stays.

    Raises
    ------
    ValueError
        The reports are about different versions of the corpus, or about different releases of a runtime.
    """
    if report["corpus"] != other["corpus"]:
        text = f"the reports are about corpus {report['corpus']} and {other['corpus']}; run both on the same"
        raise ValueError(text)
    mine = {info["name"]: info for info in report["runtimes"]}
    others = {info["name"]: info for info in other["runtimes"]}
    results = dict(report["results"])
    for name, info in others.items():
        if name not in mine:
            results[name] = other["results"][name]
            continue
        if mine[name]["version"] != info["version"]:
            text = f"the reports are about {name} {mine[name]['version']} and {info['version']}"
            raise ValueError(f"{text}; join reports of one release")
        results[name] = other["results"][name] | results[name]
        mine[name] |= {"seconds": round(mine[name]["seconds"] + info["seconds"], 1)}
    cases = {case["id"]: case for each in (other, report) for case in each["cases"]}
    return {
        **report,
        "complete": report["complete"] and other["complete"],
        "rules": other["rules"] | report["rules"],
        "runtimes": [*mine.values(), *(info for name, info in others.items() if name not in mine)],
        "cases": [cases[id] for id in dict.fromkeys(case["id"] for each in (report, other) for case in each["cases"])],
        "results": results,
    }


def counts(report: dict[str, Any]) -> dict[str, dict[str, Counter[str]]]:
    """Count the verdicts, by op version and runtime."""
    ops = {case["id"]: case["op"] for case in report["cases"]}
    found: dict[str, dict[str, Counter[str]]] = {op.name: {} for op in specs.ops() if op.name in set(ops.values())}
    for name, results in report["results"].items():
        for id, result in results.items():
            found[ops[id]].setdefault(name, Counter())[result["verdict"]] += 1
    return found


def totals(report: Mapping[str, Any], runtime: str) -> list[tuple[str, int]]:
    """Count the verdicts of one runtime, the most severe first."""
    counter = Counter(result["verdict"] for result in report["results"][runtime].values())
    return sorted(counter.items(), key=lambda item: SEVERITY[item[0]])


def describe_case(case: Case) -> dict[str, Any]:
    """Return a case as plain JSON values, with its arrays as text."""
    names = [each.name for each in specs.op(case.op).inputs]
    inputs = [
        None if array is None else {"name": name, **_array(array)}
        for name, array in zip(names, case.inputs, strict=False)
    ]
    expected = None
    if case.expected is not None:
        expected = [{"name": specs.op(case.op).output, **_array(array)} for array in case.expected]
    return {
        **{key: getattr(case, key) for key in ("id", "op", "type", "reduction", "kind")},
        "rules": list(case.rules),
        "latitude": case.latitude,
        "inputs": inputs,
        "attributes": case.attributes,
        "expected": expected,
        "error": case.error,
    }


def _result(runtime: Runtime, case: Case, judgement: Judgement) -> dict[str, Any]:
    result: dict[str, Any] = {
        "verdict": judgement.verdict,
        "got": None if judgement.got is None else [_array(array) for array in judgement.got],
        "message": judgement.message,
    }
    if judgement.verdict not in _NO_SCRIPT:
        result["script"] = runtime.script(case)
    elif judgement.verdict == "pass":
        result["got"] = None  # None: the expected result
    return result


def _array(array: np.ndarray) -> dict[str, Any]:
    return {"type": element_type(array), "shape": list(array.shape), "text": _text(array)}


def _text(array: np.ndarray) -> str:
    """Return the values with all their digits, one line for each row."""
    if array.dtype.name in ("int4", "uint4"):
        array = array.astype(np.int8)
    return np.array2string(array, separator=", ", threshold=_SHOWN, edgeitems=6, max_line_width=100, floatmode="unique")


Report, merged = ConformReport, merge_reports  # their public names

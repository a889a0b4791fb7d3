"""Compare two reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from gatherscatter_conformance.verdicts import SEVERITY

VARYING = ("out-of-bounds memory", "hangs", "nondeterministic")
"""Verdicts that may change in the next run: they depend on the contents of memory, on time, or on a race of threads."""

_ALSO_VARYING = ({"pass", "allowed"}, {"crashes", "allowed"}, {"crashes", "accepts"})
"""Other pairs of verdicts that may alternate. If the order of writes is open, the last one may depend on a race. A
write out of range may or may not do damage."""


@dataclass(frozen=True)
class VerdictChange:
    """A case whose verdict changed. A verdict is "" if a report has no result."""

    runtime: str
    id: str
    before: str
    after: str

    @property
    def may_vary(self) -> bool:
        """Whether two runs of the same release may differ in this way."""
        verdicts = {self.before, self.after}
        return verdicts in _ALSO_VARYING or (
            not verdicts.isdisjoint(VARYING) and verdicts.isdisjoint(("", "not asked"))
        )


def find_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[VerdictChange]:
    """Return the cases whose verdict changed, in the order of the new report.

    Only runtimes in both reports and cases in the new report are compared.

    >>> def report(verdict):
    ...     return {"results": {"mine": {"onnx/Gather-13/int64/none/plain/x-1": {"verdict": verdict}}}}
    >>> [(change.before, change.after) for change in find_changes(report("differs"), report("pass"))]
    [('differs', 'pass')]
    """
    changes = []
    for name, results in new["results"].items():
        if name not in old["results"]:
            continue
        before = {id: result["verdict"] for id, result in old["results"][name].items()}
        after = {id: result["verdict"] for id, result in results.items()}
        changes += [
            VerdictChange(name, id, before.get(id, ""), verdict)
            for id, verdict in after.items()
            if before.get(id) != verdict
        ]
    return changes


def describe_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines: the runtimes that are new or gone, then for each runtime its releases and changes, worst first."""
    yield f"Changes since the report of {old['created']}:"
    versions = [{info["name"]: info["version"] for info in each["runtimes"]} for each in (old, new)]
    for name in versions[1]:
        if name not in versions[0]:
            yield f"{name}: not in the earlier report"
    for name in versions[0]:
        if name not in versions[1]:
            yield f"{name}: only in the earlier report"
    changes = find_changes(old, new)
    cases = {case["id"]: case for each in (old, new) for case in each["cases"]}
    for name in (name for name in versions[1] if name in versions[0]):
        before, after = (each[name] for each in versions)
        mine = [change for change in changes if change.runtime == name]
        release = before if before == after else f"{before} -> {after}"
        yield f"{name} {release}: {len(mine)} of {len(new['results'][name])} cases changed"
        yield from _describe_groups(mine, cases, same_release=before == after)


def _describe_groups(
    changes: Sequence[VerdictChange], cases: Mapping[str, dict[str, Any]], *, same_release: bool
) -> Iterator[str]:
    """Return a line for changes with the same verdicts, op version and kind."""

    def key(change: VerdictChange) -> tuple[int, int, str, str]:
        case = cases[change.id]
        return SEVERITY.get(change.after, 0), SEVERITY.get(change.before, 0), case["op"], case["kind"]

    for (_, _, op, kind), group in groupby(sorted(changes, key=key), key):
        first, *others = group
        number = f" and {len(others)} more" if others else ""
        why = ""
        if same_release:
            why = " (may vary)" if first.may_vary else " (same release: was the processor or gatherscatter different?)"
        yield f"  {first.before or 'no result'} -> {first.after or 'no result'}: {op}, {kind}: {first.id}{number}{why}"

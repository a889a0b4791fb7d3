"""Generate docs/findings.md: the findings, and the last results of the lab for each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.lab.foreseen import Departure
from conformance.lab.reports import status
from gatherscatter.findings.catalog import CONDITIONS, EFFECTS, RUNTIMES, Finding, load
from gatherscatter.text import markdown_table

_INTRODUCTION = """\
This page lists the known departures of runtimes from the ONNX and OpenVINO specifications, most severe first. The first
table counts them by runtime, and the second lists them all. Below, each finding quotes the specification, says what was
observed and under which conditions, and links a script that reproduces it.

To look for these findings in your model, run `gatherscatter doctor`.

OpenVINO stands for its CPU plugin, and ONNX Runtime for its CPU provider. Quotes are shortened. A specification can
also be wrong: [rulings](rulings.md) lists the points where specifications are silent or contradict themselves.

`python3 -m conformance.lab` generates this page from `src/gatherscatter/findings/findings.toml` and from the
[results](conformance.md) of {date}. They were measured on Linux (x86-64, two cores) with Python {python},
{releases}.
"""
_COLUMNS = """\
- **out-of-bounds memory** to **unspecified** (first table): the number of findings with this effect. Each effect has a
  section below, which begins with its definition.
- **cases**: the first table counts the cases of the corpus in which the runtime departs. The second table counts the
  departing cases for which the doctor names the finding. A case can have several findings. So a finding with the effect
  "unspecified" can have cases, although it is not a departure itself.
- **unreadable**: departing cases whose model the doctor refuses to read, with a message that says why.
- **not foreseen**: departures that the doctor does not predict, or predicts with another effect.
- **reported** (second table): *thread* is a public thread about the fault. *text* is the text of a report that nobody
  has sent yet.
"""
_THREADS = """\
These findings are about runtimes that this project cannot run. The project has **not checked** them. They repeat the
linked public threads, which name the releases. Newer releases may be right.
"""
_ENDED = {
    "departs": "shows this behaviour",
    "as specified": "no longer shows this behaviour",
    "not this time": "did not show this behaviour this time",
}

Departures = Mapping[str, Mapping[str, Departure]]  # by target of the doctor, then by case


def make_page(results: Mapping[str, Any], departures: Departures) -> str:
    """Return the page, from the published results and from `conformance.lab.foreseen`."""
    return "\n".join(_page(results, departures)) + "\n"


def _page(results: Mapping[str, Any], departures: Departures) -> Iterator[str]:
    seen = [finding for finding in load() if finding.evidence == "run"]
    cases = Counter(id for each in departures.values() for departure in each.values() for id in departure.findings)
    yield "# Findings\n"
    releases = {RUNTIMES[info["name"]]: info["version"] for info in results["runtimes"] if info["name"] in RUNTIMES}
    yield _INTRODUCTION.format(
        date=results["created"][:10],
        releases=", ".join(f"{name} {version}" for name, version in releases.items()),
        python=results["python"],
    )
    yield _overview(seen, departures)
    yield f"\n{_COLUMNS}"
    yield "## All findings\n"
    yield markdown_table(["finding", "effect", "cases", "reported"], (_line(finding, cases) for finding in seen))
    for effect, meaning in EFFECTS.items():
        if found := [finding for finding in seen if finding.effect == effect]:
            yield f"\n## {_title(effect)}\n"
            yield f"{_title(meaning)}.\n"
            for finding in found:
                yield from _entry(finding, results, cases)
    yield "\n## From public threads\n"
    yield _THREADS
    threads = (finding for finding in load() if finding.evidence == "thread")
    yield markdown_table(["runtime", "release", "finding", "effect", "according to the thread"], map(_thread, threads))


def _line(finding: Finding, cases: Mapping[str, int]) -> list[str]:
    title = f"{RUNTIMES[finding.runtime]}: {finding.title}"
    number = cases.get(finding.id, 0)
    return [f"[{title}](#{_anchor(title)})", finding.effect, str(number or ""), status(finding.id)]


def _anchor(title: str) -> str:
    """Return the anchor of a heading, as GitHub and the documentation site generate it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _thread(finding: Finding) -> list[str]:
    where = f"{finding.observed} ([thread]({finding.url}))"
    return [RUNTIMES[finding.runtime], finding.releases, finding.title, finding.effect, where]


def _overview(seen: Sequence[Finding], departures: Departures) -> str:
    counts = Counter((finding.runtime, finding.effect) for finding in seen)
    releases = {finding.runtime: finding.releases for finding in seen}
    lines = []
    for name in sorted(releases, key=list(RUNTIMES).index):
        numbers = ["", "", ""]
        if name in departures:
            found = departures[name].values()
            unreadable, foreseen = sum(each.is_unreadable for each in found), sum(each.is_foreseen for each in found)
            numbers = [f"{len(found):,}", str(unreadable or ""), str(len(found) - foreseen)]
        effects = (str(counts[name, effect] or "") for effect in EFFECTS)
        lines.append([RUNTIMES[name], releases[name], *effects, *numbers])
    return markdown_table(["runtime", "release", *EFFECTS, "cases", "unreadable", "not foreseen"], lines)


def _entry(finding: Finding, results: Mapping[str, Any], cases: Mapping[str, int]) -> Iterator[str]:
    yield f"### {RUNTIMES[finding.runtime]}: {finding.title}\n"
    yield f"> {finding.text}\n>\n> {finding.source}\n"
    yield f"Observed: {finding.observed}\n"
    versions = f" (version {', '.join(map(str, finding.versions))})" if finding.versions else ""
    onnx = f"; {_join_names(finding.onnx_ops)} of ONNX models" if finding.onnx_ops else ""
    yield f"- Release: {finding.releases}"
    others = f" except {', '.join(finding.except_types)}" if finding.except_types else ""
    types = f"{_join_names(finding.types)}{others}{_reductions(finding)}"
    yield f"- Operators: {_join_names(finding.ops)}{versions}{onnx}; types: {types}"
    needs = [CONDITIONS[finding.condition]]
    needs += [f"more than {finding.elements} elements"] if finding.elements > 0 else []
    needs += ["at least one element of updates"] if finding.elements == 0 else []
    needs += [f"{finding.threads} threads or more"] if finding.threads > 1 else []
    needs += [finding.setting] if finding.setting else []
    yield f"- Needs: {'; '.join(needs)}"
    if number := cases.get(finding.id):
        yield f"- Cases of the corpus: {number}"
    ended = results["reproducers"].get(finding.id, "was not run")
    script = f"conformance/findings/{finding.id}.py"
    yield f"- Reproducer: [{script}](../{script}) {_ENDED.get(ended, ended)}"
    yield f"- Reported: {status(finding.id)}\n"


def _reductions(finding: Finding) -> str:
    return f"; reductions: {_join_names(finding.reductions)}" if finding.reductions != ("none",) else ""


def _join_names(names: Sequence[str]) -> str:
    return "all" if "*" in names else ", ".join(names)


def _title(text: str) -> str:
    return text[0].upper() + text[1:]

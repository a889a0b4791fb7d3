"""Generate docs/findings.md, and the pages of the site with all findings and the last results of the lab for each.

docs/findings.md and docs/conformance/foreseen.json are in git. The file has the counts of `conformance.lab.foreseen`,
which take half a minute. The site generates the other pages: a list, and a page for each effect.
"""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.lab.environments import ROOT
from conformance.lab.reports import NOT_REPORTED, status
from gatherscatter.messages.text import markdown_table
from gatherscatter_models.findings.catalog import CONDITIONS, EFFECTS, RUNTIMES, Finding, load

COUNTS = ROOT / "docs" / "conformance" / "foreseen.json"

_PAGE = """\
# Findings

A finding is a known departure of a runtime from the ONNX or OpenVINO specification. This page counts the findings. To
look for them in your model, run `gatherscatter doctor`. In a clone of the repository, these commands list the findings
and reproduce one of them:

```console
$ python -m conformance.findings --list
$ python -m conformance.findings openvino-truncating-mean
```

The site of this documentation has a list of all findings and a page for each effect. For each finding, they quote the
specification, and say what was observed and under which conditions. Git does not keep these pages. `python -m sphinx -W
-E docs build/site` builds the site from `models/src/gatherscatter_models/findings/findings.toml` and from the
[results](conformance.md):

```{{toctree}}
:maxdepth: 1

{pages}
```

## Findings by runtime

{table}

- **out-of-bounds memory** to **unspecified**: the number of findings with this effect.
- **cases**: the cases of the corpus in which the runtime departs.
- **unreadable**: departing cases whose model no call can run. The doctor refuses such a model, and says why.
- **not foreseen**: departures that the doctor does not predict, or predicts with another effect.

OpenVINO stands for its CPU plugin, and ONNX Runtime for its CPU provider. A specification can also be wrong:
[rulings](rulings.md) lists the points where specifications are silent or contradict themselves.

{measured}
"""
_MEASURED = """\
`python3 -m conformance.lab` generates this page. The results are of {date}. They were measured on Linux (x86-64, two
cores) with Python {python}, {releases}."""
_LIST = """\
The most severe findings come first. **Cases** counts the departing cases of the corpus for which the doctor names the
finding. A case can have several findings. So a finding with the effect "unspecified" can have cases, although it is not
a departure itself.
"""
_ENTRIES = """\
Quotes are shortened. **Reported**: *thread* is a public thread about the fault. *text* is the text of a report that
nobody has sent yet. A finding without this line is not reported, and there is no text.
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


def make_page(results: Mapping[str, Any], counts: Mapping[str, Any]) -> str:
    """Return docs/findings.md, from the published results and the counts of `conformance.lab.foreseen`."""
    releases = {RUNTIMES[info["name"]]: info["version"] for info in results["runtimes"] if info["name"] in RUNTIMES}
    measured = _MEASURED.format(
        date=results["created"][:10],
        releases=", ".join(f"{name} {version}" for name, version in releases.items()),
        python=results["python"],
    )
    return _PAGE.format(
        pages="\n".join(name.removesuffix(".md") for name, _ in site_pages(results, counts)),
        table=_count_findings(counts),
        measured=textwrap.fill(measured, 120, break_on_hyphens=False),
    )


def site_pages(results: Mapping[str, Any], counts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the names and the texts of the pages of the site."""
    cases = counts["cases"]
    lines = ([f"`{each.id}`", _name(each), each.effect, str(cases.get(each.id, ""))] for each in _seen())
    table = markdown_table(["id", "finding", "effect", "cases"], lines)
    yield "findings/all.md", f"# All findings\n\n{_LIST}\n{table}\n"
    for effect, meaning in EFFECTS.items():
        entries = "\n".join(_entry(finding, results, cases) for finding in _seen() if finding.effect == effect)
        text = f"# {_title(effect)}\n\n{_title(meaning)}.\n\n{_ENTRIES}\n{entries}"
        yield f"findings/{effect.replace(' ', '-')}.md", text
    threads = (_thread(finding) for finding in load() if finding.evidence == "thread")
    table = markdown_table(["runtime", "release", "finding", "effect", "according to the thread"], threads)
    yield "findings/from-public-threads.md", f"# From public threads\n\n{_THREADS}\n{table}\n"


def format_counts(counts: Mapping[str, Any]) -> str:
    """Return the text of the file of counts."""
    return json.dumps(counts, indent=1) + "\n"


def read_counts() -> dict[str, Any]:
    """Return the counts of the file."""
    counts: dict[str, Any] = json.loads(COUNTS.read_text(encoding="utf-8"))
    return counts


def _seen() -> list[Finding]:
    return [finding for finding in load() if finding.evidence == "run"]


def _name(finding: Finding) -> str:
    return f"{RUNTIMES[finding.runtime]}: {finding.title}"


def _thread(finding: Finding) -> list[str]:
    where = f"{finding.observed} ([thread]({finding.url}))"
    return [RUNTIMES[finding.runtime], finding.releases, finding.title, finding.effect, where]


def _count_findings(counts: Mapping[str, Any]) -> str:
    effects = Counter((finding.runtime, finding.effect) for finding in _seen())
    releases = {finding.runtime: finding.releases for finding in _seen()}
    lines = []
    for name in sorted(releases, key=list(RUNTIMES).index):
        numbers = ["", "", ""]
        if found := counts["targets"].get(name):
            numbers = [f"{found['cases']:,}", str(found["unreadable"] or ""), str(found["not foreseen"])]
        cells = (str(effects[name, effect] or "") for effect in EFFECTS)
        lines.append([RUNTIMES[name], releases[name], *cells, *numbers])
    return markdown_table(["runtime", "release", *EFFECTS, "cases", "unreadable", "not foreseen"], lines)


def _entry(finding: Finding, results: Mapping[str, Any], cases: Mapping[str, int]) -> str:
    """Return the section of a finding. Its anchor is the id."""
    return "\n".join(_lines(finding, results, cases))


def _lines(finding: Finding, results: Mapping[str, Any], cases: Mapping[str, int]) -> Iterator[str]:
    yield f"({finding.id})=\n## {_name(finding)}\n"
    yield f"> {finding.text}\n>\n> {finding.source}\n"
    yield f"Observed in {finding.releases}: {finding.observed}\n"
    versions = f" (version {', '.join(map(str, finding.versions))})" if finding.versions else ""
    onnx = f"; {_join_names(finding.onnx_ops)} of ONNX models" if finding.onnx_ops else ""
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
    yield f"- Reproducer: `python -m conformance.findings {finding.id}` {_ENDED.get(ended, ended)}"
    if (reported := status(finding.id)) != NOT_REPORTED:
        yield f"- Reported: {reported}"
    yield ""


def _reductions(finding: Finding) -> str:
    return f"; reductions: {_join_names(finding.reductions)}" if finding.reductions != ("none",) else ""


def _join_names(names: Sequence[str]) -> str:
    return "all" if "*" in names else ", ".join(names)


def _title(text: str) -> str:
    return text[0].upper() + text[1:]

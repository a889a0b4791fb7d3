"""The findings as a page of documentation: python -m gatherscatter.conformance.findings_page docs/findings.md"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from gatherscatter.findings.catalog import CONDITIONS, EFFECTS, RUNTIMES, Finding, load
from gatherscatter.text import markdown_table

_INTRODUCTION = """\
Where the current releases of runtimes depart from the text of the specifications, most severe first. Made from
`src/gatherscatter/findings/findings.toml` by `python -m gatherscatter.conformance.findings_page docs/findings.md`.

What has a release and a reproducer was seen by us, on Linux (x86-64, two cores), with that release and Python 3.11;
`tests/findings/test_findings.py` runs every reproducer. OpenVINO stands for its CPU plugin, ONNX Runtime for its CPU
provider. Quotes are shortened. A text may be at fault, too: [rulings](rulings.md) lists what the specifications leave
open or say twice. `gatherscatter doctor` looks for these findings in a model.
"""
_THREADS = """\
Runtimes that we can't run here. These findings are **not checked by us**: they are what the linked public threads say
of the release that they name, and may have been mended since.
"""


def page() -> str:
    """The page, as docs/findings.md has it."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    seen = [finding for finding in load() if finding.evidence == "run"]
    yield "# Findings\n"
    yield _INTRODUCTION
    yield _overview(seen)
    for effect, meaning in EFFECTS.items():
        if found := [finding for finding in seen if finding.effect == effect]:
            yield f"\n## {_title(effect)}\n"
            yield f"{_title(meaning)}.\n"
            for finding in found:
                yield from _entry(finding)
    yield "\n## From public threads\n"
    yield _THREADS
    threads = (finding for finding in load() if finding.evidence == "thread")
    yield markdown_table(["runtime", "release", "finding", "effect", "as the thread has it"], map(_thread, threads))


def _thread(finding: Finding) -> list[str]:
    where = f"{finding.observed} ([thread]({finding.url}))"
    return [RUNTIMES[finding.runtime], finding.releases, finding.title, finding.effect, where]


def _overview(seen: Sequence[Finding]) -> str:
    counts = Counter((finding.runtime, finding.effect) for finding in seen)
    releases = {finding.runtime: finding.releases for finding in seen}
    names = sorted(releases, key=list(RUNTIMES).index)
    lines = ([RUNTIMES[name], releases[name], *(str(counts[name, effect] or "") for effect in EFFECTS)]
             for name in names)  # fmt: skip
    return markdown_table(["runtime", "release", *EFFECTS], lines)


def _entry(finding: Finding) -> Iterator[str]:
    yield f"### {RUNTIMES[finding.runtime]}: {finding.title}\n"
    yield f"> {finding.text}\n>\n> {finding.source}\n"
    yield f"Observed: {finding.observed}\n"
    versions = f" (version {', '.join(map(str, finding.versions))})" if finding.versions else ""
    onnx = f"; ONNX's {_join_names(finding.onnx_ops)} as imported" if finding.onnx_ops else ""
    yield f"- Release: {finding.releases}"
    types = f"{_join_names(finding.types)}{_reductions(finding)}"
    yield f"- Operators: {_join_names(finding.ops)}{versions}{onnx}; types: {types}"
    needs = [CONDITIONS[finding.condition]]
    needs += [f"more than {finding.elements} elements"] if finding.elements else []
    needs += [f"{finding.threads} threads or more"] if finding.threads > 1 else []
    needs += [finding.setting] if finding.setting else []
    yield f"- Needs: {'; '.join(needs)}"
    thread = f"; public thread: <{finding.url}>" if finding.url else ""
    yield f"- Reproducer: [findings/{finding.id}.py](../findings/{finding.id}.py){thread}\n"


def _reductions(finding: Finding) -> str:
    return f"; reductions: {_join_names(finding.reductions)}" if finding.reductions != ("none",) else ""


def _join_names(names: Sequence[str]) -> str:
    return "all" if "*" in names else ", ".join(names)


def _title(text: str) -> str:
    return text[0].upper() + text[1:]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")

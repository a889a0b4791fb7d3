"""Write the pages in git that are generated from results and tables: ``python -m conformance.lab.pages``.

The build of the site generates longer pages from the same results: docs/site_pages/lab.py.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from conformance.lab import conformance_page, findings_page, rulings_page, upstream_reports
from conformance.lab.environments import ROOT
from conformance.lab.foreseen import count_departures, find_departures
from conformance.lab.results import collect_verdicts, read_results

DOCS = ROOT / "docs"
REPORTS = ROOT / "conformance" / "findings" / "reports"
BEGIN, END = "<!-- made by conformance.lab: begin -->", "<!-- made by conformance.lab: end -->"


def make_all() -> dict[Path, str]:
    """Return the files and their texts."""
    results = read_results()
    counts = count_departures(find_departures(results))
    conformance, rulings = DOCS / "conformance.md", DOCS / "rulings.md"
    reports = upstream_reports.pages(partial(upstream_reports.read_script_in, REPORTS))
    return {
        conformance: replace_section(conformance.read_text(encoding="utf-8"), conformance_page.make_section(results)),
        DOCS / "findings.md": findings_page.make_page(results, counts),
        findings_page.COUNTS: findings_page.format_counts(counts),
        rulings: rulings_page.rewrite(rulings.read_text(encoding="utf-8"), collect_verdicts(results)),
        **{REPORTS / name: text for name, text in reports.items()},
    }


def write_all() -> list[Path]:
    """Write the files, and return those that changed."""
    changed = []
    for path, text in make_all().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    return changed


def replace_section(page: str, section: str) -> str:
    """Return a page with a new text between the marks."""
    before, _, rest = page.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"the page has no marks {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n\n{section}\n\n{END}{after}"


if __name__ == "__main__":
    for changed in write_all():
        print(f"written: {changed.relative_to(ROOT)}")

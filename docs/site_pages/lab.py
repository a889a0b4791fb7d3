"""The pages about the results of `conformance.lab`. Git keeps a short page for each, which says what they are about."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.lab import conformance_page, findings_page, rulings_page
from conformance.lab.results import collect_verdicts, read_results


def pages() -> Iterator[tuple[str, str]]:
    """The findings, the results of the conformance tests, and the disagreements of judges."""
    results = read_results()
    yield from findings_page.site_pages(results, findings_page.read_counts())
    yield "conformance/results.md", conformance_page.make_page(results)
    yield from rulings_page.site_pages(collect_verdicts(results))

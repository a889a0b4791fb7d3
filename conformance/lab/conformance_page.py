"""Generate the results: the verdicts of each runtime, and the departures by operator.

docs/conformance.md has the verdicts of the runtimes. The page of the site, docs/conformance/results.md, has everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from gatherscatter.messages.text import markdown_table
from gatherscatter_conformance.report import totals
from gatherscatter_conformance.verdicts import VERDICTS

NO_DEPARTURES = ("allowed", "pass", "not asked")
DEPARTURES = [verdict.name for verdict in VERDICTS if verdict.name not in NO_DEPARTURES]


_MORE = """\
The site of this documentation also counts the departures by operator, and the verdicts of recipes. Git does not keep
that page. `python -m sphinx -W -E docs build/site` builds the site:

```{toctree}
:maxdepth: 1

conformance/results
```"""


def make_section(results: Mapping[str, Any]) -> str:
    """Return the text between the marks of docs/conformance.md."""
    return "\n\n".join((_describe_run(results, "conformance/"), _count_verdicts(results, _runtimes(results)), _MORE))


def make_page(results: Mapping[str, Any]) -> str:
    """Return the page of the site."""
    return "\n\n".join(_paragraphs(results)) + "\n"


def _paragraphs(results: Mapping[str, Any]) -> Iterator[str]:
    yield "# Conformance: all results"
    yield f"{_describe_run(results)} [Conformance](../conformance.md#verdicts) defines the verdicts."
    runtimes = _runtimes(results)
    yield _count_verdicts(results, runtimes)
    yield "## Departures by operator"
    yield "`39 of 466` means that the runtime departed in 39 of the 466 cases that it ran:"
    departing = [info for info in runtimes if _count_departures(results, info["name"])]
    yield markdown_table(("operator", *(f"`{info['name']}`" for info in departing)), _operator_rows(results, departing))
    yield "## Recipes"
    yield "These libraries do not implement ONNX. A departure means that their definitions differ:"
    yield _count_verdicts(results, [info for info in results["runtimes"] if info["recipe"]])


def _runtimes(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the runtimes that implement a specification."""
    return [info for info in results["runtimes"] if not info["recipe"]]


def _describe_run(results: Mapping[str, Any], folder: str = "") -> str:
    return (
        f"Run on {results['created'][:10]} with corpus {results['corpus']} ({len(results['cases']):,} cases), on "
        f"{results['machine']} with Python {results['python']}. The verdicts of all cases are in "
        f"[results.json]({folder}results.json)."
    )


def _count_verdicts(results: Mapping[str, Any], runtimes: list[dict[str, Any]]) -> str:
    """Return a table with a row for each runtime."""
    rows = []
    for info in runtimes:
        counts = dict(totals(results, info["name"]))
        asked = sum(counts.values()) - counts.get("not asked", 0)
        cells = [f"{counts[name]:,}" if name in counts else "" for name in (*DEPARTURES, "allowed", "pass")]
        rows.append([f"`{info['name']}`", info["version"], f"{asked:,}", *cells])
    return markdown_table(("runtime", "release", "asked", *DEPARTURES, "allowed", "pass"), rows)


def _count_departures(results: Mapping[str, Any], runtime: str) -> int:
    return sum(count for verdict, count in totals(results, runtime) if verdict in DEPARTURES)


def _operator_rows(results: Mapping[str, Any], runtimes: list[dict[str, Any]]) -> Iterator[list[str]]:
    families = {case["id"]: case["op"].rpartition("-")[0] for case in results["cases"]}
    for family in dict.fromkeys(families.values()):
        cells = []
        for info in runtimes:
            its = results["results"][info["name"]].items()
            verdicts = Counter(result["verdict"] for id, result in its if families[id] == family)
            asked = verdicts.total() - verdicts["not asked"]
            departures = sum(verdicts[name] for name in DEPARTURES)
            cells.append(f"{departures:,} of {asked:,}" if asked else "")
        yield [family, *cells]

"""Write results as one HTML page that needs no network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.contenders import OURS
from benchmarks.measure import Timing
from benchmarks.plots import draw_bars, draw_lines
from benchmarks.result_text import heading, interval_text, ratio_text, summary, time_text
from benchmarks.results import Results, Row
from benchmarks.workloads.sizes import SERIES
from gatherscatter.files import write_text
from gatherscatter.pages.elements import Markup, element
from gatherscatter.pages.template import render
from gatherscatter.text import seconds_text

_EXPLANATION = (
    "Times are medians. Ratio: the time of the best correct peer divided by the time of gatherscatter, with its "
    "interval of 99 % confidence. Above 1, gatherscatter is faster. Even: the interval includes 1. Of limit: the least "
    "time that the machine's copy bandwidth, rate of random reads and cost of fresh memory allow, as a share of the "
    "time of gatherscatter. Scaling: the time of gatherscatter on one thread divided by its time on all threads. A "
    "missing time: the library cannot do the workload. Wrong: the result was wrong, and the time does not count."
)


def write_page(results: Results, path: Path) -> None:
    """Write the page to a file."""
    write_text(path, page(results))


def page(results: Results) -> str:
    """Return the whole page."""
    grouped = groupby(results.rows, key=lambda row: row.workload.group)
    return render(
        resources.files("benchmarks"),
        "page.html",
        styles=["page.css"],
        scripts=["page.js"],
        heading=list(heading(results)),
        summary="\n".join(summary(results)),
        explanation=_EXPLANATION,
        plots=_size_plots(results),
        groups=[_group(results, name, list(rows)) for name, rows in grouped],
    )


def _size_plots(results: Results) -> Iterator[tuple[str, Markup]]:
    """Return plots of time against size, in which a cliff would be visible."""
    for name in SERIES:
        rows = [row for row in results.rows if row.workload.id.rpartition("-")[0] == f"sizes/{name}"]
        series: dict[str, list[tuple[float, float]]] = {}
        for row in rows:
            for timing in row.timings:
                if timing.samples:
                    series.setdefault(timing.contender, []).append((row.workload.data_bytes, timing.median))
        if plot := draw_lines(f"time against size of data: {name}", series):
            yield name, plot


def _group(results: Results, name: str, rows: Sequence[Row]) -> dict[str, Any]:
    names = [timing.contender for timing in rows[0].timings]
    contenders = (f"{each}{'' if each != OURS else ' (this package)'}" for each in names)
    return {
        "name": name,
        "bars": draw_bars([(row.workload.title, _note(row), row.ratio) for row in rows if row.ratio is not None]),
        "heads": ["workload", *contenders, "ratio", "verdict", "of limit", "limit", "scaling"],
        "rows": [_line(results, row) for row in rows],
    }


def _line(results: Results, row: Row) -> Markup:
    verdict = results.verdict(row)
    return element(
        "tr",
        element("td", row.workload.title, title=row.workload.id),
        *(_time(timing) for timing in row.timings),
        _number(row.ratio, interval_text(results.interval(row))),
        element("td", verdict or "-", class_="number"),
        _number(row.share, "-" if row.share is None else f"{row.share:.0%}"),
        element("td", row.bound.kind, class_="number"),
        _number(row.scaling(), ratio_text(row.scaling())),
        class_="behind" if verdict == "behind" else None,
    )


def _time(timing: Timing) -> Markup:
    note = f"{timing.way}; least {seconds_text(timing.best)}" if timing.samples else timing.note
    kind = "" if timing.samples else " wrong" if timing.state == "wrong" else " none"
    value = f"{timing.median:.9f}" if timing.samples else ""
    return element("td", time_text(timing), class_=f"number{kind}", data_value=value, title=note)


def _number(value: float | None, text: str) -> Markup:
    return element("td", text, class_="number", data_value="" if value is None else f"{value:.4f}")


def _note(row: Row) -> str:
    best = row.best
    return f"{row.workload.id}: gatherscatter {time_text(row.ours)}, {best.contender} {time_text(best)}" if best else ""

"""The results as one HTML page that needs no network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib import resources
from itertools import groupby
from pathlib import Path

from gatherscatter.bench.contenders import OURS
from gatherscatter.bench.measure import Timing
from gatherscatter.bench.plots import bars, lines
from gatherscatter.bench.results import Results, Row
from gatherscatter.bench.terminal import heading, ratio_text, seconds_text, summary, time_text
from gatherscatter.bench.workloads.sizes import SERIES
from gatherscatter.files import write_text
from gatherscatter.page_policy import policy

_EXPLANATION = (
    "Medians. Ratio: the time of the best correct peer over ours; above 1 we are faster. Of limit: the least time that "
    "the machine's copy bandwidth, random-read rate and cost of fresh memory allow, as a share of ours. Scaling: our "
    "time on one thread over that on all. A time that is missing: the library has no way to do it; wrong: its result "
    "was, and it does not count."
)


def write_page(results: Results, path: Path) -> None:
    """Write the page into a file."""
    write_text(path, page(results))


def page(results: Results) -> str:
    """The whole page."""
    files = resources.files("gatherscatter.bench")
    css, script = (files.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    parts = [
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"/>',
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
        policy(script),
        f"<title>gatherscatter: benchmark</title><style>{css}</style></head><body>",
        "<h1>gatherscatter beside its peers</h1>",
        *(f"<p>{escape(line)}</p>" for line in heading(results)),
        "<h2>Summary</h2><pre class='wide'>",
        escape("\n".join(summary(results))),
        "</pre>",
        f"<p>{escape(_EXPLANATION)}</p>",
        *_size_plots(results),
    ]
    for group, rows in groupby(results.rows, key=lambda row: row.workload.group):
        parts.extend(_group(group, list(rows)))
    return "\n".join([*parts, f"<script>{script}</script></body></html>\n"])


def _size_plots(results: Results) -> Iterator[str]:
    """Time against size: the plots in which a cliff would show."""
    for name in SERIES:
        rows = [row for row in results.rows if row.workload.id.rpartition("-")[0] == f"sizes/{name}"]
        series: dict[str, list[tuple[float, float]]] = {}
        for row in rows:
            for timing in row.timings:
                if timing.samples:
                    series.setdefault(timing.contender, []).append((row.workload.data_bytes, timing.median))
        if plot := lines(f"time against size of data: {name}", series):
            yield f"<h2>Time against size of data: {escape(name)}</h2>{plot}"


def _group(group: str, rows: Sequence[Row]) -> Iterator[str]:
    yield f"<h2>{escape(group)}</h2>"
    compared = [row for row in rows if row.ratio is not None]
    yield bars([(row.workload.title, _note(row), row.ratio) for row in compared if row.ratio is not None])
    yield '<div class="wide"><table><thead><tr>'
    names = [timing.contender for timing in rows[0].timings]
    heads = ["workload", *(f"{name}{'' if name != OURS else ' (ours)'}" for name in names)]
    for number, head in enumerate([*heads, "ratio", "of limit", "limit", "scaling"]):
        kind = ' class="number"' if number else ""
        yield f'<th scope="col"{kind}><button type="button">{escape(head)}</button></th>'
    yield "</tr></thead><tbody>"
    yield from (_line(row) for row in rows)
    yield "</tbody></table></div>"


def _line(row: Row) -> str:
    kind = ' class="behind"' if row.ratio is not None and row.ratio < 1 else ""
    cells: Iterable[str] = (
        f'<td title="{escape(row.workload.id)}">{escape(row.workload.title)}</td>',
        *(_time(timing) for timing in row.timings),
        _number(row.ratio, ratio_text(row.ratio)),
        _number(row.share, "-" if row.share is None else f"{row.share:.0%}"),
        f'<td class="number">{row.bound.kind}</td>',
        _number(row.scaling, ratio_text(row.scaling)),
    )
    return f"<tr{kind}>{''.join(cells)}</tr>"


def _time(timing: Timing) -> str:
    note = escape(f"{timing.way}; least {seconds_text(timing.best)}" if timing.samples else timing.note)
    if not timing.samples:
        kind = "wrong" if timing.state == "wrong" else "none"
        return f'<td class="number {kind}" data-value="" title="{note}">{time_text(timing)}</td>'
    return f'<td class="number" data-value="{timing.median:.9f}" title="{note}">{time_text(timing)}</td>'


def _number(value: float | None, text: str) -> str:
    return f'<td class="number" data-value="{"" if value is None else f"{value:.4f}"}">{text}</td>'


def _note(row: Row) -> str:
    best = row.best
    return f"{row.workload.id}: ours {time_text(row.ours)}, {best.contender} {time_text(best)}" if best else ""

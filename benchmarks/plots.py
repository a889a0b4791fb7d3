"""Plots as inline SVG: a bar per workload, and time against size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import ceil, floor, log10

from gatherscatter.pages.elements import Markup, element
from gatherscatter.pages.palette import HUES

_BAR, _LABEL, _WIDTH = 18, 300, 860
_LEFT, _TOP, _TALL, _WIDE = 70, 12, 260, 480


def draw_bars(values: Sequence[tuple[str, str, float]]) -> Markup | None:
    """Draw a horizontal bar for each (label, note, ratio), on a logarithmic scale around 1."""
    if not values:
        return None
    low = min(0.5, *(value for _, _, value in values))
    high = max(2.0, *(value for _, _, value in values))
    scale = (_WIDTH - _LABEL - 60) / (log10(high) - log10(low))

    def x(value: float) -> float:
        return _LABEL + (log10(value) - log10(low)) * scale

    tall = _BAR * len(values) + 24
    parts = []
    for tick in (0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32):
        if low <= tick <= high:
            kind = "one" if tick == 1 else "grid"
            parts.append(element("line", class_=kind, x1=x(tick), x2=x(tick), y1=0, y2=tall - 20))
            parts.append(element("text", f"{tick:g}", x=x(tick), y=tall - 6, text_anchor="middle"))
    for number, (label, note, value) in enumerate(values):
        y = number * _BAR
        first, last = sorted((x(1), x(value)))
        kind = "ahead" if value >= 1 else "behind"
        bar = (
            element("title", note),
            element("text", label, x=_LABEL - 6, y=y + 13, text_anchor="end"),
            element("rect", class_=kind, x=first, y=y + 3, width=max(last - first, 1.0), height=12),
            element("text", f"{value:.2f}", x=last + 4, y=y + 13),
        )
        parts.append(element("g", *bar))
    label = "ratio to the best peer"
    return element("svg", *parts, class_="bars", viewBox=f"0 0 {_WIDTH} {tall}", role="img", aria_label=label)


def draw_lines(title: str, series: Mapping[str, Sequence[tuple[float, float]]]) -> Markup | None:
    """Draw seconds against bytes, both logarithmic, with one line per name."""
    points = [point for line in series.values() for point in line]
    if len(points) < 2:
        return None
    left, right = log10(min(x for x, _ in points)), log10(max(x for x, _ in points))
    low, high = floor(log10(min(y for _, y in points))), ceil(log10(max(y for _, y in points)))

    def at(point: tuple[float, float]) -> tuple[float, float]:
        across = (log10(point[0]) - left) / max(right - left, 1e-9)
        up = (log10(point[1]) - low) / max(high - low, 1)
        return _LEFT + across * _WIDE, _TOP + (1 - up) * _TALL

    parts = [element("title", title)]
    for power in range(low, high + 1):
        y = at((10**left, 10.0**power))[1]
        parts.append(element("line", class_="grid", x1=_LEFT, x2=_LEFT + _WIDE, y1=y, y2=y))
        parts.append(element("text", _seconds(power), x=_LEFT - 6, y=y + 4, text_anchor="end"))
    for power in range(ceil(left), floor(right) + 1):
        x = at((10.0**power, 10.0**low))[0]
        parts.append(element("line", class_="grid", x1=x, x2=x, y1=_TOP, y2=_TOP + _TALL))
        parts.append(element("text", _bytes(power), x=x, y=_TOP + _TALL + 16, text_anchor="middle"))
    for number, (name, line) in enumerate(series.items()):
        places = [at(point) for point in sorted(line)]
        kind = "curve ours" if not number else f"curve hue{(number - 1) % HUES}{' dashed' if number > HUES else ''}"
        for (x1, y1), (x2, y2) in pairwise(places):
            parts.append(element("line", class_=kind, x1=x1, y1=y1, x2=x2, y2=y2))
        parts.extend(element("circle", class_=kind, cx=x, cy=y, r=2.5) for x, y in places)
        y = _TOP + 14 + 18 * number
        x = _LEFT + _WIDE + 12
        parts.append(element("line", class_=kind, x1=x, x2=x + 18, y1=y - 4, y2=y - 4))
        parts.append(element("text", name, x=x + 24, y=y))
    view = f"0 0 {_LEFT + _WIDE + 150} {_TOP + _TALL + 40}"
    return element("svg", *parts, class_="lines", viewBox=view, role="img")


def _seconds(power: int) -> str:
    unit, shift = next((u, s) for u, s in (("s", 0), ("ms", -3), ("µs", -6), ("ns", -9)) if power >= s or s == -9)
    return f"{10.0 ** (power - shift):g} {unit}"


def _bytes(power: int) -> str:
    unit, shift = next((u, s) for u, s in (("GB", 9), ("MB", 6), ("KB", 3), ("B", 0)) if power >= s)
    return f"{10 ** (power - shift)} {unit}"

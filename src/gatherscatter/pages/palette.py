"""Colours, fonts, hues and cell states of all pages and drawings, and the looks of verdicts, there and on terminals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

SANS = 'ui-sans-serif, system-ui, "Segoe UI", "DejaVu Sans", "Liberation Sans", "Noto Sans", Arial, sans-serif'
MONO = 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", "Noto Sans Mono", monospace'

# Light and dark. Everything with a colour also has a sign, a shape or a pattern.
COLOURS = {
    "ink": ("#1b1f24", "#e6e9ed"),
    "dim": ("#57606a", "#a3adb8"),
    "paper": ("#ffffff", "#14171a"),
    "raised": ("#f4f6f8", "#1e2327"),
    "line": ("#d0d7de", "#363d44"),
    "strong-line": ("#8c959f", "#6b7681"),
    "link": ("#0a58ca", "#7db4ff"),
    "mark": ("#ffe08a", "#6b5200"),
    "on-mark": ("#3a2600", "#fff0bf"),
    # Tones of verdicts: background, text on it, and text on paper.
    "danger": ("#7f1022", "#8c1a2b"),
    "on-danger": ("#ffffff", "#ffe9eb"),
    "danger-text": ("#a40e26", "#ff9a9a"),
    "wrong": ("#b8430b", "#99440f"),
    "on-wrong": ("#ffffff", "#fff1e6"),
    "wrong-text": ("#9a4a00", "#ffb067"),
    "lax": ("#ffe4a0", "#473800"),
    "on-lax": ("#4a2f00", "#ffe7a3"),
    "lax-text": ("#6b5a00", "#e3cd5c"),
    "right": ("#d8f0e5", "#15352a"),
    "on-right": ("#0a4531", "#b0ecd2"),
    "right-text": ("#1f6b4f", "#5cc6a0"),
    # Backgrounds of cells, and the lines of their patterns.
    "read": ("#cfe6fb", "#12395c"),
    "written": ("#cdeee1", "#0f4434"),
    "again": ("#fbe0b5", "#5a3a00"),
    "stripe": ("#b86a00", "#f0a63a"),
    "negative": ("#eddcf6", "#41255a"),
    "corner": ("#7a2da3", "#c99be6"),
    "bad": ("#fbd5d5", "#5a1515"),
    "filled": ("#eceff2", "#262c32"),
    # Moves, steps and curves, in turn: hues that colour-blind people tell apart.
    "hue0": ("#0067a3", "#5cb8f0"),
    "hue1": ("#b84a00", "#ff9d5c"),
    "hue2": ("#007a5a", "#3fcfa2"),
    "hue3": ("#a03a78", "#ec8fc5"),
    "hue4": ("#806000", "#e3c04b"),
    "hue5": ("#2f4bc0", "#9fb2ff"),
    "hue6": ("#96262c", "#ff8f8f"),
    "hue7": ("#4f6b00", "#b4d455"),
}
HUES = 8

# The states of the cells of a drawing, in the order of a legend.
CELL_STATES = {
    "read": "read once",
    "again": "read more than once",
    "written": "written",
    "repeated": "written more than once",
    "reduced": "combined by the reduction",
    "untouched": "untouched",
    "negative": "negative: counts from the end",
    "bad": "out of range",
    "filled": "filled in",
    "batch": "a batch entry",
    "pending": "not reached yet",
}


@dataclass(frozen=True)
class Look:
    """The look of a verdict: a sign, which may be empty, and a tone: danger, wrong, lax, right or none."""

    sign: str
    tone: str


@dataclass(frozen=True)
class Marked:
    """A text about a verdict. A terminal shows it with the sign and the colour of the look."""

    text: str
    look: Look


def theme_rules(scope: str, rules: str, *, switches: bool = False) -> str:
    """Return the custom properties that style rules use, in light and dark, for elements in ``scope``.

    ``switches``: the page around the elements may have a theme switch, as in JupyterLab.

    >>> print(theme_rules(":root", "p { color: var(--ink); }"))
    :root { color-scheme: light dark; --ink: #1b1f24; }
    @media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; } }
    <BLANKLINE>
    """
    return "".join(f"{line}\n" for line in _theme_lines(scope, rules, switches))


def _theme_lines(scope: str, rules: str, switches: bool) -> Iterator[str]:
    used = [name for name in COLOURS if f"var(--{name})" in rules]
    light, dark = (" ".join(f"--{name}: {COLOURS[name][n]};" for name in used) for n in (0, 1))
    yield f"{scope} {{ {'' if switches else 'color-scheme: light dark; '}{light} }}"
    yield f"@media (prefers-color-scheme: dark) {{ {scope} {{ {dark} }} }}"
    if switches:
        yield f':is([data-jp-theme-light="true"], [data-theme="light"]) {scope} {{ {light} }}'
        yield f':is([data-jp-theme-light="false"], [data-theme="dark"]) {scope} {{ {dark} }}'


def fix_theme(rules: str, theme: str) -> str:
    """Replace custom properties by the colours of "light" or "dark"."""
    column = ("light", "dark").index(theme)
    return re.sub(r"var\(--([\w-]+)\)", lambda found: COLOURS[found[1]][column], rules)

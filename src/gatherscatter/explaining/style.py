"""Colours, patterns and the style sheet of drawings."""

from __future__ import annotations

import re

# Light and dark; every state has a pattern or a shape of its own besides. Hues after Okabe and Ito.
PALETTE = {
    "paper": ("#ffffff", "#14171a"),
    "ink": ("#1b1f24", "#e6e9ed"),
    "dim": ("#57606a", "#a3adb8"),
    "line": ("#8c959f", "#6b7681"),
    "faint": ("#d0d7de", "#363d44"),
    "read": ("#cfe6fb", "#12395c"),
    "written": ("#cdeee1", "#0f4434"),
    "again": ("#fbe0b5", "#5a3a00"),
    "stripe": ("#b86a00", "#f0a63a"),
    "negative": ("#eddcf6", "#41255a"),
    "violet": ("#7a2da3", "#c99be6"),
    "bad": ("#fbd5d5", "#5a1515"),
    "red": ("#a40e26", "#ff9a9a"),
    "filled": ("#eceff2", "#262c32"),
    "move0": ("#005ea8", "#74bbff"),
    "move1": ("#a64b00", "#ffb066"),
    "move2": ("#00745a", "#5fd6b0"),
    "move3": ("#93267a", "#f29ad6"),
    "move4": ("#5b5b00", "#d8d35a"),
    "move5": ("#3f4650", "#c5ccd4"),
}
DASHES = ("none", "7 3", "2 3", "10 3 2 3", "none", "5 2")  # of the arrows, in turn
MOVES = 6
SANS = 'ui-sans-serif, system-ui, "Segoe UI", "DejaVu Sans", "Liberation Sans", "Noto Sans", Arial, sans-serif'
MONO = 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", "Noto Sans Mono", monospace'

_RULES = """
.ID { font-family: SANS; }
.ID text { fill: var(--ink); font-size: 13px; }
.ID .mono, .ID .value {
  font-family: MONO;
}
.ID .value { text-anchor: middle; }
.ID .over, .ID .value {
  paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; pointer-events: none;
}
.ID .value.read { stroke: var(--read); }
.ID .value.written { stroke: var(--written); }
.ID .value.again, .ID .value.repeated { stroke: var(--again); }
.ID .value.filled { stroke: var(--filled); }
.ID .value.negative { stroke: var(--negative); }
.ID .value.bad { stroke: var(--bad); }
.ID .title { font-size: 17px; font-weight: 700; }
.ID .name { font-size: 14px; font-weight: 700; }
.ID .dim { fill: var(--dim); }
.ID .small { font-size: 11px; font-weight: 400; }
.ID .middle { text-anchor: middle; }
.ID .end { text-anchor: end; }
.ID .paper { fill: var(--paper); }
.ID .box { fill: var(--paper); stroke: var(--line); stroke-width: 1; }
.ID .untouched .box { stroke: var(--faint); stroke-dasharray: 2 2; }
.ID .value.untouched { fill: var(--dim); }
.ID .read .box { fill: var(--read); }
.ID .written .box { fill: var(--written); }
.ID .again .box, .ID .repeated .box { fill: var(--again); stroke: var(--stripe); }
.ID .filled .box { fill: var(--filled); stroke-dasharray: 4 2; }
.ID .negative .box { fill: var(--negative); stroke: var(--violet); stroke-dasharray: 5 2; stroke-width: 1.5; }
.ID .bad .box { fill: var(--bad); stroke: var(--red); stroke-width: 2; }
.ID .overlay { pointer-events: none; }
.ID .stripe { stroke: var(--stripe); stroke-width: 1.6; stroke-opacity: .55; }
.ID .dots { fill: var(--line); }
.ID .corner { fill: var(--violet); }
.ID .cross { stroke: var(--red); stroke-width: 2.5; fill: none; }
.ID .error { fill: var(--red); font-weight: 700; }
.ID .batch { fill: var(--dim); }
.ID .arrow { fill: none; stroke-width: 1.8; }
.ID .halo { fill: none; stroke: var(--paper); stroke-width: 4.5; stroke-opacity: .75; }
.ID .frame { fill: none; stroke-width: 2.4; }
.ID .copy { fill: none; stroke: var(--line); stroke-width: 5; stroke-opacity: .45; }
.ID .tip { fill: var(--line); }
.ID .badge text { font-size: 10px; font-weight: 700; text-anchor: middle; fill: var(--paper); }
.ID .value.was { fill: var(--dim); font-size: 10px; stroke-width: 2px; }
.ID .legend { font-size: 12px; }
"""


def sheet(scope: str, theme: str = "auto") -> str:
    """The style sheet, for elements below one of the class ``scope``.

    ``theme`` "auto" follows what the reader has chosen; "light" and "dark" are fixed, and without custom properties,
    for programs that don't know them.
    """
    turns = "".join(
        f".ID .move{n} {{ stroke: var(--move{n}); stroke-dasharray: {DASHES[n]}; }}\n"
        f".ID .tip{n} {{ fill: var(--move{n}); }}\n"
        for n in range(MOVES)
    )
    rules = (_RULES + turns).replace(".ID", f".{scope}").replace("SANS", SANS).replace("MONO", MONO)
    if theme != "auto":
        column = ("light", "dark").index(theme)
        return re.sub(r"var\(--(\w+)\)", lambda found: PALETTE[found[1]][column], rules)
    light, dark = (" ".join(f"--{name}: {pair[n]};" for name, pair in PALETTE.items()) for n in (0, 1))
    return (
        f".{scope} {{ {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ .{scope} {{ {dark} }} }}\n"
        # JupyterLab, and pages with a switch.
        f':is([data-jp-theme-light="true"], [data-theme="light"]) .{scope} {{ {light} }}\n'
        f':is([data-jp-theme-light="false"], [data-theme="dark"]) .{scope} {{ {dark} }}\n'
        f"{rules}"
    )

"""The style sheet of drawings."""

from __future__ import annotations

from gatherscatter.pages.palette import HUES, MONO, SANS, fix_theme, theme_rules

DASHES = ("none", "7 3", "2 3", "10 3 2 3", "none", "5 2", "12 4", "4 4")  # of the arrows, in turn

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
.ID .box { fill: var(--paper); stroke: var(--strong-line); stroke-width: 1; }
.ID .untouched .box { stroke: var(--line); stroke-dasharray: 2 2; }
.ID .value.untouched { fill: var(--dim); }
.ID .read .box { fill: var(--read); }
.ID .written .box { fill: var(--written); }
.ID .again .box, .ID .repeated .box { fill: var(--again); stroke: var(--stripe); }
.ID .filled .box { fill: var(--filled); stroke-dasharray: 4 2; }
.ID .negative .box { fill: var(--negative); stroke: var(--corner); stroke-dasharray: 5 2; stroke-width: 1.5; }
.ID .bad .box { fill: var(--bad); stroke: var(--danger-text); stroke-width: 2; }
.ID .overlay { pointer-events: none; }
.ID .stripe { stroke: var(--stripe); stroke-width: 1.6; stroke-opacity: .55; }
.ID .dots { fill: var(--strong-line); }
.ID .corner { fill: var(--corner); }
.ID .cross { stroke: var(--danger-text); stroke-width: 2.5; fill: none; }
.ID .error { fill: var(--danger-text); font-weight: 700; }
.ID .batch { fill: var(--dim); }
.ID .arrow { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
.ID .halo { fill: none; stroke: var(--paper); stroke-width: 4.5; stroke-opacity: .75; }
.ID .frame { fill: none; stroke-width: 2.4; }
.ID .pointer { stroke-width: 1.3; }
.ID .wrong { fill: none; stroke: var(--danger-text); stroke-width: 3; stroke-dasharray: 6 4; }
.ID .badge text { font-size: 10px; font-weight: 700; text-anchor: middle; fill: var(--paper); }
.ID .value.was { fill: var(--dim); font-size: 10px; stroke-width: 2px; }
.ID .legend { font-size: 12px; }
"""


def sheet(scope: str, theme: str = "auto") -> str:
    """The style sheet, for elements below one of the class ``scope``.

    ``theme`` "auto" follows the reader's choice. "light" and "dark" are fixed. They have no custom properties, as some
    programs don't know these.
    """
    turns = "".join(
        f".ID .hue{n} {{ stroke: var(--hue{n}); stroke-dasharray: {DASHES[n]}; }}\n"
        f".ID .tip{n} {{ fill: var(--hue{n}); }}\n"
        for n in range(HUES)
    )
    rules = (_RULES + turns).replace(".ID", f".{scope}").replace("SANS", SANS).replace("MONO", MONO)
    return theme_rules(f".{scope}", rules, switches=True) + rules if theme == "auto" else fix_theme(rules, theme)

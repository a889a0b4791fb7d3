"""Make elements of HTML and SVG from texts. All texts are escaped."""

from __future__ import annotations

import re

from gatherscatter.pages import require_jinja

with require_jinja():
    from markupsafe import Markup, escape

__all__ = ["Markup", "clean_text", "element", "escape_text", "join"]

Child = str | float | None


def clean_text(text: str) -> str:
    """Replace the characters that XML or UTF-8 can't hold.

    >>> clean_text("a\\x1bb") == "a\\N{REPLACEMENT CHARACTER}b"
    True
    """
    return re.sub("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)


def escape_text(text: object) -> Markup:
    """Clean and escape a text. Markup is returned unchanged."""
    return text if isinstance(text, Markup) else escape(clean_text(str(text)))


def element(tag: str, *children: Child, **attributes: Child) -> Markup:
    """Make an element. Attributes and children are escaped. Children of type Markup are inserted unchanged.

    An underscore in the name of an attribute becomes a hyphen. One at its end is removed. Attributes that are None are
    omitted. Floats are written with one decimal.

    >>> print(element("text", "a < b", x=1.25, class_="name", data_at="0,1"))
    <text x="1.2" class="name" data-at="0,1">a &lt; b</text>
    >>> print(element("g", element("circle", r=5)))
    <g><circle r="5"/></g>
    """
    given = "".join(f' {name.rstrip("_").replace("_", "-")}="{_escape_attribute(value)}"'
                    for name, value in attributes.items() if value is not None)  # fmt: skip
    if not children:
        return Markup(f"<{tag}{given}/>")
    return Markup(f"<{tag}{given}>{join(*children)}</{tag}>")


def join(*children: Child) -> Markup:
    """Join elements and escaped texts. None is skipped."""
    return Markup("").join(escape_text(child) for child in children if child is not None)


def _escape_attribute(value: Child) -> Markup:
    return Markup(f"{value:.1f}") if isinstance(value, float) else escape(clean_text(str(value)))

"""SVG to PNG, by resvg."""

from __future__ import annotations

from gatherscatter.pages.palette import SANS
from gatherscatter.system.extras import require

TWICE = 2.0  # pixels of the picture per pixel of the SVG: sharp on dense screens


def png(svg: str) -> bytes:
    """The picture in pixels.

    Raises
    ------
    ImportError
        resvg-py is not installed.
    RuntimeError
        There is no font on this machine, and all text would be missing.
    """
    with require("resvg_py", text="PNG files need resvg-py", install="gatherscatter[explain]"):
        import resvg_py
    if _draw_letter(resvg_py, "x") == _draw_letter(resvg_py, ""):
        text = "none of the usual fonts is on this machine: install one (DejaVu Sans, Liberation Sans), or write .svg"
        raise RuntimeError(text)
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=TWICE))


def _draw_letter(resvg_py: object, letter: str) -> bytes:
    text = f"<text y='15' font-family='{SANS}'>{letter}</text>"
    drawn = f"<svg xmlns='http://www.w3.org/2000/svg' width='20' height='20'>{text}</svg>"
    return bytes(resvg_py.svg_to_bytes(svg_string=drawn))  # type: ignore[attr-defined]

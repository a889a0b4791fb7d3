"""Pictures and words that explain a call: `explain`."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import Any

from gatherscatter.explaining.call import record_call
from gatherscatter.explaining.facts import CallFacts
from gatherscatter.system.files import replace_atomically, write_text

__all__ = ["Explanation", "explain"]

SUFFIXES = (".svg", ".png", ".html")
THEMES = ("auto", "light", "dark")


def explain(op: Any, *inputs: Any, **attributes: Any) -> Explanation:
    """Explain a call: a drawing, the shape rule with its numbers, and the steps.

    The function makes the call. If the call fails, the explanation shows why, and no error is raised.

    Parameters
    ----------
    op : str or function
        An op version or operator as `gatherscatter.op` takes it ("onnx.GatherND-13", "openvino.Gather"), or an array
        function or its name (``gs.gather_nd``, "gather_nd").
    *inputs : arrays
        The inputs of the operator, in its order: arrays of any library, lists, numbers.
    **attributes
        Attributes of the operator, or inputs by their names.

    Returns
    -------
    Explanation
        A notebook displays it, and ``print`` writes it as text. ``.save("page.html")`` writes a page with the steps.

    Raises
    ------
    LookupError
        There is no operator of this name.
    TypeError
        ``op`` is neither a name nor a function, or ``out`` is given.

    >>> import gatherscatter as gs
    >>> print(gs.explain("onnx.GatherND-13", [[1, 2], [3, 4]], [[0, 1], [1, 0]]))
    onnx.GatherND-13
    Each row along the last dimension of indices is an address in data: the coordinates of an element.
    The output has the values at these addresses.
    <BLANKLINE>
    output.shape = indices.shape[:-1] + data.shape[k:]    (k = 2)
                 = indices.shape[:-1] + data.shape[2:]
                 = (2,) + () = (2,)
    <BLANKLINE>
    indices (2, 2) int64    data (2, 2) int64    output (2,) int64
        0    1                  0    1             ┌────┐
      ┌────┬────┐             ┌────┬────┐        0 │ 2¹ │
    0 │ 0¹ │ 1¹ │           0 │ 1  │ 2¹ │        1 │ 3² │
    1 │ 1² │ 0² │           1 │ 3² │ 4  │          └────┘
      └────┴────┘             └────┴────┘
    <BLANKLINE>
    Step by step (raised numbers in the grids are steps)
      1  indices[0] = (0, 1): data[0, 1] → output[0]: 2
      2  indices[1] = (1, 0): data[1, 0] → output[1]: 3
    >>> print(gs.explain(gs.gather, [10, 20], [5]).error)
    gather: indices[0] = 5 is out of range for axis 0 of data with size 2 (valid: -2..1)
    """
    return Explanation(record_call(op, inputs, attributes))


class Explanation(CallFacts):
    """The explanation of a call, made by `explain`: its facts, as a picture, a page or text."""

    def svg(self, theme: str = "auto") -> str:
        """The drawing. ``theme``: "light", "dark", or "auto", which follows the reader's system."""
        from gatherscatter.explaining.svg import svg

        if theme not in THEMES:
            raise ValueError(f"theme must be one of {', '.join(map(repr, THEMES))}, not {theme!r}")
        return str(svg(self.call, self.drawing, theme))

    def html(self) -> str:
        """A page that needs no network. Pointing at a cell shows its partners. A slider walks through the steps."""
        from gatherscatter.explaining.page import page

        return page(self)

    def save(self, path: str | os.PathLike[str], theme: str = "auto") -> None:
        """Write the explanation into a file: ``.svg``, ``.png`` or ``.html``.

        ``theme`` is for pictures; see `svg`. A PNG is light unless ``theme`` is "dark". Programs that don't know CSS's
        custom properties, such as Inkscape, need a fixed theme for an SVG.

        Raises
        ------
        ValueError
            Another suffix, or another theme.
        ImportError
            A PNG needs ``pip install 'gatherscatter[explain]'``.
        """
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix == ".svg":
            write_text(path, self.svg(theme))
        elif suffix == ".html":
            write_text(path, self.html())
        elif suffix == ".png":
            from gatherscatter.explaining.png import png

            picture = png(self.svg("light" if theme == "auto" else theme))
            with replace_atomically(path) as part:
                part.write_bytes(picture)
        else:
            raise ValueError(f"{path}: the name must end in {', '.join(SUFFIXES)}")

    def _repr_html_(self) -> str:
        try:
            from gatherscatter.explaining.page import fragment

            return fragment(self)
        except Exception as error:  # without Jinja2, a notebook shows the text
            return f"<pre>{escape(self._text())}\n\n{escape(str(error))}</pre>"

    def _repr_svg_(self) -> str | None:
        try:
            return self.svg()
        except Exception:  # a notebook shows another form
            return None

    def _text(self) -> str:
        try:
            return str(self)
        except Exception:
            return repr(self)

    def __repr__(self) -> str:
        ending = type(self.error).__name__ if self.result is None else f"output of shape {self.result.shape}"
        return f"<Explanation of {self.op}: {ending}>"

    def __str__(self) -> str:
        from gatherscatter.explaining.text import text

        return text(self)

"""Changes to pages while the site is built.

The Markdown of a page works in the repository: pictures are image files, and it links only to files that exist
there. The site has more: pictures that follow its switch of light and dark, and more of them. The transforms add these.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes

from gatherscatter.explaining import Explanation
from gatherscatter.explaining.examples import pictures
from gatherscatter.explaining.playground.texts import presets, read_call
from gatherscatter.explaining.svg import stacked_svg, svg
from gatherscatter.specs.table import OpVersion, op
from gatherscatter_models.findings.catalog import load
from site_pages.chooser import drawing
from site_pages.markdown import CHOOSER, PRESETS

# The site has its own switch between light and dark. The pictures know the one of JupyterLab.
_SWITCH = {
    '[data-jp-theme-light="true"]': 'body[data-theme="light"]',
    '[data-jp-theme-light="false"]': 'body[data-theme="dark"]',
}


def link_names(app: Any, page: nodes.document) -> None:
    """Make each `gs.name` or `gatherscatter.name` in code font a link to the reference, if it is described there.

    A listener of ``doctree-read``.
    """
    name_of_page = app.env.docname
    if name_of_page.startswith("api/"):
        return
    for literal in list(page.findall(nodes.literal)):
        if isinstance(literal.parent, nodes.reference | nodes.title):
            continue
        name = literal.astext().partition("(")[0]
        if name.startswith("gs."):
            name = "gatherscatter." + name.removeprefix("gs.")
        if name.startswith("gatherscatter."):
            attributes = {"refdomain": "py", "reftype": "obj", "reftarget": name, "refdoc": name_of_page}
            link = addnodes.pending_xref("", literal.deepcopy(), refexplicit=True, refwarn=False, **attributes)
            link["py:module"] = link["py:class"] = None
            literal.replace_self(link)


def link_findings(app: Any, page: nodes.document) -> None:
    """Make each id of a finding in code font a link to the finding.

    A listener of ``doctree-read``.
    """
    ids = {finding.id for finding in load() if finding.evidence == "run"}
    for literal in list(page.findall(nodes.literal)):
        if (id := literal.astext()) in ids and not isinstance(literal.parent, nodes.reference | nodes.title):
            attributes = {"refdomain": "std", "reftype": "ref", "reftarget": id, "refdoc": app.env.docname}
            literal.replace_self(
                addnodes.pending_xref("", literal.deepcopy(), refexplicit=True, refwarn=True, **attributes)
            )


def embed_pictures(app: Any, page: nodes.document) -> None:
    """Draw the pictures of calls into the pages: side by side, and stacked for narrow screens.

    A listener of ``doctree-read``, before Sphinx looks for image files.
    """
    has_words = not app.env.docname.startswith("ops/")  # pages of operators have the same words
    for image in list(page.findall(nodes.image)):
        path = Path(image["uri"])
        if path.parent.name == "pictures" and (example := pictures().get(path.stem)):
            html = _pictures(example.explanation(), has_words=has_words)
            alone = isinstance(image.parent, nodes.paragraph) and len(image.parent) == 1
            (image.parent if alone else image).replace_self(nodes.raw("", html, format="html"))


def fill_in(app: Any, page: nodes.document) -> None:
    """Replace the comments for the site by the chooser and by pictures of presets.

    A listener of ``doctree-read``.
    """
    for comment in list(page.findall(nodes.raw)):
        text = comment.astext().strip()
        if text == CHOOSER:
            comment.replace_self(nodes.raw("", str(drawing()), format="html"))
        elif text.startswith(PRESETS):
            row = op(text.removeprefix(PRESETS).removesuffix("-->").strip())
            comment.replace_self(nodes.raw("", "".join(_draw_presets(row)), format="html"))


def _draw_presets(row: OpVersion) -> Iterator[str]:
    """Further calls of an op version. Each is shown when its title is clicked."""
    for preset in presets(row):
        explained = read_call(row, preset.inputs, preset.attributes).explain()
        yield f"<details><summary>{escape(preset.title)}</summary>\n{_pictures(explained)}</details>\n"


def _pictures(explained: Explanation, *, has_words: bool = True) -> str:
    """The drawing of a call, side by side and stacked."""
    call, drawn = explained.call, explained.drawing
    wide = svg(call, drawn, has_words=has_words)
    return _division("drawing wide", wide) + _division("drawing stacked", stacked_svg(call, drawn))


def _division(classes: str, picture: str) -> str:
    for theirs, ours in _SWITCH.items():
        picture = picture.replace(theirs, ours)
    return f'<div class="{classes}">\n{picture}\n</div>\n'

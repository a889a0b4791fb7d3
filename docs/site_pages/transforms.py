"""Changes to pages while the site is built.

The Markdown of a page works in the repository as it is: pictures are image files, and it links only to files that exist
there. The site has more: pictures that follow its switch of light and dark, the reference of the Python interface, and
the playground. The transforms add these.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes

from gatherscatter.explaining.examples import pictures
from gatherscatter.explaining.svg import stacked_svg, svg
from site_pages.chooser import drawing
from site_pages.markdown import CHOOSER, PLAYGROUND_LINK

PLAYGROUND = "play.html"  # in the built site

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


def embed_pictures(app: Any, page: nodes.document) -> None:
    """Draw the pictures of calls into the pages: side by side, and stacked for narrow screens.

    A listener of ``doctree-read``, before Sphinx looks for image files.
    """
    has_words = not app.env.docname.startswith("ops/")  # pages of operators have the same words
    for image in list(page.findall(nodes.image)):
        path = Path(image["uri"])
        if path.parent.name == "pictures" and (example := pictures().get(path.stem)):
            explained = example.explanation()
            wide = svg(explained.call, explained.drawing, has_words=has_words)
            stacked = stacked_svg(explained.call, explained.drawing)
            alone = isinstance(image.parent, nodes.paragraph) and len(image.parent) == 1
            html = _division("drawing wide", wide) + _division("drawing stacked", stacked)
            (image.parent if alone else image).replace_self(nodes.raw("", html, format="html"))


def fill_in(app: Any, page: nodes.document) -> None:
    """Replace the comments for the site by the chooser and by links to the playground.

    A listener of ``doctree-read``.
    """
    up = "../" * app.env.docname.count("/")
    for comment in list(page.findall(nodes.raw)):
        text = comment.astext().strip()
        if text == CHOOSER:
            comment.replace_self(nodes.raw("", str(drawing()), format="html"))
        elif text.startswith(PLAYGROUND_LINK):
            state = text.removeprefix(PLAYGROUND_LINK).removesuffix("-->").strip()
            what = "Change this call in the playground" if state else "Try them in the playground"
            address = f"{up}{PLAYGROUND}" + (f"#{escape(state)}" if state else "")
            comment.replace_self(nodes.raw("", f'<p><a href="{address}">{what}</a></p>', format="html"))


def _division(classes: str, picture: str) -> str:
    for theirs, ours in _SWITCH.items():
        picture = picture.replace(theirs, ours)
    return f'<div class="{classes}">\n{picture}\n</div>\n'

"""The documentation site: ``python -m sphinx -W -E docs build/site``."""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]  # for site_pages, and for conformance.lab

from site_pages import write  # noqa: E402
from site_pages.docstrings import aliases, sections  # noqa: E402
from site_pages.links import faults  # noqa: E402
from site_pages.transforms import embed_pictures, fill_in, link_findings, link_names  # noqa: E402

import gatherscatter  # noqa: E402
from gatherscatter.pages.palette import COLOURS  # noqa: E402

write(HERE)

project = "gatherscatter"
version = release = gatherscatter.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["site_pages"]
myst_heading_anchors = 4

# A name in single backticks of a docstring is a link, if there is something of that name.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_type_aliases = {"ArrayLike": "ArrayLike"}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = ["Source"]

html_theme = "furo"
html_title = "gatherscatter: gather and scatter for NumPy"
html_favicon = "static/favicon.svg"
html_search_scorer = str(HERE / "static" / "search_order.js")
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["from_files.js"]
html_use_index = html_domain_indices = False  # there is a search
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
# The colours of the report and the other pages of the package. These have none for visited links.
_colours = {
    "color-foreground-primary": COLOURS["ink"],
    "color-foreground-secondary": COLOURS["dim"],
    "color-background-primary": COLOURS["paper"],
    "color-background-secondary": COLOURS["raised"],
    "color-brand-primary": COLOURS["link"],
    "color-brand-content": COLOURS["link"],
    "color-brand-visited": ("#6c3fb0", "#c0a2f5"),
}
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {name: light for name, (light, _) in _colours.items()},
    "dark_css_variables": {name: dark for name, (_, dark) in _colours.items()},
}


def check_links(app: Sphinx, failed: Exception | None) -> None:
    """A warning for each link that leads nowhere: with -W, the build fails."""
    if failed is None and app.builder.name == "html":
        for fault in faults(Path(app.outdir)):
            logging.getLogger(__name__).warning(fault)


def setup(app: Sphinx) -> None:
    """Docstrings get their headings before the reader of NumPy's docstrings, which listens too."""
    app.connect("autodoc-process-docstring", sections, priority=400)
    app.connect("autodoc-process-signature", aliases)
    app.connect("doctree-read", link_names)
    app.connect("doctree-read", link_findings)
    app.connect("doctree-read", fill_in)
    app.connect("doctree-read", embed_pictures, priority=400)
    app.connect("build-finished", check_links)

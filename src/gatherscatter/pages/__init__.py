"""Shared parts of all HTML pages: templates, the script policy, data, palette, style sheet and scripts."""

from __future__ import annotations

from contextlib import AbstractContextManager

from gatherscatter.system.extras import require


def require_jinja() -> AbstractContextManager[None]:
    """Guard a block that imports Jinja2 and MarkupSafe. The palette works without them."""
    return require("jinja2", "markupsafe", text="pictures and pages need Jinja2", install="gatherscatter[cli]")

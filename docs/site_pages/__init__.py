"""Generate pages of the site from the tables of the package: ``write(docs)``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from site_pages import api, array_kinds, chooser, differences, known_as, lab, ops, performance

__all__ = ["pages", "pages_of_the_site", "write"]


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each generated page that git keeps, and of the reference."""
    yield from ops.pages()
    yield from api.pages()
    yield from differences.pages()
    yield from known_as.pages()
    yield from array_kinds.pages()
    yield from chooser.pages()
    yield from performance.pages()


def pages_of_the_site() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each generated page that only the site has."""
    yield from lab.pages()
    yield from performance.tables()


def write(docs: Path) -> None:
    """Write the generated pages into a folder. Pages that did not change are not touched, so Sphinx skips them."""
    for name, text in (*pages(), *pages_of_the_site()):
        path = docs / name
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")

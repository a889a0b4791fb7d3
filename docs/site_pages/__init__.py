"""Pages of the site that are made from what the package knows of itself: ``write(docs)``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from site_pages import api, chooser, differences, known_as, ops

__all__ = ["pages", "write"]


def pages() -> Iterator[tuple[str, str]]:
    """The names of all pages that are made, and their texts."""
    yield from ops.pages()
    yield from api.pages()
    yield from differences.pages()
    yield from known_as.pages()
    yield from chooser.pages()


def write(docs: Path) -> None:
    """Write them beside the written ones. What has not changed is left alone, so that it isn't built again."""
    for name, text in pages():
        path = docs / name
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")

"""A check of all links of a built site: what is linked within it must be there; what lies outside is never fetched."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_IN_STYLES = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")
_FETCHED = {"img": "src", "script": "src", "iframe": "src", "source": "src", "link": "href"}


class _Page(HTMLParser):
    """The anchors of a page, what it links, and what a browser fetches for it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := given.get(name))}
        if tag == "a" and (target := given.get("href")):
            self.links.append(target)
        if target := given.get(_FETCHED.get(tag, "")):
            self.fetched.append(target)


def faults(site: Path) -> Iterator[str]:
    """The problems with the links of a folder of pages, one sentence each."""
    pages = {path.resolve(): _Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        here = path.relative_to(site.resolve())
        for target in page.fetched:
            if urlsplit(target).netloc:
                yield f"{here}: fetches {target} from elsewhere"
        for target in {*page.links, *page.fetched}:
            if why := _fault(pages, path, target):
                yield f"{here}: {target}: {why}"
    for path in sorted(site.rglob("*.css")):
        for found in _IN_STYLES.finditer(path.read_text(encoding="utf-8")):
            target = found[1] or found[2]
            if urlsplit(target).netloc:
                yield f"{path.relative_to(site)}: fetches {target} from elsewhere"


def _fault(pages: dict[Path, _Page], path: Path, target: str) -> str:
    """Why a link leads nowhere; outside of the site only its form is looked at."""
    parts = urlsplit(target)
    if parts.scheme in ("https", "http"):
        return "" if "." in parts.netloc and " " not in target else "no address"
    if parts.scheme:
        return "" if parts.scheme in ("mailto", "data") else "no address"
    there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not there.is_file():
        return "no such file"
    if there.suffix == ".html" and there not in pages:
        return "leaves the site"
    anchor = "" if "=" in parts.fragment else unquote(parts.fragment)  # else what the page is to show
    return "no such anchor" if anchor and there in pages and anchor not in pages[there].anchors else ""

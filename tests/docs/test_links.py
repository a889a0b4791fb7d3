"""Links in Markdown files work in the repository, not only on the built site."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

from tests.support.paths import DOCS, ROOT

sys.path.insert(0, str(DOCS))
slug = importlib.import_module("site_pages.markdown").slug
GENERATED = {name: text for name, text in importlib.import_module("site_pages").pages() if not name.startswith("api/")}

FILES = [
    *sorted(ROOT.glob("*.md")),
    *(path for path in sorted(DOCS.rglob("*.md")) if path.parent != DOCS / "api"),  # only exists on the built site
    *(path for folder in ("examples", "findings") for path in sorted((ROOT / folder).rglob("*.md"))),
]
LINK = re.compile(r"(?:\]\(|href=\")([^()\s\"]+(?:\([^()\s]*\))?)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)


@pytest.mark.parametrize("name", GENERATED)
def test_generated_pages_are_up_to_date(name: str) -> None:
    """If not, build the site and commit the pages (CONTRIBUTING.md)."""
    assert (DOCS / name).read_text(encoding="utf-8") == GENERATED[name]


def faults(path: Path) -> list[str]:
    """Return the broken links of a file."""
    found = []
    for target in LINK.findall(CODE.sub("", path.read_text(encoding="utf-8"))):
        if target.startswith(("https://", "http://", "mailto:")):
            continue
        name, _, anchor = target.partition("#")
        there = (path.parent / name).resolve() if name else path
        if not there.exists() or there.is_relative_to(DOCS / "api"):
            found.append(target)
        elif anchor and there.suffix == ".md":
            text = re.sub(r"^```.*?^```", "", there.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
            if anchor not in {slug(heading) for heading in HEADING.findall(text)}:
                found.append(target)
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path: Path) -> None:
    assert faults(path) == []


@pytest.mark.parametrize("target", ["gone.md", "api/index.md", "there.md#gone", "#gone"])
def test_a_dead_link_is_found(target: str, tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# There\n")
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n[ok](there.md#there) [`code`](#page) [dead]({target})\n")
    assert faults(page) == [target]

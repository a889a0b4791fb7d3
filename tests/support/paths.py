"""The folders of the repository."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples"
SUPPORT = ROOT / "tests" / "support"
TOOLS = ROOT / "tools"

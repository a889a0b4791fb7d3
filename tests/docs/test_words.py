"""No file has a word of the table "Replace these" of docs/style-guide.md that is in backticks there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.paths import DOCS, ROOT

FOLDERS = ("benchmarks", "conformance", "cpp", "docs", "examples", "models", "src", "tests", "tools", "*.md")
# Records of a day, texts that were sent to other projects, texts of others, seeds, and the names of cases.
EXEMPT = (
    "CHANGELOG.md",
    "conformance/LICENSE",
    "conformance/findings/",
    "conformance/lab/reports.toml",
    "conformance/src/gatherscatter_conformance/data/",
    "docs/decisions/",
    "docs/design/records/",
    "docs/style-guide.md",
    "models/LICENSE",
    "tests/docs/test_words.py",
    "tools/corpus/",
)
CASE_NAMES = {"ones beside a large number"}  # cases of the corpus keep their names


def read_phrases() -> list[str]:
    """Return the phrases in backticks in the first column of the table."""
    text = (DOCS / "style-guide.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.*?) \| .* \|$", text.partition("### Replace these")[2].partition("\n## ")[0], re.M)
    return [phrase for row in rows for phrase in re.findall("`(.+?)`", row)]


def make_pattern(phrases: list[str]) -> re.Pattern[str]:
    """Return a pattern that finds whole words in any case, and phrases with capitals in this case only."""
    starts = "|".join(re.escape(phrase) for phrase in phrases if phrase.startswith("."))
    words = "|".join(re.escape(phrase) for phrase in phrases if not phrase.startswith("."))
    return re.compile(rf"(?:{starts})\b|(?i:\b(?:{words})\b)")


def find_words(text: str, pattern: re.Pattern[str]) -> list[tuple[int, str]]:
    """Return the number of the line and the phrase, for each phrase in a text."""
    return [
        (number, found[0])
        for number, line in enumerate(text.splitlines(), 1)
        if not any(name in line for name in CASE_NAMES)
        for found in pattern.finditer(line)
    ]


def list_files() -> list[str]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone")
    listed = subprocess.run(["git", "ls-files", "-z", *FOLDERS], cwd=ROOT, capture_output=True, check=True)
    return [name for name in listed.stdout.decode().split("\0") if name and not name.startswith(EXEMPT)]


def test_the_table_has_phrases() -> None:
    assert {"beside", "wants", "of its own", ". Neither"} <= {*read_phrases()}


def test_no_file_has_words_to_replace() -> None:
    pattern, wrong = make_pattern(read_phrases()), []
    for name in list_files():
        content = Path(ROOT, name).read_bytes()
        if b"\0" not in content:
            found = find_words(content.decode("utf-8", "replace"), pattern)
            wrong += [f"{name}:{number}: {phrase}" for number, phrase in found]
    assert wrong == []


@pytest.mark.parametrize(
    "line",
    [
        "# It wants row numbers.",
        "The sum stands Beside it.",
        "It is copied. And it is checked.",
        "two, of which one is",
    ],
)
def test_words_to_replace_are_found(line: str) -> None:
    assert find_words(f"first\n{line}\n", make_pattern(read_phrases()))[0][0] == 2


@pytest.mark.parametrize("line", ["besides", "It is true. Andes", "CMake wanted", "whoever_calls", "in place"])
def test_other_words_are_not_found(line: str) -> None:
    assert find_words(line, make_pattern(read_phrases())) == []

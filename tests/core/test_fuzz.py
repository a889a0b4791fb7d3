"""The cases that fuzzing stored. Each takes a different path through the core."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.cases import CASES
from tests.support.paths import TOOLS
from tools.fuzz import Case, corpus, shrunk


@pytest.mark.parametrize("name", CASES)
def test_stored_cases(name: str) -> None:
    cases = [case for case in corpus() if case.name == name]
    assert cases, "no case of this kind was stored"
    for case in cases:
        try:
            case.run()
        except Exception as error:
            error.add_note(f"python tools/fuzz.py --case '{case}'")
            raise


def test_a_fault_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(choices: object) -> None:
        assert b"\x07" not in choices.raw(50)  # type: ignore[attr-defined]

    monkeypatch.setitem(CASES, "array gather", wrong)
    assert shrunk(Case("array gather", bytes(range(30)))) == Case("array gather", b"\x07")


def test_the_command() -> None:
    script = TOOLS / "fuzz.py"
    command = [sys.executable, str(script), "--cases", "5000", "--seconds", "1", "--jobs", "1", "--seed", "5"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "5,000 cases" in done.stdout

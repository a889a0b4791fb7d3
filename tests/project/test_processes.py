"""Processes that answer questions: each question has its own answer, even after a failure."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import pytest

from gatherscatter.system.processes import AnsweringProcess, NoAnswerError
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def echo() -> Iterator[AnsweringProcess]:
    with AnsweringProcess("tests.support.answering", time_limit=20) as process:
        yield process


def test_answers_are_lines(echo: AnsweringProcess) -> None:
    assert echo.ask(b"one") == b"one"
    for text in (b"two\nlines", b"\\n \\\n \\\\n", bytes(range(256))):
        assert echo.ask(text) == text
    assert echo.ask() == b""
    assert echo.ask(b"!x") == b"!x"
    assert echo.ask(b"x" * 1_000_000) == b"x" * 1_000_000


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (b"fail", "^it failed$"),
        (b"die", r"^the process died \(Aborted\)$"),
        (b"exit", "^the process ended with code 3$"),
    ],
)
def test_there_is_no_answer(echo: AnsweringProcess, question: bytes, text: str) -> None:
    with pytest.raises(NoAnswerError, match=text):
        echo.ask(question)
    assert echo.ask(b"next") == b"next"


def test_a_late_answer_is_dropped() -> None:
    with AnsweringProcess("tests.support.answering", time_limit=0.3) as process:
        with pytest.raises(NoAnswerError, match=r"^it took longer than 0\.3 s$"):
            process.ask(b"sleep30")
        assert process.ask(b"next") == b"next"


INTERRUPTED = f"""
import signal, sys, threading
sys.path.append({str(ROOT)!r})
from gatherscatter.system.processes import AnsweringProcess
with AnsweringProcess("tests.support.answering", time_limit=20) as process:
    process.ask()
    timer = threading.Timer(0.2, signal.pthread_kill, [threading.get_ident(), signal.SIGINT])
    timer.start()
    try:
        process.ask(b"sleep1")
    except KeyboardInterrupt:
        print(process.ask(b"next"))
"""


def test_an_interrupted_question_does_not_answer_the_next_one() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("b'next'\n", "")


STARTING = INTERRUPTED.replace("    process.ask()\n", "").replace("(0.2", "(0.02").replace("sleep1", "first")


def test_an_interrupted_start_does_not_answer_the_next_question() -> None:
    """The process takes longer than 20 ms to start."""
    done = subprocess.run([sys.executable, "-c", STARTING], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("b'next'\n", "")


def test_the_current_folder_has_no_modules(tmp_path: Path) -> None:
    """It can hold a model of somebody else, with modules that would run."""
    for name in ("json", "numpy", "runpy", "gatherscatter"):
        (tmp_path / f"{name}.py").write_text("import os; os._exit(7)")
    code = f"""
import sys
sys.path.append({str(ROOT)!r})
from gatherscatter.system.processes import AnsweringProcess
import os
os.chdir({str(tmp_path)!r})
with AnsweringProcess("tests.support.answering", time_limit=20) as process:
    print(process.ask(b"x"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("b'x'\n", "")


def test_closing_ends_an_answer() -> None:
    process = AnsweringProcess("tests.support.answering", time_limit=30)
    process.ask()
    Timer(0.2, process.close).start()
    with pytest.raises(NoAnswerError, match="died"):
        process.ask(b"sleep20")
    with pytest.raises(NoAnswerError, match="closed"):
        process.ask(b"x")


def test_a_missing_module_is_an_end() -> None:
    with (
        AnsweringProcess("tests.support.no_such_module", time_limit=20) as process,
        pytest.raises(NoAnswerError, match=r"^the process ended with code 1$"),
    ):
        process.ask(b"x")

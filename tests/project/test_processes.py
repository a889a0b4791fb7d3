"""Processes that answer questions: each question has its own answer, whatever happened to the one before."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from gatherscatter.processes import AnsweringProcess, NoAnswerError
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def echo() -> Iterator[AnsweringProcess]:
    with AnsweringProcess("tests.support.answering", time_limit=20) as process:
        yield process


def test_answers_are_lines(echo: AnsweringProcess) -> None:
    assert echo.ask(b"one") == b"one"
    assert echo.ask(b"two\nlines") == b"two lines"
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


INTERRUPTED = """
import signal, threading
from gatherscatter.processes import AnsweringProcess
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
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("b'next'\n", "")


def test_a_missing_module_is_an_end() -> None:
    with (
        AnsweringProcess("tests.support.no_such_module", time_limit=20) as process,
        pytest.raises(NoAnswerError, match=r"^the process ended with code 1$"),
    ):
        process.ask(b"x")

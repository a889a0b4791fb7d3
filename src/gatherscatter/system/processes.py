"""Processes that answer questions, for work that may crash or never end. Each question and each answer is one line."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock, Timer
from types import TracebackType
from typing import Self

LONGEST = 300  # characters of an error
_ANSWER, _ERROR, _READY = b"=", b"!", b"ready\n"  # how a line begins, and the first line
# Modules come from the same folders as here. With -m, they would come from the current folder first, which can hold a
# model of somebody else.
_START = """
import json, runpy, sys
sys.path[:] = json.loads(sys.argv[1])
del sys.argv[1]
runpy.run_module(sys.argv.pop(1), run_name="__main__")
"""


class NoAnswerError(Exception):
    """A process has no answer: its function raised an error, or it ended. The text says why, on one line."""


class AnsweringProcess:
    """A process that runs a module, which calls `answer_lines`. It starts at the first question.

    If it has ended, the next question starts a new one. Questions of several threads are answered one after the other.

    Parameters
    ----------
    module : the name of the module
    *arguments : its arguments
    time_limit : seconds for an answer. The time to start the process does not count
    """

    def __init__(self, module: str, *arguments: str, time_limit: float) -> None:
        self._arguments = (module, *arguments)
        self._time_limit = time_limit
        self._lock = Lock()
        self._owner = os.getpid()
        self._is_closed = False
        self._is_ready = False
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def ask(self, question: bytes = b"", *, time_limit: float | None = None) -> bytes:
        """Return the answer to a question.

        ``time_limit`` replaces that of the process for this question.

        Raises
        ------
        NoAnswerError
            The function of the process raised an error, or the process ended or took longer than its limit.
        """
        seconds = time_limit or self._time_limit
        with self._lock:
            process = self._await_start()
            assert process.stdin is not None
            assert process.stdout is not None
            late = []

            def end() -> None:
                late.append(True)
                process.kill()

            timer = Timer(seconds, end)
            timer.daemon = True
            timer.start()
            try:
                process.stdin.write(_escape(question) + b"\n")
                answer = process.stdout.readline()
            except BrokenPipeError:
                answer = b""
            except BaseException:  # Ctrl-C: the answer would be taken for that to the next question
                self._end()
                raise
            finally:
                timer.cancel()
            if late:
                self._end()
            if not answer.endswith(b"\n"):
                reason = f"it took longer than {seconds:g} s" if late else _describe_end(process.wait())
                self._end()
                raise NoAnswerError(reason)
            if answer.startswith(_ERROR):
                raise NoAnswerError(answer[1:-1].decode())
            return _unescape(answer[1:-1])

    def close(self) -> None:
        """End the process, also while it works on an answer. Later questions have no answer."""
        if os.getpid() != self._owner:
            return  # this is a fork, and the process is that of the parent
        self._is_closed = True
        if process := self._process:
            process.kill()
        with self._lock:
            self._end()

    def start(self) -> None:
        """Start the process without waiting for it, so that it is ready sooner when it is asked."""
        with self._lock:
            self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        if self._is_closed:
            raise NoAnswerError("the process was closed")
        if self._process is None or self._process.poll() is not None:
            self._end()
            folders = json.dumps([folder for folder in sys.path if folder])
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START, folders, *self._arguments],
                bufsize=0,  # then nothing remains to be written when the process has ended
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            self._is_ready = False
        return self._process

    def _await_start(self) -> subprocess.Popen[bytes]:
        process = self._start()
        if not self._is_ready:
            assert process.stdout is not None
            try:
                self._is_ready = process.stdout.readline() == _READY
            except BaseException:  # Ctrl-C: the line would be taken for an answer
                self._end()
                raise
            if not self._is_ready:
                reason = _describe_end(process.wait())
                self._end()
                raise NoAnswerError(reason)
        return process

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.__exit__(None, None, None)
            self._process = None


def _escape(text: bytes) -> bytes:
    """Return a text on one line."""
    return text.decode("latin-1").encode("unicode_escape")


def _unescape(line: bytes) -> bytes:
    return line.decode("unicode_escape").encode("latin-1")


def _describe_end(code: int) -> str:
    return f"the process died ({signal.strsignal(-code)})" if code < 0 else f"the process ended with code {code}"


def answer_lines(answer: Callable[[bytes], bytes]) -> None:
    """Answer each line of standard input, in a process that an `AnsweringProcess` has started.

    If the function raises an error, `AnsweringProcess.ask` raises its text. The output of libraries is dropped. Ctrl-C
    ends the calling process, which then closes the pipe.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    answers.write(_READY)
    answers.flush()
    for line in sys.stdin.buffer:
        try:
            text = _ANSWER + _escape(answer(_unescape(line.removesuffix(b"\n"))))
        except Exception as error:  # any error of a library is the answer
            text = _ERROR + " ".join(str(error).split())[:LONGEST].encode(errors="replace")
        answers.write(text + b"\n")
        answers.flush()


@cache
def shared_process(module: str) -> AnsweringProcess:
    """Return the process of this program that runs a module. It ends with the program."""
    process = AnsweringProcess(module, time_limit=60.0)
    atexit.register(process.close)
    return process


if hasattr(os, "register_at_fork"):  # a forked process has its own
    os.register_at_fork(after_in_child=shared_process.cache_clear)


def limit_memory(extra: int) -> None:
    """Limit the memory of this process to what it has now and ``extra`` bytes. Windows has no such limit."""
    try:
        import resource
    except ImportError:
        return
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + extra
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))

"""The parent's side of a worker: start it, ask it, and tell how it ended."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from time import monotonic
from typing import Any

from gatherscatter.conformance.case import Case
from gatherscatter.conformance.observations import Crashed, Hung, Observation
from gatherscatter.conformance.worker import FILL, read_frame, write_frame

START_SECONDS = 180.0  # an import may take that long on a busy machine
LAST_WORDS = 300
PATIENCE = 0.2  # seconds between looks at whether to stop

# ONNX Runtime and OpenVINO report home; ONNX Runtime's thread for it can end the process by itself
# (github.com/microsoft/onnxruntime/issues/32173), which would be blamed on a case.
_ENVIRONMENT = {"ORT_DISABLE_TELEMETRY": "1", "CI": "true"}
# Less noise, and no seconds lost to a backtrace that nobody reads.
_ENVIRONMENT |= {"TF_CPP_MIN_LOG_LEVEL": "3", "RUST_BACKTRACE": "0", "RUST_LIB_BACKTRACE": "0"}


class StartError(RuntimeError):
    """The runtime can't be loaded."""


class StoppedError(RuntimeError):
    """Another thread wants an end."""


class Worker:
    """A running worker. ``fill`` is the byte with which unused memory is filled, where the C library can (glibc).

    Once ``stop`` is set, whoever waits for an answer gets a `StoppedError`, and the worker is gone.
    """

    def __init__(self, runtime: str, fill: int, stop: threading.Event | None = None) -> None:
        self._stop = stop or threading.Event()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        # glibc fills memory that it hands out with the complement of this.
        variables = {FILL: str(fill), "MALLOC_PERTURB_": str(fill ^ 0xFF)}
        own_group = {"process_group": 0} if os.name == "posix" else {}  # Ctrl-C is for the parent alone
        self._process = subprocess.Popen(
            [sys.executable, "-m", "gatherscatter.conformance.worker", runtime],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **_ENVIRONMENT, **variables},
            **own_group,  # type: ignore[call-overload]
        )
        assert self._process.stdin is not None
        self._requests = self._process.stdin
        self._answers: queue.Queue[Any] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        if self._next(START_SECONDS) != "ready":
            words = self._last_words()
            self.kill()
            raise StartError(f"runtime {runtime} can't be started: {words or 'no answer'}")

    def ask(self, case: Case, times: int, timeout: float) -> tuple[Observation, ...]:
        """Run a case so many times. After a crash or a hang the worker is gone."""
        try:
            write_frame(self._requests, (case, times, timeout))
        except OSError:  # it has ended meanwhile
            return (self._describe_crash(),)
        answer = self._next(timeout)
        if answer is _SILENCE:
            self.kill()
            return (Hung(timeout),)
        if answer is _END:
            return (self._describe_crash(),)
        return tuple(answer)

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def close(self) -> str:
        """Let it end by itself; how it did, if not well."""
        try:
            self._requests.close()
            self._process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            self.kill()
            return ""
        how = "" if self._process.returncode == 0 else self._describe_crash().how
        self._release()
        return how

    def kill(self) -> None:
        """End it now."""
        self._process.kill()
        self._process.wait()
        self._release()

    def _listen(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        try:
            while True:
                self._answers.put(read_frame(stream))
        except Exception:  # its end, or bytes that are no answer, which is an end too
            stream.close()
            self._answers.put(_END)

    def _next(self, timeout: float) -> Any:
        deadline = monotonic() + timeout
        try:
            while not self._stop.is_set():
                try:
                    return self._answers.get(timeout=max(min(deadline - monotonic(), PATIENCE), 0))
                except queue.Empty:
                    if monotonic() >= deadline:
                        return _SILENCE
            raise StoppedError
        except BaseException:  # Ctrl-C, too
            self.kill()
            raise

    def _describe_crash(self) -> Crashed:
        try:
            code = self._process.wait(10)
        except subprocess.TimeoutExpired:  # it has closed the pipe, and lives on
            self.kill()
            return Crashed("the worker's answers can't be read")
        words = self._last_words()
        self._release()
        return Crashed(_ending(code) + (f" ({words})" if words else ""))

    def _last_words(self) -> str:
        if self._errors.closed:
            return ""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1].strip()[:LAST_WORDS] if lines else ""

    def _release(self) -> None:
        for stream in (self._requests, self._errors):
            with contextlib.suppress(OSError):  # what was not yet sent to a process that is gone
                stream.close()


_SILENCE, _END = object(), object()


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"

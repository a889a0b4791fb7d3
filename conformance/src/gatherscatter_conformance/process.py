"""The parent's side of a worker: start it, send it requests, and report how it ended."""

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

from gatherscatter_conformance.case import Case
from gatherscatter_conformance.observations import Crashed, Hung, Observation, describe_exit, last_words
from gatherscatter_conformance.worker import FILL, read_frame, write_frame

START_SECONDS = 180.0  # an import may take that long on a busy machine
PATIENCE = 0.2  # seconds between checks whether to stop

# ONNX Runtime and OpenVINO send telemetry. ONNX Runtime's thread for it can crash the process
# (github.com/microsoft/onnxruntime/issues/32173), and a case would be blamed.
_ENVIRONMENT = {"ORT_DISABLE_TELEMETRY": "1", "CI": "true"}
# Less noise, and no time spent on backtraces.
_ENVIRONMENT |= {"TF_CPP_MIN_LOG_LEVEL": "3", "RUST_BACKTRACE": "0", "RUST_LIB_BACKTRACE": "0"}


class StartError(RuntimeError):
    """The runtime can't be loaded."""


class StoppedError(RuntimeError):
    """Another thread requested a stop."""


class Worker:
    """A running worker. ``fill`` is the byte that fills unused memory, if the C library supports it (glibc).

    Once ``stop`` is set, waiting for an answer raises a `StoppedError`, and the worker is ended.
    """

    def __init__(self, runtime: str, fill: int, stop: threading.Event | None = None) -> None:
        self._stop = stop or threading.Event()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        self._files = tempfile.TemporaryDirectory(prefix="gatherscatter-", ignore_cleanup_errors=True)
        # glibc fills memory that it hands out with the complement of this.
        variables = {FILL: str(fill), "MALLOC_PERTURB_": str(fill ^ 0xFF)}
        # Files that a runtime leaves there when it is ended are removed with the worker.
        variables |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), self._files.name)
        own_group = {"process_group": 0} if os.name == "posix" else {}  # only the parent gets Ctrl-C
        self._process = subprocess.Popen(
            [sys.executable, "-m", "gatherscatter_conformance.worker", runtime],
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
            words = last_words(self._read_errors())
            self.kill()
            raise StartError(f"runtime {runtime} can't be started: {words or 'no answer'}")

    def ask(self, case: Case, times: int, timeout: float) -> tuple[Observation, ...]:
        """Run a case ``times`` times. After a crash or a hang, the worker has ended."""
        try:
            write_frame(self._requests, (case, times, timeout))
        except OSError:  # the worker has ended
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
        """Whether the worker is running."""
        return self._process.poll() is None

    def close(self) -> str:
        """Let the worker end by itself. Return how it ended if that was a failure, else ''."""
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
        """Kill the worker and the processes that it has started."""
        if os.name == "posix" and self.alive:
            with contextlib.suppress(OSError):  # the worker has just ended
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        self._release()

    def _listen(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        try:
            while True:
                self._answers.put(read_frame(stream))
        except Exception:  # the worker ended, or sent bytes that are not an answer
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
        except BaseException:  # including Ctrl-C
            self.kill()
            raise

    def _describe_crash(self) -> Crashed:
        try:
            code = self._process.wait(10)
        except subprocess.TimeoutExpired:  # the worker closed the pipe but is still running
            self.kill()
            return Crashed("the worker's answers can't be read")
        how = describe_exit(code, self._read_errors())
        self._release()
        return Crashed(how)

    def _read_errors(self) -> bytes:
        if self._errors.closed:
            return b""
        self._errors.seek(0)
        return self._errors.read()

    def _release(self) -> None:
        self._files.cleanup()
        for stream in (self._requests, self._errors):
            with contextlib.suppress(OSError):  # unsent data for a process that has ended
                stream.close()


_SILENCE, _END = object(), object()

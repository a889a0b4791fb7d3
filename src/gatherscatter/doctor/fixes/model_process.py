"""Run a model in a runtime in a separate process, because the model may crash it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Timer
from types import TracebackType

import numpy as np

from gatherscatter.models.tensor_files import read_tensors

TIME_LIMIT = 300.0  # seconds of a process
TURN = 0.02  # seconds for which a short model runs repeatedly
LONGEST = 300  # characters of a message


class RunError(Exception):
    """A runtime gave no result. The text says what happened instead."""


class ModelProcess:
    """A process in which a runtime has loaded a model.

    Parameters
    ----------
    runtime : a key of `in_runtime.LOADERS`
    model, inputs : the files of a model and of its inputs
    results : the file for the results of the first run; the output of the runtime goes into a ``.txt`` next to it
    """

    def __init__(self, runtime: str, model: Path, inputs: Path, results: Path) -> None:
        self._results = results
        self._messages = results.with_suffix(".txt")
        module = "gatherscatter.doctor.fixes.in_runtime"
        with self._messages.open("wb") as messages:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, runtime, str(model), str(inputs), str(results)],
                bufsize=0,  # then nothing remains to be written when the process has ended
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
            )
        self._is_late = False
        self._timer = Timer(TIME_LIMIT, self._end_late)
        self._timer.daemon = True
        self._timer.start()

    def __enter__(self) -> ModelProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._timer.cancel()
        self._process.kill()
        self._process.__exit__(kind, error, traceback)

    def run(self) -> float:
        """Run the model and return the fewest seconds of a run. The first call runs it once, later calls repeatedly.

        Raises
        ------
        RunError
            The runtime refuses the model, the process has died, or it took too long.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(b"\n")
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = b""
        if not answer:
            raise RunError(self._why_ended())
        return float(answer)

    def read_results(self) -> Mapping[str, np.ndarray]:
        """Return the results of the first run."""
        tensors = read_tensors(self._results)
        return {name: array.astype(object) if array.dtype.kind == "U" else array for name, array in tensors.items()}

    def _end_late(self) -> None:
        self._is_late = True
        self._process.kill()

    def _why_ended(self) -> str:
        code = self._process.wait()
        if self._is_late:
            return f"it took longer than {TIME_LIMIT:g} s"
        if code < 0:
            return f"the process died ({signal.strsignal(-code)})"
        said = " ".join(self._messages.read_text(errors="replace").split())[:LONGEST]
        return said or f"the process ended with code {code}"

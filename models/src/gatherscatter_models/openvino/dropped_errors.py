"""Raise the errors of extension operations that OpenVINO drops.

OpenVINO's synchronous call drops every error of a kernel if it runs on one thread (2026.4: a process with one CPU, or
``INFERENCE_NUM_THREADS=1``). It returns the uninitialised memory of the output. All later calls of the compiled model
see the inputs of the failed call. On one thread, the kernel runs in the calling thread. All synchronous calls from
Python use ``openvino.InferRequest.infer``. So within it an operation raises nothing. It notes its error, and ``infer``
raises the error afterwards.
"""

from __future__ import annotations

import os
import threading
import warnings
from functools import wraps
from typing import Any

from gatherscatter_models.openvino.package import openvino


class _CallsInProgress(threading.local):
    """The synchronous calls in progress in a thread, and the error of the innermost one."""

    depth = 0
    error: BaseException | None = None


_calls = _CallsInProgress()


def note_error(error: BaseException) -> bool:
    """Keep an operation's error for the synchronous call in this thread. Return False if no such call is running."""
    if _calls.depth == 0:
        return False
    _calls.error = _calls.error or error
    return True


def _to_raised_error(error: BaseException) -> BaseException:
    """Return the exception for a caller: a RuntimeError, as OpenVINO raises. Ctrl-C is not changed."""
    return RuntimeError(str(error)) if isinstance(error, Exception) else error


def raise_dropped_errors() -> None:
    """Make ``openvino.InferRequest.infer`` raise the errors that OpenVINO drops. A second call has no effect."""
    infer = openvino.InferRequest.infer
    if getattr(infer, "_raises_dropped_errors", False):
        return

    @wraps(infer)
    def raising_infer(*arguments: Any, **options: Any) -> Any:
        outer, _calls.error = _calls.error, None
        _calls.depth += 1
        try:
            results = infer(*arguments, **options)
        except Exception as consequence:
            if _calls.error is not None:
                raise _to_raised_error(_calls.error) from consequence
            raise
        else:
            if _calls.error is not None:
                raise _to_raised_error(_calls.error) from _calls.error
            return results
        finally:
            _calls.depth -= 1
            _calls.error = outer

    raising_infer._raises_dropped_errors = True  # type: ignore[attr-defined]
    openvino.InferRequest.infer = raising_infer


def warn_of_one_cpu() -> None:
    """Warn if OpenVINO has one thread only. Errors then depend on `raise_dropped_errors`."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if cpus == 1:
        warnings.warn(
            "this process has one CPU, where OpenVINO's synchronous call drops errors of extensions; calls from Python "
            "still raise them, but other calls get NaN or zeros and a warning",
            RuntimeWarning,
            stacklevel=3,
        )

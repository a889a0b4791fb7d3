"""Errors of our operations that OpenVINO drops.

OpenVINO's synchronous call drops every error of a kernel where it runs on one thread (2026.4: a process with one CPU,
or ``INFERENCE_NUM_THREADS=1``). It returns what the output's memory holds, and all later calls of the compiled model
see the inputs of the call that failed. The kernel runs in the calling thread then. So in a thread of Python's an
operation raises nothing. It notes its error, and ``openvino.InferRequest.infer``, through which all synchronous calls
from Python go, raises it afterwards.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from functools import wraps
from typing import Any

from .package import openvino


class _Calls(threading.local):
    """The synchronous calls in progress in a thread, and the error of the innermost one."""

    depth = 0
    error: Exception | None = None


_calls = _Calls()


def note_error(error: Exception) -> bool:
    """Take the error of an operation, whose frame calls this function; False if the operation must raise it.

    In a synchronous call from Python the error is raised later. In one that does not go through ``infer`` it can only
    be a warning. In threads of OpenVINO's own, below which there is no Python, OpenVINO passes errors on.
    """
    if _calls.depth:
        _calls.error = _calls.error or error
    elif sys._getframe(1).f_back is not None:
        warnings.warn(f"{error}; the output is filled with NaN or zeros", RuntimeWarning, stacklevel=3)
    else:
        return False
    return True


def raise_dropped_errors() -> None:
    """Have ``openvino.InferRequest.infer`` raise the errors that OpenVINO drops. A second call changes nothing."""
    infer = openvino.InferRequest.infer
    if getattr(infer, "_raises_dropped_errors", False):
        return

    @wraps(infer)
    def raising_infer(*arguments: Any, **options: Any) -> Any:
        outer, _calls.error = _calls.error, None
        _calls.depth += 1
        try:
            results = infer(*arguments, **options)
            error = _calls.error
        finally:
            _calls.depth -= 1
            _calls.error = outer
        if error is not None:
            raise RuntimeError(str(error)) from error
        return results

    raising_infer._raises_dropped_errors = True  # type: ignore[attr-defined]
    openvino.InferRequest.infer = raising_infer


def warn_of_one_cpu() -> None:
    """Say that errors depend on `raise_dropped_errors`, where OpenVINO has one thread only."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if cpus == 1:
        warnings.warn(
            "this process has one CPU, where OpenVINO's synchronous call drops errors of extensions; calls from Python "
            "raise them all the same, and calls by other ways get NaN or zeros and a warning",
            RuntimeWarning,
            stacklevel=3,
        )

"""A time limit for nodes of the reference evaluator."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from gatherscatter_models.interface import ModelError

LONGEST = 1e6  # seconds; some systems can't wait longer

# The time limit, in seconds, for each node of the running model, including its subgraphs; None: no limit.
node_time_limit: ContextVar[float | None] = ContextVar("node_time_limit", default=None)
# Whether a node with a limit is running. The nodes of its subgraphs share its time.
within_limit: ContextVar[bool] = ContextVar("within_limit", default=False)


class NodeTimeoutError(ModelError, TimeoutError):
    """A node took longer than its time limit."""


class _TimeoutInterrupt(BaseException):
    """Raised in a thread whose time is up. No operator catches it, because it is not an Exception."""


def call_within(seconds: float, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a function; `NodeTimeoutError` if it takes longer than ``seconds``.

    Python code stops at its next instruction. A call into C, for example by NumPy, first runs to its end.
    """
    thread, lock = threading.get_ident(), threading.Lock()
    finished = expired = False

    def expire() -> None:
        nonlocal expired
        with lock:
            if not finished:
                expired = True
                _raise_in(thread, _TimeoutInterrupt)

    timer = threading.Timer(min(seconds, LONGEST), expire)
    timer.daemon = True
    outer = within_limit.set(True)
    try:
        try:
            timer.start()
            return function(*arguments, **options)
        finally:
            # The exception may still arrive until here, so the outer block catches it.
            timer.cancel()
            with lock:
                finished = True
                if expired:
                    _raise_in(thread, None)
    except _TimeoutInterrupt:
        raise NodeTimeoutError(timeout_text(seconds)) from None
    finally:
        within_limit.reset(outer)


def timeout_text(seconds: float) -> str:
    """Return the message about a node that was stopped."""
    return f"the node took longer than {seconds:.3g} s; node_time_limit allows more"


def _raise_in(thread: int, kind: type[BaseException] | None) -> None:
    """Make a thread raise an exception, or cancel one that it has not raised yet."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), None if kind is None else ctypes.py_object(kind))

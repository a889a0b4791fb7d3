"""Observations of a runtime that ran a case."""

from __future__ import annotations

import signal
from dataclasses import dataclass

import numpy as np

Outputs = tuple[np.ndarray, ...]

LAST_WORDS = 300  # characters of the last output of a process
_FATAL = ("SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGKILL", "SIGSEGV", "SIGTRAP")
_SHELL = 128  # a shell exits with this plus the number of the signal that ended its command


@dataclass(frozen=True)
class Returned:
    """Outputs. ``damage`` describes other changes of memory: changed inputs, or writes outside of them."""

    outputs: Outputs
    damage: str = ""


@dataclass(frozen=True)
class Refused:
    """An exception."""

    kind: str
    message: str


@dataclass(frozen=True)
class Skipped:
    """The runtime cannot express the call."""

    reason: str


@dataclass(frozen=True)
class Crashed:
    """The process ended. ``how`` is the signal's name or the exit code, with the last output of the process."""

    how: str


@dataclass(frozen=True)
class Hung:
    """No answer within the time limit."""

    seconds: float


Observation = Returned | Refused | Skipped | Crashed | Hung


@dataclass(frozen=True)
class Runs:
    """The observations of one worker, with the byte that fills its unused memory."""

    fill: int
    seen: tuple[Observation, ...]


def raw(outputs: Outputs) -> tuple[object, ...]:
    """Return a key that is equal for outputs that are bit-for-bit identical."""
    return tuple(
        (str(output.dtype), output.shape, repr(output.tolist()) if output.dtype.kind == "O" else output.tobytes())
        for output in outputs
    )


def last_words(output: bytes) -> str:
    """Return the last line of the output of a process, or ''."""
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1].strip()[:LAST_WORDS] if lines else ""


def describe_exit(code: int, output: bytes) -> str:
    """Describe how a process ended: its signal or exit code, and its last output."""
    words = last_words(output)
    number = code - _SHELL if is_signal_from_shell(code) else -code
    ending = f"exit code {code}" if number < 0 else _name_signal(number)
    return f"{ending} ({words})" if words else ending


def is_signal_from_shell(code: int) -> bool:
    """Whether an exit code is that of a shell after a fatal signal ended its command."""
    return _name_signal(code - _SHELL) in _FATAL


def _name_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

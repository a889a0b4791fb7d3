"""What was seen when a runtime ran a case."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Outputs = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Returned:
    """Outputs. ``damage`` says what else happened to memory: inputs changed, or written beside."""

    outputs: Outputs
    damage: str = ""


@dataclass(frozen=True)
class Refused:
    """An exception."""

    kind: str
    message: str


@dataclass(frozen=True)
class Skipped:
    """The runtime has no way to say the call."""

    reason: str


@dataclass(frozen=True)
class Crashed:
    """The process ended. ``how`` is the signal's name or the exit code, and what the process said last."""

    how: str


@dataclass(frozen=True)
class Hung:
    """No answer within the time limit."""

    seconds: float


Observation = Returned | Refused | Skipped | Crashed | Hung


@dataclass(frozen=True)
class Runs:
    """What one worker saw, whose unused memory is filled with one byte."""

    fill: int
    seen: tuple[Observation, ...]


def raw(outputs: Outputs) -> tuple[object, ...]:
    """Equal for equal outputs, bit by bit."""
    return tuple(
        (str(output.dtype), output.shape, repr(output.tolist()) if output.dtype.kind == "O" else output.tobytes())
        for output in outputs
    )

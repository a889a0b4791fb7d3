"""A process that runs cases in one runtime: ``python -m gatherscatter.conformance.worker NAME``.

Requests come in through standard input and answers go out where standard output was, both as frames; whatever the
runtime prints goes to standard error. Memory that is not the call's is filled with the byte of the environment's
``GATHERSCATTER_FILL``, so that a result which holds it shows.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import warnings
from time import perf_counter
from typing import Any, BinaryIO

import numpy as np

try:
    import resource
except ImportError:  # on Windows
    resource = None  # type: ignore[assignment]

from gatherscatter.conformance.case import Case
from gatherscatter.conformance.observations import Observation, Refused, Returned, Skipped
from gatherscatter.conformance.runtimes import find
from gatherscatter.conformance.runtimes.runtime import NotAskedError, Runtime

FILL = "GATHERSCATTER_FILL"
GRACE = 5.0  # seconds after the time limit in which the parent should have ended a worker
MEMORY = 4 << 30  # bytes of a worker, where the system can limit them
FENCE = 1 << 12  # bytes before and after each input
LONGEST_MESSAGE = 600
LONGEST = 2.0  # seconds for the repetitions of a case


def write_frame(stream: BinaryIO, message: Any) -> None:
    """Send a message: its length in 8 bytes, and the message."""
    payload = pickle.dumps(message)
    stream.write(len(payload).to_bytes(8, "little") + payload)
    stream.flush()


def read_frame(stream: BinaryIO) -> Any:
    """The next message; EOFError if there is none."""
    header = stream.read(8)
    size = int.from_bytes(header, "little")
    payload = stream.read(size)
    if len(header) < 8 or len(payload) < size:
        raise EOFError
    return pickle.loads(payload)


def main(name: str) -> None:
    """Answer requests ``(case, times, timeout)`` until there are no more; the first answer says that all is loaded."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _limit_memory()
    warnings.simplefilter("ignore")
    fill = int(os.environ.get(FILL, "165"))
    runtime = find(name)
    runtime.prepare()
    write_frame(answers, "ready")
    while True:
        try:
            case, times, timeout = read_frame(requests)
        except EOFError:
            return
        _end_within(timeout + GRACE)
        write_frame(answers, observe(runtime, case, times, fill))
        _end_within(0)


def _limit_memory() -> None:
    """A call that takes memory without end must not take all of the machine's."""
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


def _end_within(seconds: float) -> None:
    """Have the system end this process, which may hang in C code when its parent is gone; 0: not any more."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def observe(runtime: Runtime, case: Case, times: int, fill: int) -> list[Observation]:
    """What the runtime does with a case, so many times if that is quick; an error is not asked for again."""
    seen = [_observe_once(runtime, case, fill)]
    enough = perf_counter() + LONGEST
    while isinstance(seen[-1], Returned) and len(seen) < times and perf_counter() < enough:
        seen.append(_observe_once(runtime, case, fill))
    return seen


def _observe_once(runtime: Runtime, case: Case, fill: int) -> Observation:
    fences = [None if array is None else Fence(array, fill) for array in case.inputs]
    _fill_unused(case, fill)
    try:
        outputs = runtime.run(case, tuple(None if fence is None else fence.array for fence in fences))
    except NotAskedError as reason:
        return Skipped(str(reason))
    except Exception as error:
        return Refused(type(error).__name__, _shorten_message(error))
    outputs = tuple(np.array(output) for output in outputs)
    names = [fence.damage() for fence in fences if fence is not None]
    return Returned(outputs, "; ".join(name for name in names if name))


def _shorten_message(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]}..."


def _fill_unused(case: Case, fill: int) -> None:
    """Take and give back memory of the sizes that the call may ask for."""
    arrays = [array for array in (*case.inputs, *(case.expected or ())) if array is not None]
    sizes = sorted({array.nbytes for array in arrays} | {64})
    taken = [np.full(size, fill, np.uint8) for size in sizes for _ in range(4)]
    del taken


class Fence:
    """An array amid filled memory, to tell later whether anything there was changed."""

    def __init__(self, array: np.ndarray, fill: int) -> None:
        self._fill = fill
        if array.dtype.kind == "O":
            self._buffer = None
            self.array = array.copy()
            self._original = repr(array.tolist()).encode()
            return
        self._buffer = np.full(array.nbytes + 2 * FENCE, fill, np.uint8)
        self.array = np.ndarray(array.shape, array.dtype, self._buffer.data, FENCE)
        self.array[...] = array
        self._original = array.tobytes()

    def damage(self) -> str:
        """What was changed, or ''."""
        if self._buffer is None:
            return "an input was changed" if repr(self.array.tolist()).encode() != self._original else ""
        end = FENCE + len(self._original)
        if (self._buffer[:FENCE] != self._fill).any() or (self._buffer[end:] != self._fill).any():
            return "memory beside an input was written to"
        return "an input was changed" if self._buffer[FENCE:end].tobytes() != self._original else ""


if __name__ == "__main__":
    main(sys.argv[1])

"""A process that runs cases in one runtime: ``python -m gatherscatter_conformance.worker NAME``.

It reads requests from standard input and writes answers to the original standard output, both as frames. The output of
the runtime is redirected to standard error. Memory outside the arrays of a call is filled with the byte in the
environment variable ``GATHERSCATTER_FILL``, so a result that contains such memory can be recognised.
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

from gatherscatter_conformance.case import Case
from gatherscatter_conformance.observations import Crashed, Observation, Refused, Returned, Skipped
from gatherscatter_conformance.runtimes import find
from gatherscatter_conformance.runtimes.runtime import CrashedError, NotAskedError, Runtime

FILL = "GATHERSCATTER_FILL"
GRACE = 5.0  # seconds after the time limit; by then, the parent should have ended the worker
MEMORY = 4 << 30  # bytes of a worker, if the system can limit them
FENCE = 1 << 12  # bytes before and after each input
LONGEST_MESSAGE = 600
LONGEST = 2.0  # seconds for the repetitions of a case


def write_frame(stream: BinaryIO, message: Any) -> None:
    """Send a message: its length in 8 bytes, and the message."""
    payload = pickle.dumps(message)
    stream.write(len(payload).to_bytes(8, "little") + payload)
    stream.flush()


def read_frame(stream: BinaryIO) -> Any:
    """Return the next message; EOFError if there is none."""
    header = stream.read(8)
    size = int.from_bytes(header, "little")
    payload = stream.read(size)
    if len(header) < 8 or len(payload) < size:
        raise EOFError
    return pickle.loads(payload)


def main(name: str) -> None:
    """Answer requests ``(case, times, timeout)`` until there are no more. The first answer says that all is loaded."""
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
            break
        _end_within(timeout + GRACE)
        write_frame(answers, observe(runtime, case, times, fill))
        _end_within(0)
    try:
        runtime.close()
    except CrashedError as crash:
        sys.exit(str(crash))


def _limit_memory() -> None:
    """Limit the memory of this process, so that a runaway call does not take all memory of the machine."""
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


def _end_within(seconds: float) -> None:
    """Make the system end this process after a time, because it may hang in C code without its parent. 0 cancels it."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def observe(runtime: Runtime, case: Case, times: int, fill: int) -> list[Observation]:
    """Run a case ``times`` times, or fewer if it is slow. After an error, it is not repeated."""
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
    except CrashedError as crash:
        return Crashed(str(crash))
    except Exception as error:
        return Refused(type(error).__name__, _shorten_message(error))
    outputs = tuple(np.array(output) for output in outputs)
    names = [fence.damage() for fence in fences if fence is not None]
    return Returned(outputs, "; ".join(name for name in names if name))


def _shorten_message(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]}..."


def _fill_unused(case: Case, fill: int) -> None:
    """Allocate and free memory of the sizes that the call may request, so that it contains the filling."""
    arrays = [array for array in (*case.inputs, *(case.expected or ())) if array is not None]
    sizes = sorted({array.nbytes for array in arrays} | {64})
    taken = [np.full(size, fill, np.uint8) for size in sizes for _ in range(4)]
    del taken


class Fence:
    """An array surrounded by filled memory, to detect changes."""

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
        """The memory that was changed, in words, or ''."""
        if self._buffer is None:
            return "an input was changed" if repr(self.array.tolist()).encode() != self._original else ""
        end = FENCE + len(self._original)
        if (self._buffer[:FENCE] != self._fill).any() or (self._buffer[end:] != self._fill).any():
            return "memory next to an input was written to"
        return "an input was changed" if self._buffer[FENCE:end].tobytes() != self._original else ""


if __name__ == "__main__":
    main(sys.argv[1])

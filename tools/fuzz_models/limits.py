"""Limits of time and memory for one file, and their measurement."""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path

SECONDS, MEMORY = 2.0, 200 << 20  # for one file, as docs/guarantees.md promises
HANG = 10  # seconds after which a process is killed
ADDRESSES = 2 << 30  # bytes that a process may reserve in addition to those at its start


class Meter:
    """Measures the processor time of this process, and the growth of its memory."""

    def __enter__(self) -> Meter:
        reset_peak()
        self.before, self.start = read_status("VmRSS"), time.process_time()
        return self

    def __exit__(self, *error: object) -> None:
        self.seconds = time.process_time() - self.start
        self.memory = read_status("VmHWM") - self.before


def reset_peak() -> None:
    """Reset the peak of the memory. If the system cannot, the peak includes all earlier cases."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def read_status(name: str) -> int:
    """Return a size in bytes from /proc/self/status, or 0 if the file does not exist."""
    try:
        text = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return int(text.partition(f"{name}:")[2].split()[0]) << 10


def limit_addresses() -> None:
    """Make the system refuse memory far beyond the limit, used or only reserved."""
    if sys.platform == "linux":
        import resource

        most = read_status("VmSize") + ADDRESSES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def check_limits(meter: Meter, stage: str) -> list[str]:
    faults = [f"{meter.seconds:.1f} s in {stage}"] if meter.seconds > SECONDS else []
    return faults + ([f"{meter.memory >> 20} MB in {stage}"] if meter.memory > MEMORY else [])

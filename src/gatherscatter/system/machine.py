"""Facts about the machine of a measurement."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

from gatherscatter import _core

# (family, first model, last model): AMD's cores; the names of processors in the cloud do not show them
_AMD_CORES = {
    "Zen 2": ((23, 0x30, 0xFF),),
    "Zen 3": ((25, 0x00, 0x0F), (25, 0x20, 0x5F)),
    "Zen 4": ((25, 0x10, 0x1F), (25, 0x60, 0xAF)),
    "Zen 5": ((26, 0x00, 0x4F), (26, 0x60, 0x7F)),
}


def facts(versions: Mapping[str, str], threads: int) -> dict[str, Any]:
    """Return processor, cores, caches, memory, system, versions and date as plain JSON values."""
    return {
        "cpu": cpu(),
        "cores": os.cpu_count(),
        "caches": _caches(),
        "memory_gib": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "threads": threads,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "core": hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()[:12],
        "versions": dict(versions),
    }


class OthersClock:
    """Measures how much of the processor other processes use. It works on Linux only."""

    def __init__(self) -> None:
        self._start, self._used = perf_counter(), _used_by_others()

    def cores(self) -> float | None:
        """Return the average number of cores that others have used since the start, or None if it is unknown."""
        now = _used_by_others()
        if now is None or self._used is None:
            return None
        return round(max(now - self._used, 0.0) / max(perf_counter() - self._start, 1e-9), 2)


def _used_by_others() -> float | None:
    """Return the seconds of processor time since the machine's start, without this process."""
    numbers = [int(word) for word in _read("/proc/stat").partition("\n")[0].split()[1:9]]
    if not numbers:
        return None
    mine = os.times()
    busy = sum(numbers) - numbers[3] - numbers[4]  # without idle and waiting for disks
    return busy / os.sysconf("SC_CLK_TCK") - mine.user - mine.system


def cpu() -> str:
    """Return the name of the processor, with its kind of core if the name does not show it."""
    lines = _read("/proc/cpuinfo").splitlines()
    known = {line.partition(":")[0].strip(): line.partition(":")[2].strip() for line in reversed(lines) if ":" in line}
    if "model name" not in known:
        return _apple_name() or platform.processor() or platform.machine()
    family, model = int(known.get("cpu family") or 0), int(known.get("model") or 0)
    if known.get("vendor_id") == "AuthenticAMD":
        for core, ranges in _AMD_CORES.items():
            if any(family == one and first <= model <= last for one, first, last in ranges):
                return f"{known['model name']} ({core})"
    return f"{known['model name']} (family {family}, model {model})"


def _apple_name() -> str:
    if platform.system() != "Darwin":
        return ""
    command = ["sysctl", "-n", "machdep.cpu.brand_string"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _caches() -> dict[str, str]:
    found = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind = _read(folder / "level"), _read(folder / "type")
        if kind != "Instruction":
            found[f"L{level}"] = _read(folder / "size")
    return found


def _memory() -> float | None:
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith("MemTotal"):
            return round(int(line.split()[1]) / 2**20, 1)
    return None


def _read(path: str | Path) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""

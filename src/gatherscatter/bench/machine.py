"""What the numbers were measured on."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

from gatherscatter.bench.contenders.contender import Contender


def facts(contenders: Sequence[Contender], threads: int) -> dict[str, Any]:
    """Processor, cores, caches, memory, system, versions, load and date as plain JSON values."""
    return {
        "cpu": cpu(),
        "cores": os.cpu_count(),
        "caches": _caches(),
        "memory_gib": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "threads": threads,
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "versions": {contender.name: contender.version() for contender in contenders},
    }


class OthersClock:
    """How much of the processor other processes use, on Linux; elsewhere unknown."""

    def __init__(self) -> None:
        self._start, self._used = perf_counter(), _used_by_others()

    def cores(self) -> float | None:
        """Cores in use by others, on average since the start."""
        now = _used_by_others()
        if now is None or self._used is None:
            return None
        return round(max(now - self._used, 0.0) / max(perf_counter() - self._start, 1e-9), 2)


def _used_by_others() -> float | None:
    """Seconds of processor time since the machine's start, without this process."""
    numbers = [int(word) for word in _read("/proc/stat").partition("\n")[0].split()[1:9]]
    if not numbers:
        return None
    mine = os.times()
    busy = sum(numbers) - numbers[3] - numbers[4]  # without idle and waiting for disks
    return busy / os.sysconf("SC_CLK_TCK") - mine.user - mine.system


def cpu() -> str:
    """The processor's model and, where known, family."""
    lines = _read("/proc/cpuinfo").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    family = [line.partition(":")[2].strip() for line in lines if line.startswith("cpu family")]
    if not names:
        return platform.processor() or platform.machine()
    return f"{names[0]} (family {family[0]})" if family else names[0]


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

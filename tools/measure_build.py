"""Builds the core and the shared library once, and checks what that costs.

    python tools/measure_build.py            # in build/measured

Prints the processor seconds of each file, the sum, the time that passes, and the sizes of the module and the library.
Fails if one of them exceeds its limit. Needs CMake and NumPy.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIMIT_OF_ALL, LIMIT_OF_A_FILE = 300, 45  # processor seconds
LIMIT_OF_TIME = 150  # seconds, with two processors
LIMITS_OF_SIZE = {"_core.*.so": 4.8, "lib/libgatherscatter.so": 3.8}  # megabytes, without symbols


def run_compiler(log: str, command: list[str]) -> int:
    """Run a command for CMake, and add its processor seconds to a file."""
    status = subprocess.call(command)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    name = Path(command[command.index("-c") + 1]).name if "-c" in command else "link"
    with Path(log).open("a", encoding="utf-8") as file:
        file.write(f"{used.ru_utime + used.ru_stime:.2f} {name}\n")
    return status


def build(folder: Path, log: Path) -> float:
    """Build and install into a folder. Return the seconds that passed."""
    launcher = f"{sys.executable};{Path(__file__).resolve()};{log}"
    begin = time.monotonic()
    for command in (
        ["cmake", "-S", str(ROOT), "-B", str(folder / "build"), "-DCMAKE_BUILD_TYPE=Release",
         f"-DPython_EXECUTABLE={sys.executable}", f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"],
        ["cmake", "--build", str(folder / "build"), "--parallel", str(os.cpu_count())],
    ):  # fmt: skip
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - begin
    install = ["cmake", "--install", str(folder / "build"), "--prefix", str(folder / "installed"), "--strip"]
    subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    return seconds


def main() -> int:
    folder = ROOT / "build" / "measured"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    log = folder / "seconds.txt"
    elapsed = build(folder, log)
    files = [(float(seconds), name) for seconds, name in map(str.split, log.read_text(encoding="utf-8").splitlines())]
    for seconds, name in sorted(files, reverse=True):
        print(f"{seconds:6.1f} s  {name}")
    rows = [
        ("processor seconds", sum(seconds for seconds, _ in files), LIMIT_OF_ALL),
        ("the slowest file, in processor seconds", max(files)[0], LIMIT_OF_A_FILE),
        (f"seconds on {os.cpu_count()} processors", elapsed, LIMIT_OF_TIME),
    ]
    for pattern, limit in LIMITS_OF_SIZE.items():
        [path] = (folder / "installed" / "gatherscatter").glob(pattern)
        rows.append((f"megabytes of {path.name}", path.stat().st_size / 1e6, limit))
    for name, value, limit in rows:
        print(f"{value:6.1f} of {limit}  {name}{'' if value <= limit else '  TOO MUCH'}")
    return any(value > limit for _, value, limit in rows)


if __name__ == "__main__":
    sys.exit(run_compiler(sys.argv[1], sys.argv[2:]) if len(sys.argv) > 2 else main())

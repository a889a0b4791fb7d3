"""Builds a wheel for Linux with this Python, checks it, and runs the README's example with it.

Zig compiles it for an old C library, so that the wheel runs on all systems that NumPy's wheels run on. auditwheel
checks this, and renames the wheel. The example then runs in a new environment. Install the dependency group `wheels`
first. A Python under an emulator builds for the processor that is emulated; `.ci/ports wheels` does this for ARM.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from scikit_build_core.build import build_wheel

ROOT = Path(__file__).parent.parent
GLIBC = "2.28"  # of 2018; NumPy's wheels need it, too
MACHINE = platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("dist"), help="folder of the wheel (default: dist)")
    parser.add_argument("--zig", default=f"{sys.executable} -m ziglang", help="command of Zig")
    parser.add_argument("--define", action="append", default=[], metavar="NAME=VALUE", help="variable of CMake")
    options = parser.parse_args()
    output = options.output.resolve()
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        built = build(Path(folder), options.zig, options.define)
        wheel = repair(built, output)
        run_example(wheel, Path(folder) / "environment")
    print(wheel)


def build(folder: Path, zig: str, defined: list[str]) -> Path:
    """Return a wheel whose compiled parts need no newer C library than GLIBC."""
    tools = {"CXX_COMPILER": f"c++ -target {MACHINE}-linux-gnu.{GLIBC}", "AR": "ar", "RANLIB": "ranlib"}
    lines = [
        "set(CMAKE_SYSTEM_NAME Linux)",
        f"set(CMAKE_SYSTEM_PROCESSOR {MACHINE})",
        "set(CMAKE_CXX_SCAN_FOR_MODULES OFF)",  # needs a program that Zig does not have
        "set(CMAKE_CROSSCOMPILING_EMULATOR env)",  # the system runs this Python, even if it is for another processor
    ]
    for name, arguments in tools.items():
        script = folder / name.lower()
        script.write_text(f'#!/bin/sh\nexec {zig} {arguments} "$@"\n')
        script.chmod(0o755)
        lines.append(f"set(CMAKE_{name} {script})")
    toolchain = folder / "toolchain.cmake"
    toolchain.write_text("\n".join([*lines, ""]))
    os.environ["CMAKE_TOOLCHAIN_FILE"] = str(toolchain)
    settings = {"build-dir": str(folder / "build")}
    settings |= {f"cmake.define.{name}": value for name, value in (text.split("=", 1) for text in defined)}
    return folder / build_wheel(str(folder), settings)


def repair(wheel: Path, output: Path) -> Path:
    """Return the wheel under the name that says where it runs. auditwheel refuses it if it needs more."""
    before = set(output.glob("*.whl"))
    target = f"manylinux_{GLIBC.replace('.', '_')}_{MACHINE}"
    run(sys.executable, "-m", "auditwheel", "repair", "--plat", target, "--only-plat", "--wheel-dir", output, wheel)
    [repaired] = set(output.glob("*.whl")) - before or {output / wheel.name.replace(f"linux_{MACHINE}", target)}
    return repaired


def run_example(wheel: Path, environment: Path) -> None:
    """Install the wheel in a new environment, and run the example that the README begins with."""
    line = re.search(
        r"^python3 -m venv .*&& \S+/(gatherscatter run .*)$", (ROOT / "README.md").read_text(), re.MULTILINE
    )
    assert line, "the README has the example"
    run(sys.executable, "-m", "pip", "install", "--quiet", "--target", environment, f"{wheel}[onnx]")
    program, *arguments = shlex.split(line[1])
    search_path = os.pathsep.join(filter(None, [str(environment), os.environ.get("PYTHONPATH")]))
    run(environment / "bin" / program, *arguments, PYTHONPATH=search_path)


def run(*command: str | Path, **environment: str) -> None:
    print("+", shlex.join(map(str, command)), flush=True)
    subprocess.run(list(map(str, command)), check=True, env=os.environ | environment)


if __name__ == "__main__":
    main()

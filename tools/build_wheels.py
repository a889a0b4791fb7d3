"""Builds a wheel for Linux with this Python, checks it, and runs the README's example with it.

GCC compiles the wheel, and links it to the symbols of an old C library, so that it runs wherever NumPy's wheels run.
Zig, which has the symbols of all versions, makes these libraries. auditwheel checks the wheel and renames it. The
example then runs in a new folder of packages. Install the dependency group `wheels` first. The headers of this machine
must not be newer than glibc 2.37. CXX names another compiler. A Python under an emulator builds for the processor that
is emulated; `.ci/ports wheels` does this for ARM.
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
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # programs of packages
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        built = build(Path(folder), options.zig, options.define)
        wheel = repair(built, output)
        run_example(wheel, Path(folder) / "environment")
    print(wheel)


def build(folder: Path, zig: str, defined: list[str]) -> Path:
    """Return a wheel whose compiled parts need no newer C library than GLIBC."""
    compiler, missing = os.environ.get("CXX", "g++"), folder / "newer_glibc.o"
    run(compiler, "-x", "c", "-O2", "-fPIC", "-fno-builtin", "-c", ROOT / "tools" / "newer_glibc.c", "-o", missing)
    flags = f"{missing} -L{make_libraries(folder, zig)} -static-libstdc++"
    toolchain = folder / "toolchain.cmake"
    lines = [
        "set(CMAKE_SYSTEM_NAME Linux)",
        f"set(CMAKE_SYSTEM_PROCESSOR {MACHINE})",
        f"set(CMAKE_CXX_COMPILER {compiler})",
        "set(CMAKE_CROSSCOMPILING_EMULATOR env)",  # the system runs this Python, even if it is for another processor
        *(f'set(CMAKE_{kind}_LINKER_FLAGS_INIT "{flags}")' for kind in ("EXE", "MODULE", "SHARED")),
    ]
    toolchain.write_text("\n".join([*lines, ""]))
    os.environ["CMAKE_TOOLCHAIN_FILE"] = str(toolchain)
    settings = {"build-dir": str(folder / "build")}
    settings |= {f"cmake.define.{name}": value for name, value in (text.split("=", 1) for text in defined)}
    wheel = folder / build_wheel(str(folder), settings)
    for library in (folder / "build").rglob("*.so"):
        check_symbols(library)
    return wheel


def make_libraries(folder: Path, zig: str) -> Path:
    """Return a folder of libraries that have the symbols of GLIBC, and no code. Only the linker reads them."""
    source, libraries = folder / "empty.cpp", folder / "libraries"
    source.write_text("int main() { return 0; }\n")
    command = [
        *shlex.split(zig),
        "c++",
        "-target",
        f"{MACHINE}-linux-gnu.{GLIBC}",
        "-v",
        source,
        "-o",
        folder / "empty",
    ]
    shown = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stderr
    paths = {Path(path).name: Path(path) for path in re.findall(r"\S+/lib\w+\.(?:so\.\d+|a)(?=\s)", shown)}
    libraries.mkdir()
    for name in ("m", "pthread", "dl", "rt"):
        [path] = [path for file, path in paths.items() if file.startswith(f"lib{name}.so.")]
        (libraries / f"lib{name}.so").symlink_to(path)
    parts = f"{paths['libc.so.6']} {paths['libc_nonshared.a']} AS_NEEDED ( {paths['libld.so.2']} )"
    (libraries / "libc.so").write_text(f"GROUP ( {parts} )\n")  # a linker script, as systems have it in this file
    return libraries


def check_symbols(library: Path) -> None:
    """Check that a library needs no symbols but those of GLIBC, which have versions, and those of Python."""
    lines = subprocess.run(["nm", "-D", "--undefined-only", library], check=True, capture_output=True, text=True).stdout
    needed = [name for kind, name in (line.split()[-2:] for line in lines.splitlines()) if kind == "U"]
    unknown = [name for name in needed if "@" not in name and not name.lstrip("_").startswith("Py")]
    if unknown:
        raise SystemExit(f"{library.name} needs {', '.join(unknown)}, which glibc {GLIBC} does not have")


def repair(wheel: Path, output: Path) -> Path:
    """Return the wheel under the name that says where it runs. auditwheel refuses it if it needs more."""
    before = set(output.glob("*.whl"))
    target = f"manylinux_{GLIBC.replace('.', '_')}_{MACHINE}"
    run(sys.executable, "-m", "auditwheel", "repair", "--plat", target, "--only-plat", "--wheel-dir", output, wheel)
    [repaired] = set(output.glob("*.whl")) - before or {output / wheel.name.replace(f"linux_{MACHINE}", target)}
    return repaired


def run_example(wheel: Path, environment: Path) -> None:
    """Install the wheel and all that it needs in a new folder, and run the example that the README begins with."""
    line = re.search(r"^python3 -m venv .*/(gatherscatter run .*)$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert line, "the README has the example"
    run(sys.executable, "-m", "pip", "install", "--quiet", "--target", environment, f"{wheel}[onnx]")
    found = f"import gatherscatter; assert gatherscatter.__file__.startswith({str(environment)!r})"
    run(sys.executable, "-c", found, PYTHONPATH=str(environment))
    program, *arguments = shlex.split(line[1])
    run(environment / "bin" / program, *arguments, PYTHONPATH=str(environment))


def run(*command: str | Path, **environment: str) -> None:
    print("+", shlex.join(map(str, command)), flush=True)
    subprocess.run(list(map(str, command)), check=True, env=os.environ | environment)


if __name__ == "__main__":
    main()

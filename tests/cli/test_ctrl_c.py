"""Ctrl-C ends every command without a traceback: while Python imports modules, while the command runs, and at its end.

All tests run real processes, because Python itself prints these tracebacks.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_added_commands import install
from tests.support.command_line import INPUTS, MODEL

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for other processes")

SCRIPT = str(Path(sys.executable).with_name("gatherscatter"))
ENTRIES = {"script": [SCRIPT], "module": [sys.executable, "-m", "gatherscatter"]}
INTERRUPTED = (130, "gatherscatter: interrupted\n")
KILLED = (-signal.SIGINT, "")  # shells report 130
AT_END = (-signal.SIGINT, INTERRUPTED[1])  # it came again while the process ended

PRESS = "import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(5)"
COMMANDS = """
import _imp
import atexit
import click
import os
import signal
import time

def press():
    os.kill(os.getpid(), signal.SIGINT)

@click.command("destructor")
def destructor():
    class Pressing:
        def __del__(self):
            press()
            time.sleep(0)
    Pressing()
    time.sleep(5)

@click.command("at-end")
def at_end():
    atexit.register(lambda: (press(), time.sleep(5)))
    print("done", flush=True)

@click.command("extension")
def extension():
    create = _imp.create_dynamic
    def press_and_create(*arguments):
        press()
        for _ in range(1000):
            pass
        module = create(*arguments)
        print("created", flush=True)
        return module
    _imp.create_dynamic = press_and_create
    import _testcapi
    time.sleep(5)

@click.command("converted")
def converted():
    try:
        press()
        time.sleep(5)
    except KeyboardInterrupt:
        raise ArithmeticError("as some C++ code does") from None

@click.command("results")
def results():
    try:
        press()
        time.sleep(5)
    finally:
        raise OSError("the results can't be written")
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a package of commands during which Ctrl-C is pressed."""
    folder = tmp_path_factory.mktemp("packages")
    names = ("destructor", "at_end", "extension", "converted", "results")
    lines = "\n".join(f"{name.replace('_', '-')} = pressing:{name}" for name in names)
    install(folder, "pressing", "pressing", COMMANDS, lines)
    return folder


def start(entry: str, *words: str, path: Path | None = None) -> subprocess.Popen[str]:
    paths = [*([str(path)] if path else []), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [*ENTRIES[entry], *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        start_new_session=True,
    )


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize(("module", "end"), [("click", KILLED), ("onnx", INTERRUPTED)])
def test_ctrl_c_during_an_import(entry: str, module: str, end: tuple[int, str], tmp_path: Path) -> None:
    """The command line imports click, and a command imports onnx."""
    (tmp_path / f"{module}.py").write_text(PRESS)
    child = start(entry, "run", MODEL, INPUTS, path=tmp_path)
    errors = child.communicate()[1]
    assert (child.returncode, errors) == end


def test_other_programs_keep_their_handler() -> None:
    code = "import gatherscatter, signal; assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize(
    ("command", "printed", "end"),
    [
        ("destructor", "", INTERRUPTED),
        ("at-end", "done\n", KILLED),
        ("extension", "created\n", INTERRUPTED),
        ("converted", "", INTERRUPTED),
        ("results", "", (2, "gatherscatter: error: the results can't be written\n")),
    ],
)
def test_ctrl_c_where_python_drops_or_replaces_it(
    entry: str, command: str, printed: str, end: tuple[int, str], packages: Path
) -> None:
    child = start(entry, command, path=packages)
    output, errors = child.communicate()
    assert (output, child.returncode, errors) == (printed, *end)


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("words", [["--help"], ["run", MODEL, INPUTS], ["conform", "--list-runtimes"]], ids=" ".join)
def test_ctrl_c_at_any_moment(entry: str, words: list[str]) -> None:
    for number in range(12):
        child = start(entry, *words)
        wait_for_start(child)
        time.sleep(0.007 * 1.6**number)  # 0.007 to 1.2 seconds
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGINT)  # as a terminal does
        errors = child.communicate()[1]
        assert (child.returncode, errors) in (KILLED, INTERRUPTED, AT_END, (0, "")), number


def wait_for_start(child: subprocess.Popen[str]) -> None:
    """Wait until code of the package runs. Until then, Python prints its own tracebacks."""
    was_caught = False
    for is_caught in iterate_sigint(child):
        if was_caught and not is_caught:  # Python has set its handler, and the package has removed it
            return
        was_caught = is_caught
        time.sleep(0.0005)


def iterate_sigint(child: subprocess.Popen[str]) -> Iterator[bool]:
    """Yield whether the process has a handler for SIGINT, until the process ends."""
    while child.poll() is None:
        try:
            status = Path(f"/proc/{child.pid}/status").read_text()
        except OSError:
            return
        mask = int(status.partition("SigCgt:")[2].split()[0], 16)
        yield bool(mask >> (signal.SIGINT - 1) & 1)

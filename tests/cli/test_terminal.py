"""Terminal output: whole words at any width, signs and colours, Ctrl-C and completion."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import pytest

import gatherscatter as gs
from benchmarks.command import command as benchmarks
from gatherscatter.cli import main
from gatherscatter.cli.choices import LEVELS, Choice
from gatherscatter_conformance.report_page import LOOKS
from gatherscatter_models.findings.verdicts import DEPARTURES
from tests.support.command_line import BENCHMARKS, INPUTS, MODEL, call, fail, succeed

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
WIDTHS = (40, 60, 80, 100, 120)


class Screen(io.TextIOWrapper):
    """A terminal that records the text sent to it."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding=encoding, write_through=True)

    def isatty(self) -> bool:
        return True

    @property
    def text(self) -> str:
        return self.buffer.getvalue().decode(self.encoding)  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr("gatherscatter.system.progress.DELAY", 1000)  # no bars


def show(
    monkeypatch: pytest.MonkeyPatch, *args: str | Path, width: int = 100, encoding: str = "utf-8"
) -> tuple[str, str, int]:
    """Return the output, errors and exit code of a command in a terminal of this width."""
    out, err = Screen(encoding), Screen(encoding)
    with monkeypatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        line = [str(arg) for arg in args]
        program, line = (benchmarks, line[1:]) if line[0] == BENCHMARKS else (main, line)
        with pytest.raises(SystemExit) as end:
            program(line, prog_name=str(program.name))
    assert isinstance(end.value.code, int)
    return out.text, err.text, end.value.code


def words(text: str) -> set[str]:
    """Return the words of a text, without rules of tables and colons of blocks."""
    return {word.rstrip(":") for word in ESCAPES.sub("", text).split() if set(word) != {"\u2500"}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with files that commands show."""
    made = tmp_path_factory.mktemp("files")
    np.save(made / "indices.npy", np.array([[3], [1], [12], [3]]))
    runtimes = ("--runtime", "numpy", "--runtime", "gatherscatter")
    cases = ("--op", "onnx.GatherElements", "--kind", "box", "--type", "float32")
    succeed("conform", *runtimes, *cases, "--json", made / "report.json")
    workloads = ("--quick", "--only", "tiny/take", "--peers", "numpy", "--repeat", "8")
    assert call("benchmarks", *workloads, "--json", made / "bench.json").exit_code == 0
    return made


COMMANDS = {
    "ops": ["ops"],
    "ops NAME": ["ops", "onnx.ScatterND"],
    "run": ["run", MODEL, INPUTS],
    "doctor": ["doctor", MODEL, INPUTS, "--target", "tensorrt", "--target", "onnxruntime", "--target", "openvino"],
    "doctor --list-targets": ["doctor", "--list-targets"],
    "inspect": ["inspect", "FOLDER/indices.npy", "--shape", "8"],
    "conform": ["conform", "--from", "FOLDER/report.json", "--against", "FOLDER/report.json"],
    "conform --list-runtimes": ["conform", "--list-runtimes"],
    "corpus list": ["corpus", "list", "--op", "onnx.GatherND-13"],
    "corpus list --count": ["corpus", "list", "--count"],
    "benchmarks": ["benchmarks", "--from", "FOLDER/bench.json"],
    "benchmarks --list": ["benchmarks", "--list"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_word_is_broken_at_any_width(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = [str(part).replace("FOLDER", str(folder)) for part in COMMANDS[name]]
    whole, _, code = show(monkeypatch, *line, width=1000)
    assert code == 0
    for width in WIDTHS:
        narrow, _, _ = show(monkeypatch, *line, width=width)
        missing = words(whole) - words(narrow)
        assert missing <= {"wrong"}, width  # a column of the benchmark that has no values
        for text in ESCAPES.sub("", narrow).splitlines():
            assert len(text.rstrip()) <= width or len(text.split()) <= 1, (width, text)


@pytest.mark.parametrize("width", WIDTHS)
def test_explanations_break_no_word(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    line = ("explain", "onnx.ScatterND", "--data", "[1,2]", "--indices", "[[1],[-1]]", "--updates", "[5,6]")
    whole, _, _ = show(monkeypatch, *line, width=1000)
    narrow, _, _ = show(monkeypatch, *line, width=width)
    assert words(whole) <= words(narrow)


def all_commands(command: click.Command = main, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Return all commands, with one version of each operator."""
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        names = command.list_commands(context)
        for name in names[-1:] if path and path[0] in ("apply", "explain") else names:
            found = command.get_command(context, name)
            assert found is not None
            yield from all_commands(found, (*path, name))


@pytest.mark.parametrize("path", [*all_commands()], ids=" ".join)
def test_help_breaks_no_word(path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _, _ = show(monkeypatch, *path, "--help", width=80)
    for width in WIDTHS:
        narrow, _, _ = show(monkeypatch, *path, "--help", width=width)
        assert words(whole) <= words(narrow), (width, words(whole) - words(narrow))


def test_help_has_a_section_for_each_package() -> None:
    text = succeed("--help")
    titles = re.findall(r"^(\w[\w -]*):$", text, re.MULTILINE)
    own = ["Options", "Arrays", "Understand", "Native library"]
    assert titles == [*own, "From gatherscatter-conformance", "From gatherscatter-models"]
    models = text[text.index("From gatherscatter-models:") :]
    assert re.findall(r"^  (\w+)  ", models, re.MULTILINE) == ["convert", "doctor", "run"]


@pytest.mark.parametrize("command", ["apply", "explain"])
def test_help_lists_the_newest_versions_only(command: str) -> None:
    text = succeed(command, "--help")
    listed = re.findall(r"^  ((?:onnx|openvino|com\.microsoft)\.[\w-]+)", text, re.MULTILINE)
    newest = {row.name.rpartition("-")[0]: row.name for row in sorted(gs.ops(), key=lambda row: row.version)}
    assert sorted(listed) == sorted(newest.values())
    assert "'gatherscatter ops' lists all versions" in text
    assert succeed(command, "onnx.ScatterND-11", "--help")


# Errors


def test_an_error_is_red_and_wrapped_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    _, shown, code = show(monkeypatch, "convert", MODEL, "a.txt", width=50)
    assert code == 2
    assert shown.startswith("gatherscatter: \x1b[1;31merror:\x1b[0m Invalid value for")
    assert max(map(len, ESCAPES.sub("", shown).splitlines())) <= 50
    assert " ".join(ESCAPES.sub("", shown).split()) == f"gatherscatter: error: {fail('convert', MODEL, 'a.txt')}"
    assert "a.txt: the name must end in .xml, .onnx" in fail("convert", MODEL, "a.txt")


def test_no_color_and_force_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert "31m" not in show(monkeypatch, "ops", "nil")[1]
    monkeypatch.delenv("NO_COLOR")
    assert "\x1b" not in call("ops", "nil").stderr
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1;31merror:" in call("ops", "nil").stderr
    assert call("ops", "nil").stderr.count("\n") == 1  # a pipe has no width
    monkeypatch.delenv("FORCE_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in show(monkeypatch, "ops", "nil")[1]


# Verdicts


def test_verdicts_have_signs_and_colours_on_terminals_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = ("conform", "--from", folder / "report.json")
    shown, _, _ = show(monkeypatch, *line)
    assert re.search(rf"onnx.GatherElements-13 .*\x1b\[32m{LOOKS['pass'].sign} pass \d+", shown)
    plain = succeed(*line)
    assert "\x1b" not in plain
    assert LOOKS["pass"].sign not in plain
    ascii_only, _, _ = show(monkeypatch, *line, encoding="ascii")
    assert "\x1b[32mpass " in ascii_only


def test_the_doctor_colours_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    line = ("doctor", MODEL, INPUTS, "--target", "tensorrt", "--target", "onnxruntime")
    shown, _, _ = show(monkeypatch, *line, width=200)
    assert re.search(r"\x1b\[32m\u2713 supported", shown)
    assert "\x1b[32m\u2713 onnxruntime: 2 of 2 supported" in shown
    assert "\x1b" not in succeed(*line)


def test_indices_out_of_range_are_red(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, _, _ = show(monkeypatch, "inspect", folder / "indices.npy", "--shape", "8")
    assert "\x1b[1;31m  out of range: 1" in shown
    assert "31m" not in show(monkeypatch, "inspect", folder / "indices.npy", "--shape", "13")[0]


# Options


def test_an_option_has_one_spelling() -> None:
    """An option has the same aliases in all commands, and either always or never takes a value."""
    found: dict[str, set[tuple[tuple[str, ...], bool]]] = {}
    for path in all_commands():
        command: click.Command = main
        for name in path:
            assert isinstance(command, click.Group)
            command = command.get_command(click.Context(command), name) or command
        if path[:1] in (("apply",), ("explain",)) and len(path) > 1:
            continue  # attributes of operators
        for one in command.params:
            if isinstance(one, click.Option):
                for opt in one.opts:
                    found.setdefault(opt, set()).add((tuple(one.opts), one.is_flag))
    assert {name: forms for name, forms in found.items() if len(forms) > 1} == {}
    assert not {"--form", "--fail", "--inputs", "--id"} & set(found)


@pytest.mark.parametrize(
    ("faults", "code"),
    [
        (["out-of-range"], 1),
        (["duplicates"], 1),
        (["negative"], 0),
        (["negative", "duplicates"], 1),
        ([], 0),
    ],
)
def test_inspect_fails_on_request(faults: list[str], code: int, folder: Path) -> None:
    options = [word for fault in faults for word in ("--fail-on", fault)]
    result = call("inspect", folder / "indices.npy", "--shape", "8", *options)
    assert result.exit_code == code
    assert "out of range: 1" in result.stdout


def test_the_words_of_fail_on_are_statuses_of_the_doctor() -> None:
    assert LEVELS == DEPARTURES


def test_targets_are_listed_without_a_model() -> None:
    text = succeed("doctor", "--list-targets")
    assert re.search(r"^onnxruntime +runs of this project$", text, re.MULTILINE)
    assert re.search(r"^tensorrt +public reports$", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("conform --kind repetead", "there is no kind 'repetead'; there are plain, example"),
        ("conform --kind repetead", "; did you mean 'repeated'?"),
        ("corpus list --kind repetead", "; did you mean 'repeated'?"),
        ("conform --type fp16", "there is no element type 'fp16'; there are bool, int8"),
        ("conform --reduction ad", "did you mean 'add'?"),
        ("conform --rule O99", "there is no rule 'O99'"),
        ("conform --op onnx.Gater*", "there is no operator 'onnx.Gater*'"),
        ("conform --runtime numpy --kind ring --op onnx.Gather", "no case matches all of these options"),
        ("doctor MODEL --target tensort", "did you mean 'tensorrt'?"),
        ("conform --kind out-of-rang", "; did you mean 'out-of-range'?"),
        ("doctor MODEL --fail-on nil", "'nil' is not one of 'memory', 'different', 'refused'"),
        ("conform --fail-on nil", "'nil' is not one of 'memory', 'different', 'refused'"),
        ("doctor MODEL --leave nanx --fix x.onnx", "did you mean 'nan'?"),
        ("apply ScatterND x", "there is no operator 'ScatterND'"),
        ("explain ScatterND", "there is no operator 'ScatterND'"),
        ("apply onnx.ScatterND x y z --reduction sum", "'min'; did you mean 'add'?"),
        ("corpus export x --format onnx --op openvino.Gather-8", "none of these cases belongs to this specification"),
        ("corpus export x --format jsn", "'json'; did you mean 'json'?"),
        ("rnu", "did you mean 'run'?"),
        ("run MODEL --random-inputs --dim bach=2", "did you mean 'batch'?"),
    ],
)
def test_wrong_names_are_answered_with_right_ones(line: str, part: str) -> None:
    assert part in fail(*line.replace("MODEL", str(MODEL)).split())


# Ctrl-C


def test_an_interruption_says_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        stop = KeyboardInterrupt()
        stop.add_note("to go on: the same call")
        raise stop

    monkeypatch.setattr(gs, "ops", interrupted)
    result = call("ops")
    assert result.exit_code == 130
    assert result.stderr == "gatherscatter: interrupted; to go on: the same call\n"


LONG = {
    "conform": (["conform", "--runtime", "numpy", "--json", "r.json"], "cases",
                "; to resume: gatherscatter conform --resume r.json"),
    "doctor": (["doctor", str(MODEL), "--fix", "fixed.onnx"], "rewriting", ""),
    "corpus export": (["corpus", "export", "vectors"], "onnx/", "; vectors is incomplete: delete it"),
    "run": (["run", str(MODEL), str(INPUTS), "--benchmark", "1000000"], "timed run", ""),
}  # fmt: skip

# Makes standard input the terminal that sends Ctrl-C and accepts it, as an interactive shell does. The test does not
# fork itself, because JAX warns about forks of a process that has loaded it.
IN_TERMINAL = """
import fcntl, os, signal, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGINT, signal.default_int_handler)
os.execv(sys.executable, [sys.executable, "-m", "gatherscatter", *sys.argv[1:]])
"""


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_in_a_terminal_ends_in_one_line(name: str, tmp_path: Path) -> None:
    """In a real process with a real terminal, each command shows a bar. After Ctrl-C, it prints one line."""
    import pty

    line, shown, kept = LONG[name]
    terminal, inside = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", IN_TERMINAL, *line],
        stdin=inside,
        stdout=inside,
        stderr=inside,
        start_new_session=True,
        cwd=tmp_path,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "150"},
    )
    os.close(inside)
    seen, pressed = b"", False
    while part := read_terminal(terminal):
        seen += part
        if not pressed and shown.encode() in seen:
            time.sleep(0.2)
            os.write(terminal, b"\x03")
            pressed = True
    os.close(terminal)
    code = child.wait()
    text = ESCAPES.sub("", seen.decode())
    assert (code, text.splitlines()[-1]) == (130, f"gatherscatter: interrupted{kept}")
    assert "Traceback" not in text
    assert not (tmp_path / "fixed.onnx").exists()


def read_terminal(terminal: int) -> bytes:
    """Return the text written so far, or nothing at the end."""
    try:
        return os.read(terminal, 100_000)
    except OSError:  # Linux reports this when the other side is closed
        return b""


# Completion


@pytest.mark.parametrize(
    ("words_so_far", "expected"),
    [
        ("gatherscatter co", ["convert", "conform", "corpus"]),
        ("gatherscatter apply onnx.ScatterND-", [f"onnx.ScatterND-{n}" for n in (11, 13, 16, 18)]),
        ("gatherscatter ops openvino.ScatterND", ["openvino.ScatterNDUpdate"]),
        ("gatherscatter doctor m.onnx --target tens", ["tensorrt"]),
        ("gatherscatter doctor m.onnx --leave wide", ["wide-values", "wide-indices"]),
        ("gatherscatter conform --fail-on m", ["memory"]),
        ("gatherscatter conform --kind rep", ["repeated"]),
        ("gatherscatter conform --kind out-of", ["out-of-range"]),
        ("gatherscatter conform --runtime onnx", ["onnxruntime", "onnx-reference"]),
        ("gatherscatter inspect i.npy --fail-on n", ["negative"]),
    ],
)
def test_shells_complete_names(words_so_far: str, expected: list[str]) -> None:
    done = complete(words_so_far)
    found = [line.partition(",")[2] for line in done.splitlines() if line.startswith("plain,")]
    assert set(expected) <= set(found)
    assert all(name.startswith(words_so_far.split()[-1]) for name in found)


def test_shells_complete_files_of_arrays() -> None:
    assert complete("gatherscatter apply onnx.Gather da") == "file,da\n"


def test_all_words_of_options_can_be_completed_without_quotes() -> None:
    for path in all_commands():
        command: click.Command = main
        for name in path:
            assert isinstance(command, click.Group)
            command = command.get_command(click.Context(command), name) or command
        for parameter in command.params:
            if isinstance(parameter.type, click.Choice | Choice):
                items = parameter.type.shell_complete(click.Context(command), parameter, "")
                assert items
                assert [item.value for item in items if not re.fullmatch(r"[\w.=-]+", item.value)] == []
                for item in items:
                    parameter.type.convert(item.value, parameter, None)


# What the user has typed, and the line after the tab key
TYPED = {
    "gatherscatter conform --kind out": "gatherscatter conform --kind out-of-range ",
    "gatherscatter conform --kind 'out of": "gatherscatter conform --kind 'out-of-range' ",
    r"gatherscatter conform --kind out\ of": "gatherscatter conform --kind out-of-range ",
    "gatherscatter doctor m.onnx --leave wide": "gatherscatter doctor m.onnx --leave wide-",
    "gatherscatter conform --fail-on m": "gatherscatter conform --fail-on memory ",
}


@pytest.mark.skipif(os.name == "nt" or shutil.which("bash") is None, reason="needs bash and a pseudo-terminal")
def test_bash_completes_lines() -> None:
    import pty

    terminal, inside = pty.openpty()
    environment = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    shell = subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-i"],
        stdin=inside,
        stdout=inside,
        stderr=inside,
        env=environment | {"TERM": "dumb", "INPUTRC": os.devnull},
        start_new_session=True,
    )
    os.close(inside)
    try:
        # Ctrl-G prints the line and clears it.
        os.write(terminal, b"""bind -x '"\\C-g": printf "<%s>" "$READLINE_LINE"; READLINE_LINE='\n""")
        os.write(terminal, b'eval "$(_GATHERSCATTER_COMPLETE=bash_source gatherscatter)"; echo is"-"ready\n')
        read_until(terminal, "is(-ready)")
        for typed, line in TYPED.items():
            os.write(terminal, typed.encode() + b"\t\x07")
            assert read_until(terminal, "<(.*)>") == line
    finally:
        shell.kill()
        shell.wait()
        os.close(terminal)


def read_until(terminal: int, pattern: str) -> str:
    """Read until the text matches a pattern, and return its group."""
    seen = b""
    while (found := re.search(pattern, seen.decode(errors="replace"))) is None:
        part = read_terminal(terminal)
        assert part, seen
        seen += part
    return found[1]


def complete(words_so_far: str) -> str:
    """Return the completions that bash gets for the last of these words."""
    environment = {
        **os.environ,
        "_GATHERSCATTER_COMPLETE": "bash_complete",
        "COMP_WORDS": words_so_far,
        "COMP_CWORD": str(len(words_so_far.split()) - 1),
    }
    code = "from gatherscatter.cli import main; main(prog_name='gatherscatter')"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout

"""Runtimes in any language: programs that read a folder, and classes in the working directory."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from gatherscatter_conformance import corpus, runtimes
from gatherscatter_conformance.case import Case
from gatherscatter_conformance.run import Examiner, conform
from gatherscatter_conformance.search import search
from gatherscatter_conformance.verdicts import Judgement
from tests.support.command_line import fail, succeed
from tests.support.paths import EXAMPLES

pytestmark = pytest.mark.full

PLAIN = Case(
    id="test/plain", op="onnx.ScatterND-18", type="int64", reduction="none", kind="plain",
    inputs=(np.arange(4), np.array([[1]]), np.array([9])), attributes={}, expected=(np.array([0, 9, 2, 3]),),
    error=None, rules=(), latitude="", relation="exact",
)  # fmt: skip
NEGATIVE = replace(
    PLAIN, id="test/negative", kind="negative", inputs=(np.arange(4), np.array([[-1]]), np.array([9])),
    expected=(np.array([0, 1, 2, 9]),),
)  # fmt: skip
BAD = replace(
    PLAIN, id="test/bad", kind="out of range", inputs=(np.arange(4), np.array([[4]]), np.array([9])), expected=None,
    error="IndexError",
)  # fmt: skip

# A program for both protocols. It misbehaves for negative indices, and is right otherwise.
PROGRAM = """\
import json, os, sys, time
import numpy as np

def run(folder):
    case = json.load(open(f"{folder}/case.json"))
    assert (case["op"], case["operator"], case["version"]) == ("onnx.ScatterND-18", "ScatterND", 18)
    assert case["attributes"] == {"reduction": "none"}
    data, indices, updates = (np.load(f"{folder}/" + one["file"]) for one in case["inputs"])
    if indices.min() < 0:
        print("noise", file=sys.stderr, flush=True)
        BEHAVIOUR
    if indices.max() >= len(data):
        return f"error index {indices.max()} is out of range"
    data[indices[:, 0]] = updates
    np.save(f"{folder}/output.npy", data)
    return "ok"

if len(sys.argv) > 1:
    word, _, text = run(sys.argv[1]).partition(" ")
    print(text, file=sys.stderr)
    sys.exit({"ok": 0, "unsupported": 77, "error": 1}[word])
for line in sys.stdin:
    print(run(line.rstrip("\\n")), flush=True)
"""

BEHAVIOURS = {
    "pass": ("pass", ""),
    "updates = updates + 1": ("differs", "1 of 4 elements differ"),
    "data = data.astype(np.int32)": ("narrowed", "a result of int32"),
    "return 'error not today'": ("refuses", "RefusedError: not today"),
    "return 'unsupported no negative indices'": ("not asked", "no negative indices"),
    "os.abort()": ("crashes", "SIGABRT (noise)"),
    "os._exit(3)": ("crashes", "exit code 3 (noise)"),
    "time.sleep(60)": ("hangs", "no answer within 3 s"),
    "return 'ok'": ("crashes", "it reports success, but there is no output.npy"),
    "open(f'{folder}/output.npy', 'w').write('no array'); return 'ok'": (
        "crashes",
        "it reports success, but output.npy",
    ),
    "np.save(f'{folder}/output.npy', np.array([{}])); return 'ok'": ("crashes", "it reports success, but output.npy: "),
}


def write_program(folder: Path, behaviour: str) -> str:
    """Return the command line words that run the program."""
    file = folder / "program.py"
    file.write_text(PROGRAM.replace("BEHAVIOUR", behaviour), encoding="utf-8")
    return shlex.join([sys.executable, str(file)])


def verdicts(name: str, *cases: Case, timeout: float = 20.0) -> dict[str, Judgement]:
    return conform([name], cases, timeout=timeout).results[name]


@pytest.mark.parametrize("argument", [" {folder}", ""], ids=["once", "many"])
@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_what_a_program_does_is_told_apart(behaviour: str, argument: str, tmp_path: Path) -> None:
    verdict, message = BEHAVIOURS[behaviour]
    if argument and behaviour == "os._exit(3)":
        verdict, message = "refuses", "RefusedError: noise"  # a program that runs once reports errors by its exit code
    limit = 3.0 if verdict == "hangs" else 30.0
    name = f"command:{write_program(tmp_path, behaviour)}{argument}"
    found = verdicts(name, PLAIN, NEGATIVE, BAD, timeout=limit)
    assert found[PLAIN.id].verdict == "pass"
    assert found[BAD.id] == Judgement("pass", message="RefusedError: index 4 is out of range")
    assert found[NEGATIVE.id].verdict == verdict, found[NEGATIVE.id]
    assert found[NEGATIVE.id].message.startswith(message)


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_a_shell_passes_a_signal_on(tmp_path: Path) -> None:
    """A bad call that kills a program must not count as a refused call."""
    file = tmp_path / "run.sh"
    file.write_text(f'#!/bin/sh\n{write_program(tmp_path, "os.abort()")} "$1"\nexit $?\n')
    file.chmod(0o755)
    assert verdicts(f"command:{file} {{folder}}", NEGATIVE)[NEGATIVE.id].message.startswith("SIGABRT")
    (tmp_path / "minus_one.sh").write_text("#!/bin/sh\nexit 255\n")
    (tmp_path / "minus_one.sh").chmod(0o755)
    found = verdicts(f"command:{tmp_path}/minus_one.sh {{folder}}", BAD)[BAD.id]
    assert found == Judgement("pass", message="RefusedError: exit code 255")


def test_an_answer_that_is_none_is_shown(tmp_path: Path) -> None:
    found = verdicts(f"command:{write_program(tmp_path, 'return repr(1)')}", NEGATIVE, PLAIN)
    assert found[NEGATIVE.id].message == (
        "it answers '1': the answers are 'ok', 'unsupported REASON' and 'error MESSAGE'"
    )
    assert found[PLAIN.id].verdict == "pass"


def test_how_a_program_ends_counts(tmp_path: Path) -> None:
    """A call that is valid but breaks the program is detected when the program ends."""
    program = write_program(tmp_path, "import atexit; atexit.register(os.abort)")
    with Examiner(f"command:{program}", 30.0) as examiner:
        assert examiner.alone(PLAIN, 30.0).verdict == "pass"
        assert examiner.alone(NEGATIVE, 30.0).message.startswith("at its end: exit code 1 (SIGABRT")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("argument", [" {folder}", ""], ids=["once", "many"])
def test_nothing_is_left_of_a_program_that_hangs(
    argument: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    name = f"command:{write_program(tmp_path, 'time.sleep(60)')}{argument}"
    assert verdicts(name, NEGATIVE, timeout=3)[NEGATIVE.id].verdict == "hangs"
    needle = str(tmp_path / "program.py").encode()
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if os.access(path, os.R_OK)]
    assert not any(needle in line for line in lines)
    assert not list((tmp_path / "temporary").iterdir())


# A program that uses np.take on bits, for any type.
TAKE = """\
import json, sys
import numpy as np

for line in sys.stdin:
    folder = line.rstrip("\\n")
    case = json.load(open(f"{folder}/case.json"))
    data, indices = (np.load(f"{folder}/{one}.npy") for one in ("data", "indices"))
    stored, name = data.dtype, case["inputs"][0]["type"]
    bits = name.startswith(("bf", "float8", "float4", "int4", "uint4"))
    assert stored.kind == ("U" if name == "string" else "u") if bits or name == "string" else stored.name == name
    assert [list(data.shape), list(indices.shape)] == [one["shape"] for one in case["inputs"]]
    np.save(f"{folder}/{case['output']['file']}", np.take(data, indices, axis=case["attributes"]["axis"]))
    print("ok", flush=True)
"""


def test_every_type_goes_in_and_comes_out(tmp_path: Path) -> None:
    file = tmp_path / "take.py"
    file.write_text(TAKE, encoding="utf-8")
    cases = [*corpus.cases(op="onnx.Gather-13", kind="plain"), *corpus.cases("onnx/Gather-13/string/*", kind="slices")]
    data = np.array([1, -2, 3])
    base = replace(cases[0], attributes={}, latitude="", relation="exact")
    for name in ("float8_e4m3fn", "float8_e8m0fnu", "int4", "uint4", "float4_e2m1fn"):
        array = np.abs(data).astype(getattr(ml_dtypes, name))
        inputs, expected = (array, np.array([2, 0])), (array[[2, 0]],)
        cases.append(replace(base, id=f"test/{name}", type=name, inputs=inputs, expected=expected))
    assert {case.type for case in cases} >= {"bfloat16", "string", "bool", "complex64", "float16", "uint64", "int4"}
    found = verdicts(f"command:{shlex.join([sys.executable, str(file)])}", *cases)
    assert {one.verdict for one in found.values()} == {"pass"}, found


def test_the_folder_has_the_model(tmp_path: Path) -> None:
    """A command that copies the folder shows the files that a program gets."""
    pytest.importorskip("onnx")
    if shutil.which("cp") is None:
        pytest.skip("needs cp")
    onnx_case = corpus.cases("onnx/Gather-13/float32/none/plain/*")[0]
    openvino_case = corpus.cases("openvino/Gather-8/float32/none/plain/*")[0]
    for case, models in ((onnx_case, {"model.onnx"}), (openvino_case, {"model.xml", "model.bin"})):
        sample = tmp_path / case.op
        verdicts(f"command:cp -r {{folder}}/. {sample}", case)
        names = {path.name for path in sample.iterdir()}
        facts = json.loads((sample / "case.json").read_text())
        assert names == models | {"case.json"} | {one["file"] for one in facts["inputs"]}
        assert facts["id"] == case.id
        assert "expected" not in facts
        for array, one in zip(case.inputs, facts["inputs"], strict=True):
            np.testing.assert_array_equal(np.load(sample / one["file"]), array)


@pytest.mark.parametrize("argument", [" {folder}", ""], ids=["once", "many"])
def test_the_script_of_a_departure_shows_it(argument: str, tmp_path: Path) -> None:
    runtime = runtimes.find(f"command:{write_program(tmp_path, 'updates = updates + 1')}{argument}")
    file = tmp_path / "reproducer.py"
    file.write_text(runtime.script(NEGATIVE), encoding="utf-8")
    ran = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=60, check=True)
    assert "expected int64 (4,) [0, 1, 2, 9]" in ran.stdout
    assert "got int64 (4,) [0, 1, 2, 10]" in ran.stdout
    [folder] = re.findall(r"^folder (.+)$", ran.stdout, re.MULTILINE)
    assert (Path(folder) / "case.json").is_file()
    shutil.rmtree(folder)


def test_the_version_is_that_of_the_files(tmp_path: Path) -> None:
    name = f"command:{write_program(tmp_path, 'pass')} {{folder}}"
    first = runtimes.find(name).version()
    assert re.fullmatch("[0-9a-f]{8}", first)
    assert runtimes.find(name).version() == first
    write_program(tmp_path, "return 'ok'")
    assert runtimes.find(name).version() != first


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("command:./nil {folder}", "there is no program './nil' that can be executed: give its path, such as ./mine"),
        ("command:", "command: needs a command line, such as 'command:./mine {folder}'"),
        ("command:'./mine {folder}", "is not a command line: No closing quotation"),
    ],
)  # fmt: skip
def test_a_program_that_is_not_there(name: str, said: str) -> None:
    assert said in fail("conform", "--runtime", name, "--op", "onnx.Gather-13")


@pytest.mark.skipif(os.name != "posix", reason="needs modes of files")
@pytest.mark.parametrize(("argument", "said"), [(" {folder}", "it can't be started: "), ("", "can't be started")])
def test_a_program_that_cannot_be_started(argument: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "no_first_line"
    file.write_text("\x01\x02 this is neither a binary nor a script\n")
    file.chmod(0o755)
    name = f"command:{file}{argument}"
    if argument:
        assert verdicts(name, BAD)[BAD.id].message.startswith(said)
    else:
        with pytest.raises(RuntimeError, match=said):
            verdicts(name, BAD)


def test_a_search_shrinks_what_a_program_gets_wrong(tmp_path: Path) -> None:
    """The program below ends with an IndexError where it should refuse a call."""
    pytest.importorskip("hypothesis")
    (tmp_path / "take.py").write_text(TAKE, encoding="utf-8")
    name = f"command:{shlex.join([sys.executable, str(tmp_path / 'take.py')])}"
    found = next(search(name, 0.5, ops=["onnx.Gather-13"], seed=1))
    assert found.judgement.verdict == "crashes"
    assert "IndexError" in found.judgement.message


# ---------------------------------------------------------------------------------------------------- the example in C

compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


@pytest.mark.skipif(not compiler, reason="needs a C compiler")
@pytest.mark.parametrize("argument", [" {folder}", ""], ids=["once", "many"])
def test_the_example_in_c(argument: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    source = EXAMPLES / "conform_c" / "gather.c"
    subprocess.run([compiler, *flags, "-o", tmp_path / "gather", source], check=True)
    monkeypatch.chdir(tmp_path)
    name = f"command:./gather{argument}"
    printed = succeed("conform", "--runtime", name, "--op", "onnx.Gather-13", "--json", "report.json")
    report = json.loads(Path("report.json").read_text())
    found = Counter(
        (
            case["type"] == "float32" and case["inputs"][1]["type"] == "int64",
            report["results"][name][case["id"]]["verdict"],
        )
        for case in report["cases"]
    )
    assert found.keys() == {(True, "pass"), (False, "not asked")}
    assert found[True, "pass"] > 40
    assert f"{name}" in printed
    other = succeed("conform", "--runtime", name, "--op", "onnx.Gather-11", "--type", "float32")
    assert re.search(rf"^{re.escape(name[8:])} \w+: \d+ not asked \(", other, re.MULTILINE)


# ------------------------------------------------------------------------------------- classes in the working directory

MINE = """\
from gatherscatter_conformance.runtimes import Runtime
import helper_next_to_mine

class Mine(Runtime):
    name = title = "mine"
    package, modules = "numpy", ("numpy",)
    setup = "import numpy as np"

    def source(self, case):
        return f"got = np.take(data, indices, axis={case.attributes.get('axis', 0)})"

class Bare(Runtime):
    name = "bare"

class Other:
    pass
"""


def run_in(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the installed console script. Only the working directory can make the module importable."""
    script = Path(sys.executable).with_name("gatherscatter")
    if not script.is_file():
        pytest.skip("the console script is not next to the interpreter")
    return subprocess.run(
        [script, "conform", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    (tmp_path / "helper_next_to_mine.py").touch()
    return tmp_path


def test_a_class_is_found_in_the_working_directory(folder: Path) -> None:
    ran = run_in(folder, "--runtime", "mine:Mine", "--op", "onnx.Gather-13", "--type", "float32", "--kind", "slices")
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"^mine .*: \d+ pass ", ran.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nil:Mine", r"there is no module 'nil' in \S+ or on Python's path: start in the folder of nil\.py, or set "),
        ("mine:Nil", r"module 'mine' \(\S+mine\.py\) has no class 'Nil'; it has Mine, Bare"),
        ("mine:Other", r"mine:Other is not a subclass of \S+Runtime: write class Other\(Runtime\)"),
        ("mine:Bare", r"mine:Bare lacks title, package, modules, setup: set them in the class"),
    ],
)
def test_a_class_that_cannot_be_used(folder: Path, name: str, said: str) -> None:
    ran = run_in(folder, "--runtime", name, "--op", "onnx.Gather-13")
    assert ran.returncode == 2
    assert re.search(said, ran.stderr), ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_a_module_that_lacks_another_is_not_called_missing(folder: Path) -> None:
    (folder / "helper_next_to_mine.py").unlink()
    ran = run_in(folder, "--runtime", "mine:Mine", "--op", "onnx.Gather-13")
    assert "No module named 'helper_next_to_mine'" in ran.stderr

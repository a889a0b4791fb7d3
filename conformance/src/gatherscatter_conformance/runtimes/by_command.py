"""Programs in any language. A program reads a folder with a case, and writes its result into the folder."""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np

from gatherscatter.specs import element_type
from gatherscatter.system.extras import find_missing
from gatherscatter_conformance.case import Case
from gatherscatter_conformance.exports.exported import UnsupportedCase
from gatherscatter_conformance.observations import Outputs, describe_exit, is_signal_from_shell, last_words
from gatherscatter_conformance.runtimes.runtime import (
    CrashedError,
    NotAskedError,
    Runtime,
    compile_source,
    name_inputs,
    row_of,
)

PREFIX = "command:"
FOLDER = "{folder}"
UNSUPPORTED = 77  # the exit code of a program that skips a test, as in Automake and Meson
RESULT = "output.npy"
_ANSWERS = "the answers are 'ok', 'unsupported REASON' and 'error MESSAGE'"


class RefusedError(Exception):
    """The program reported an error for the case."""


class Command(Runtime):
    """A command line. With ``{folder}`` it runs once for each case; without it, it reads the folders of many cases.

    Raises
    ------
    LookupError
        The text is not a command line, or its program does not exist.
    """

    modules: ClassVar[tuple[str, ...]] = ()
    setup: ClassVar[str] = (
        "import subprocess, tempfile\nfrom pathlib import Path\n"
        'folder = Path(tempfile.mkdtemp())  # stays, for a debugger\nprint("folder", folder)'
    )

    def __init__(self, text: str) -> None:
        super().__init__()
        try:
            self._words = shlex.split(text)
        except ValueError as error:
            raise LookupError(f"{PREFIX}{text} is not a command line: {error}") from error
        if not self._words:
            raise LookupError(f"{PREFIX} needs a command line, such as '{PREFIX}./mine {FOLDER}'")
        if shutil.which(self._words[0]) is None:
            raise LookupError(
                f"there is no program {self._words[0]!r} that can be executed: give its path, such as ./mine"
            )
        # Other runtimes have one name for all instances.
        self.name = PREFIX + text  # type: ignore[misc]
        self.title = self.package = text  # type: ignore[misc]
        self._is_once = any(FOLDER in word for word in self._words)
        self._process: subprocess.Popen[str] | None = None
        self._errors: IO[bytes] | None = None

    def version(self) -> str:
        """Return a digest of the files in the command, so a program that is built again counts as another release."""
        digest = hashlib.sha256()
        for path in filter(None, (shutil.which(self._words[0]), *self._words[1:])):
            if Path(path).is_file():
                digest.update(Path(path).read_bytes())
        return digest.hexdigest()[:8]

    def source(self, case: Case) -> str:
        """Return lines that write the case into ``folder``, run the command and read its result."""
        if self._is_once:
            words = ", ".join(_format_word(word) for word in self._words)
            call = f"subprocess.run([{words}], check=True)\n"
        else:
            call = f'subprocess.run({self._words}, input=f"{{folder}}\\n", text=True, check=True)\n'
        return _write_case(case) + call + _read_result(case)

    def prepare(self) -> None:
        """Start the program, if it reads the folders of many cases."""
        super().prepare()
        if not self._is_once and self._process is None:
            self._start()

    def run(self, case: Case, inputs: tuple[np.ndarray | None, ...]) -> Outputs:
        """Return the result that the program wrote into a new folder."""
        self.prepare()
        with tempfile.TemporaryDirectory() as folder:
            variables = {**self._globals, **name_inputs(case, inputs), "folder": Path(folder)}
            exec(compile_source(_write_case(case), self.name), variables)
            if self._is_once:
                self._run_once(folder)
            else:
                self._ask(folder)
            try:
                exec(compile_source(_read_result(case), self.name), variables)
            except (OSError, ValueError, EOFError) as error:
                reason = f"there is no {RESULT}" if isinstance(error, FileNotFoundError) else f"{RESULT}: {error}"
                raise CrashedError(f"it reports success, but {reason}") from error
        return (np.asarray(variables["got"]),)

    def close(self) -> None:
        """End the program, if it reads the folders of many cases."""
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            if self._process.wait():
                raise CrashedError(self._describe_end())

    def _run_once(self, folder: str) -> None:
        words = [word.replace(FOLDER, folder) for word in self._words]
        try:
            ran = subprocess.run(words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        except OSError as error:
            raise CrashedError(f"it can't be started: {error}") from error
        code, text = ran.returncode, last_words(ran.stderr)
        if code == UNSUPPORTED:
            raise NotAskedError(text or f"exit code {code}")
        if code < 0 or is_signal_from_shell(code):
            raise CrashedError(describe_exit(code, ran.stderr))
        if code:
            raise RefusedError(text or f"exit code {code}")

    def _start(self) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (the process writes to it as long as it runs)
        self._process = subprocess.Popen(
            self._words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            encoding="utf-8",
            errors="replace",
        )

    def _ask(self, folder: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(f"{folder}\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        word, _, text = answer.strip().partition(" ")
        if word == "ok":
            return
        if word == "unsupported":
            raise NotAskedError(text or word)
        if word == "error":
            raise RefusedError(text or word)
        if answer:  # its next line may not be the answer to the next case
            self._process.kill()
        how = self._describe_end()
        self._process = None
        raise CrashedError(f"it answers {answer.strip()!r}: {_ANSWERS}" if answer else how)

    def _describe_end(self) -> str:
        assert self._process is not None
        assert self._errors is not None
        code = self._process.wait()
        with self._errors:
            self._errors.seek(0)
            return describe_exit(code, self._errors.read())


def _format_word(word: str) -> str:
    """Return the source of a word of the command line, with the folder filled in."""
    if word == FOLDER:
        return "str(folder)"
    return f'{word!r}.replace("{FOLDER}", str(folder))' if FOLDER in word else repr(word)


def _write_case(case: Case) -> str:
    given = {name: array for name, array in name_inputs(case, case.inputs).items() if array is not None}
    lines = [f'np.save(folder / "{name}.npy", {name}{_storable(array)})' for name, array in given.items()]
    files = {"case.json": json.dumps(_describe_case(case, given)).encode(), **_make_model_files(case)}
    lines += [f'(folder / "{name}").write_bytes({content!r})' for name, content in files.items()]
    return "".join(f"{line}\n" for line in lines)


def _storable(array: np.ndarray) -> str:
    """Return source that converts an array to one that a .npy file can hold, as `store.to_storable` does."""
    if element_type(array.dtype) == "string":
        return ".astype(str)"
    return f".view(np.uint{8 * array.itemsize})" if array.dtype.isbuiltin == 2 else ""


def _read_result(case: Case) -> str:
    read = f'got = np.load(folder / "{RESULT}")\n'
    data = case.inputs[0]
    assert data is not None
    if case.type == "string":
        return f"{read}got = got.astype(object)\n"
    if data.dtype.isbuiltin == 2:
        bits = f"np.uint{8 * data.itemsize}"
        return f"{read}import ml_dtypes\ngot = got.view(ml_dtypes.{case.type}) if got.dtype == {bits} else got\n"
    return read


def _describe_case(case: Case, given: dict[str, np.ndarray]) -> dict[str, Any]:
    row = row_of(case)
    defaults = {one.name: one.default for one in row.attributes if not one.is_required}
    return {
        "id": case.id,
        "op": case.op,
        "operator": row.op_type,
        "version": row.version,
        "attributes": defaults | case.attributes,
        "inputs": [
            {"name": name, "type": element_type(array.dtype), "shape": list(array.shape), "file": f"{name}.npy"}
            for name, array in given.items()
        ],
        "output": {"type": case.type, "file": RESULT},
    }


def _make_model_files(case: Case) -> dict[str, bytes]:
    """Return the model files of an export by name; none if the format can't hold it or a package is missing."""
    if row_of(case).domain != "openvino":
        if find_missing(["onnx"]):
            return {}
        from gatherscatter_conformance.exports import onnx_folders

        return {"model.onnx": onnx_folders.model(case).SerializeToString()}
    from gatherscatter_conformance.exports import openvino_irs

    try:
        writer = openvino_irs.model(case)
    except UnsupportedCase:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        writer.save(Path(folder) / "model.xml")
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}

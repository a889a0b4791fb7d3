"""Files that are read and written: which of them are the same, and how a new one takes the place of an old one."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gatherscatter.model_interface import ModelError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a new name in the folder of ``path``; what is written there takes the place of ``path`` at the end.

    After an error ``path`` is what it was before. It may be a file or a folder. Terminals, pipes and devices can't be
    replaced, so for them the name is ``path`` itself.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file() and not target.is_dir():
        yield target
        return
    if target.is_file() and not os.access(target, os.W_OK):
        raise PermissionError(13, os.strerror(13), str(path))
    part = _beside(target)
    try:
        yield part
        _put(part, target)
    except BaseException as error:
        if isinstance(error, OSError) and error.filename == str(part):
            error.filename = str(path)
        _remove(part)
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a whole file in UTF-8, or leave ``path`` as it is."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def _beside(target: Path) -> Path:
    return target.with_name(f".{secrets.token_hex(8)}{target.suffix}")


def _put(part: Path, target: Path) -> None:
    if target.is_dir() and part.is_dir():  # a folder can't be replaced in one step
        old = _beside(target)
        target.rename(old)
        try:
            part.rename(target)
        except BaseException:
            old.rename(target)
            raise
        _remove(old)
        return
    if target.is_file():
        shutil.copymode(target, part)
    part.replace(target)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def identity(path: str | os.PathLike[str]) -> Hashable:
    """What two paths share if they lead to the same file, also by links; the file need not exist."""
    resolved = os.path.realpath(path)  # where `replacing` writes, also for missing/../file
    try:
        found = os.stat(resolved)
    except (OSError, ValueError):
        return os.path.normcase(resolved)
    return found.st_dev, found.st_ino


def overwritten(outputs: Iterable[Path], inputs: Iterable[Path]) -> tuple[Path, Path] | None:
    """The first output that is an input, lies in an input folder or holds an input, and that input; else None."""
    inputs = list(inputs)
    read = {identity(path): path for path in inputs}
    around = {identity(folder): path for path in inputs for folder in _folders(path)}
    for path in outputs:
        own = identity(path)
        found = read.get(own) or around.get(own)
        found = found or next((read[key] for key in map(identity, _folders(path)) if key in read), None)
        if found is not None:
            return path, found
    return None


def _folders(path: Path) -> Iterable[Path]:
    return Path(os.path.realpath(path)).parents


def model_outputs(path: Path) -> list[Path]:
    """The files that writing a model may make: an .xml has a .bin beside it, a large .onnx its tensors."""
    suffix = path.suffix.lower()
    beside = {".xml": [path.with_suffix(".bin")], ".onnx": [path.with_name(f"{path.name}.data")]}
    return [path, *beside.get(suffix, [])]


def model_inputs(path: Path) -> list[Path]:
    """The files that a model is read from: its own, the .bin beside an .xml, and external data of an .onnx."""
    suffix = path.suffix.lower()
    weights = [path.with_suffix(".bin")] if suffix != ".onnx" else []
    return [path, *weights, *(_external_data(path) if suffix != ".xml" else ())]


def _external_data(path: Path) -> list[Path]:
    try:
        from gatherscatter.onnx.model import parse_onnx

        tensors = list(_external_tensors(parse_onnx(path)))
    except (ImportError, OSError, ModelError):
        return []  # a model that can't be read has no data to lose
    values = {entry.value for tensor in tensors for entry in tensor.external_data if entry.key == "location"}
    return [path.parent / value for value in values if isinstance(value, str) and "\0" not in value]


def _external_tensors(message: Any) -> Iterator[Any]:
    """The tensors in a message of ONNX, however deep, whose data is in another file."""
    for field, value in message.ListFields():
        if field.name == "external_data":
            yield message
        elif field.message_type is not None:
            for part in value if _is_repeated(value) else (value,):
                yield from _external_tensors(part)


def _is_repeated(value: Any) -> bool:
    return not hasattr(value, "ListFields")


def refuse_own_input(out: str | os.PathLike[str], model: Any) -> None:
    """ModelError if writing a model to ``out`` would overwrite the model that it is made from."""
    if not isinstance(model, str | os.PathLike):
        return
    if (found := overwritten(model_outputs(Path(out)), model_inputs(Path(model)))) is not None:
        raise ModelError(
            f"{found[0]}: this would overwrite {found[1]}, which the model is read from; give another name"
        )

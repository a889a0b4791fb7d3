"""Files that are read and written: tell whether two are the same, and replace an old one by a new one."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replace_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a new name in the folder of ``path``. The file written there replaces ``path`` at the end.

    After an error, ``path`` is unchanged. It may be a file or a folder. Terminals, pipes and devices can't be replaced,
    so for them the name is ``path`` itself.
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
        _replace_file(part, target)
    except BaseException as error:
        if isinstance(error, OSError) and error.filename == str(part):
            error.filename = str(path)
        _remove(part)
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file in UTF-8. After an error, ``path`` is unchanged."""
    with replace_atomically(path) as part:
        part.write_text(text, encoding="utf-8")


def _beside(target: Path) -> Path:
    return target.with_name(f".{secrets.token_hex(8)}{target.suffix}")


def _replace_file(part: Path, target: Path) -> None:
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


def identify_file(path: str | os.PathLike[str]) -> Hashable:
    """Return a key that is equal for all paths to the same file, also by links. The file need not exist."""
    resolved = os.path.realpath(path)  # where `replace_atomically` writes, also for missing/../file
    try:
        found = os.stat(resolved)
    except (OSError, ValueError):
        return os.path.normcase(resolved)
    return found.st_dev, found.st_ino


def find_overwritten_input(outputs: Iterable[Path], inputs: Iterable[Path]) -> tuple[Path, Path] | None:
    """Return the first output that is, contains or lies in an input, with that input; else None."""
    inputs = list(inputs)
    read = {identify_file(path): path for path in inputs}
    around = {identify_file(folder): path for path in inputs for folder in _folders(path)}
    for path in outputs:
        own = identify_file(path)
        found = read.get(own) or around.get(own)
        found = found or next((read[key] for key in map(identify_file, _folders(path)) if key in read), None)
        if found is not None:
            return path, found
    return None


def _folders(path: Path) -> Iterable[Path]:
    return Path(os.path.realpath(path)).parents

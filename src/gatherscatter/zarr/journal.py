"""What a scatter in place writes down, so that it can be taken up again wherever it was cut off.

A block is written whole, or not at all. Before that its hash before and after are in the journal, on disk: an
interrupted job finds each block in one of the two states and knows which.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

import numpy as np

from gatherscatter.zarr.tuples import STEP, Shape


class JobError(RuntimeError):
    """A job that can't be begun, continued or committed: the array is locked, or not as the job left it."""


_WAYS = {
    True: "this is the same one; resume it",
    False: "make the call that was interrupted again, with the same indices and updates, to finish it",
}


class Journal:
    """The journal of one job in a folder: new, or taken up again. ``resume`` says which, or None if either will do.

    Attributes
    ----------
    is_empty : whether nothing can have been written yet
    """

    def __init__(self, folder: Path, job: str, title: str, resume: bool | None) -> None:
        self._path = folder / "journal"
        self._lock = Lock()
        header, self._blocks, length = _read(self._path)
        self.is_empty = not self._blocks
        if header is None and resume:
            raise JobError("there is nothing to resume: no job on the array was interrupted")
        if header is not None and (header["job"] != job or resume is False):
            raise JobError(
                f"an interrupted job ({header['title']}) has written part of its chunks: "
                f"{_WAYS[header['job'] == job]}, or delete {self._path} to leave the array as it is now"
            )
        if header is None:
            length = _begin(self._path, {"job": job, "title": title})
        self._file: BinaryIO = self._path.open("r+b")
        self._file.truncate(length)  # a line that was cut off
        self._file.seek(length)

    def is_done(self, block: Shape, now: np.ndarray) -> bool:
        """Whether a block has been written; an error if it was changed since by anyone else."""
        if block not in self._blocks:
            return False
        before, after = self._blocks[block]
        found = digest(now)
        if found not in (before, after):
            raise JobError(
                f"chunk {block} was changed after the job was interrupted, so that nobody can tell whether its updates "
                f"are in it; delete {self._path} to leave the array as it is now"
            )
        return found == after

    def announce(self, block: Shape, before: np.ndarray, after: np.ndarray) -> None:
        """Say on disk what is about to be written."""
        entry = {"block": block, "before": digest(before), "after": digest(after)}
        with self._lock:
            self.is_empty = False
            self._append(entry)

    def close(self) -> None:
        """Leave the journal to whoever takes the job up again."""
        self._file.close()

    def remove(self) -> None:
        """The job is done, or was never begun."""
        self._path.unlink()
        flush(self._path.parent)

    def _append(self, entry: dict[str, Any]) -> None:
        self._file.write(_line(entry))
        self._file.flush()
        os.fsync(self._file.fileno())


class FinishedJobs:
    """The named jobs that are done: calls that must not be made twice."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def has(self, name: str, job: str) -> bool:
        """Whether a job is done; an error if it was another one of that name."""
        path = self._file(name)
        if not path.exists():
            return False
        if path.read_text() != job:
            raise JobError(
                f"another job of the name {name!r} is done already: indices, updates or options are not the same"
            )
        return True

    def add(self, name: str, job: str) -> None:
        """Note that a job is done."""
        path = self._file(name)
        part = path.with_suffix(".part")
        part.write_text(job)
        flush(part)
        part.replace(path)
        flush(self._folder)

    def _file(self, name: str) -> Path:
        return self._folder / f"done-{hashlib.blake2b(name.encode(), digest_size=16).hexdigest()}"


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry).encode() + b"\n"


def _begin(path: Path, header: dict[str, Any]) -> int:
    """Write the first line, on disk when this returns: how long it is."""
    path.write_bytes(_line(header))
    flush(path)
    flush(path.parent)
    return path.stat().st_size


def _read(path: Path) -> tuple[dict[str, Any] | None, dict[Shape, tuple[str, str]], int]:
    """The first line, the last word on each block, and where the last whole line ends."""
    header, blocks, length = None, {}, 0
    for line in path.read_bytes().splitlines(keepends=True) if path.exists() else []:
        if not line.endswith(b"\n"):
            break
        entry = json.loads(line)
        if header is None:
            header = entry
        else:
            blocks[tuple(entry["block"])] = entry["before"], entry["after"]
        length += len(line)
    return header, blocks, length


def digest(array: np.ndarray) -> str:
    """A hash of the elements of an array."""
    made = hashlib.blake2b(digest_size=16)
    _feed(made, array)
    return made.hexdigest()


def job_digest(facts: Any, *arrays: np.ndarray) -> str:
    """A hash that two calls share if they do the same."""
    made = hashlib.blake2b(repr(facts).encode(), digest_size=16)
    for array in arrays:
        made.update(repr((array.shape, array.dtype.str)).encode())
        rows = np.atleast_1d(array)
        count = max(STEP // max(rows[:1].size, 1), 1)
        for start in range(0, len(rows), count):
            _feed(made, rows[start : start + count])
    return made.hexdigest()


def _feed(made: Any, array: np.ndarray) -> None:
    if array.dtype.kind in "OT":  # their memory holds pointers
        made.update(repr(array.tolist()).encode())
    else:
        made.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def flush(path: Path) -> None:
    """Have a file or a folder on disk. Where folders can't be opened, the system does it in its own time."""
    if path.is_dir() and os.name == "nt":
        return
    number = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(number)
    finally:
        os.close(number)

"""The journal of a scatter in place, which allows the scatter to be resumed after any interruption.

A block is written as a whole or not at all. Before it is written, the hashes of its old and its new contents are in the
journal, on disk. A resumed job finds each block in one of these two states, and the hash tells which.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from gatherscatter.chunked import STEP, Shape


class JobError(RuntimeError):
    """A job can't be started, resumed or committed. The array is locked, or was changed since the job stopped."""


_WAYS = {
    True: "this call is the same job, so resume it",
    False: "repeat the interrupted call, with the same indices, updates and job name, to finish it",
}


class Journal:
    """The journal of one job in a folder, new or resumed. ``resume`` chooses which; None allows both.

    Attributes
    ----------
    is_empty : whether no block can have been written yet
    """

    def __init__(self, folder: Path, job: str, title: str, resume: bool | None) -> None:
        self._path = folder / "journal"
        self._lock = Lock()
        lines = _read(self._path)
        header = lines[0].entry if lines else None
        self._blocks = {tuple(each.entry["block"]): (each.entry["before"], each.entry["after"]) for each in lines[1:]}
        self.is_empty = not self._blocks
        if header is None and resume:
            raise JobError("there is nothing to resume: no job on the array was interrupted")
        if header is not None and (header["job"] != job or resume is False):
            raise _interrupted(self._path, header, _WAYS[header["job"] == job])
        if header is None:
            lines = [_begin(self._path, {"job": job, "title": title})]
        self._chain = lines[-1].chain
        end = sum(len(line.text) for line in lines) - 1
        self._file: BinaryIO = self._path.open("r+b")
        self._file.truncate(end)  # a line that was cut off
        self._file.seek(end)
        self._file.write(b"\n")

    def is_done(self, block: Shape, now: np.ndarray) -> bool:
        """Return whether a block has been written. Raise an error if it was changed after that."""
        if block not in self._blocks:
            return False
        before, after = self._blocks[block]
        found = digest(now)
        if found not in (before, after):
            raise JobError(
                f"chunk {block} was changed after the job was interrupted, so it is unknown whether its updates "
                f"are in it; delete {self._path} to keep the array as it is now"
            )
        return bool(found == after)

    def announce(self, block: Shape, before: np.ndarray, after: np.ndarray) -> None:
        """Record on disk that a block is about to be written."""
        entry = {"block": block, "before": digest(before), "after": digest(after)}
        with self._lock:
            self.is_empty = False
            self._append(entry)

    def close(self) -> None:
        """Close the journal, and keep it for a call that resumes the job."""
        self._file.close()

    def remove(self) -> None:
        """Delete the journal of a job that is done, or that never started."""
        self._path.unlink()
        flush(self._path.parent)

    def _append(self, entry: dict[str, Any]) -> None:
        line = _line(entry, self._chain)
        self._chain = line.chain
        self._file.write(line.text)
        self._file.flush()
        os.fsync(self._file.fileno())


class FinishedJobs:
    """The named jobs that are done. These calls must not run twice."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def has(self, name: str, job: str) -> bool:
        """Return whether a job is done. Raise an error if another job of this name is done."""
        path = self._file(name)
        if not path.exists():
            return False
        done = path.read_bytes()
        if not re.fullmatch(rb"[0-9a-f]{32}", done):
            raise JobError(f"{path} is damaged; delete it if the job {name!r} is not done")
        if done != job.encode():
            raise JobError(
                f"another job of the name {name!r} is done already: indices, updates or options are different"
            )
        return True

    def add(self, name: str, job: str) -> None:
        """Record that a job is done."""
        path = self._file(name)
        part = path.with_suffix(".part")
        part.write_text(job)
        flush(part)
        part.replace(path)
        flush(self._folder)

    def _file(self, name: str) -> Path:
        return self._folder / f"done-{hashlib.blake2b(name.encode(), digest_size=16).hexdigest()}"


def read_interrupted_job(folder: Path) -> str | None:
    """Return the digest of the interrupted job in a folder, or None if there is none."""
    lines = _read(folder / "journal")
    return lines[0].entry["job"] if lines else None


def check_not_interrupted(folder: Path) -> None:
    """Raise JobError if there is an interrupted job in a folder."""
    path = folder / "journal"
    if lines := _read(path):
        raise _interrupted(path, lines[0].entry, "repeat the interrupted call to finish it")


def _interrupted(path: Path, header: dict[str, Any], way: str) -> JobError:
    return JobError(
        f"an interrupted job ({header['title']}) has written part of its chunks: "
        f"{way}, or delete {path} to keep the array as it is now"
    )


class _Line(NamedTuple):
    """A line of a journal: a checksum of its entry and of all lines before it, then the entry as JSON."""

    entry: dict[str, Any]
    text: bytes
    chain: bytes


def _line(entry: dict[str, Any], before: bytes) -> _Line:
    content = json.dumps(entry).encode()
    chain = _chain_checksum(before, content)
    return _Line(entry, chain + b" " + content + b"\n", chain)


def _chain_checksum(before: bytes, content: bytes) -> bytes:
    return hashlib.blake2b(before + content, digest_size=8).hexdigest().encode()


def _begin(path: Path, header: dict[str, Any]) -> _Line:
    """Write the first line, on disk when this returns."""
    line = _line(header, b"")
    path.write_bytes(line.text)
    flush(path)
    flush(path.parent)
    return line


def read_entries(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a journal. The first describes the job. Raise JobError if a complete line is damaged."""
    return [line.entry for line in _read(path)]


def _read(path: Path) -> list[_Line]:
    """Return the lines of a journal. Text after the last newline was cut off, and is skipped."""
    if not path.exists():
        return []
    *texts, last = path.read_bytes().split(b"\n")
    lines: list[_Line] = []
    chain = b""
    for number, text in enumerate(texts, 1):
        line = _parse_line(text, chain)
        if line is None:
            raise _damaged(path, number)
        lines.append(line)
        chain = line.chain
    if (line := _parse_line(last, chain)) is not None:  # only its newline is missing
        lines.append(line)
    elif _parse_line(last[:-1], chain) is not None:  # its newline is another character
        raise _damaged(path, len(lines) + 1)
    return lines


def _damaged(path: Path, number: int) -> JobError:
    return JobError(
        f"line {number} of {path} is damaged, so it is unknown which chunks the interrupted job has written; "
        "restore the file, or delete it to keep the array as it is now"
    )


def _parse_line(text: bytes, before: bytes) -> _Line | None:
    """Parse a line without its newline. Return None if it is damaged."""
    chain, _, content = text.partition(b" ")
    if chain != _chain_checksum(before, content):
        return None
    try:
        entry = json.loads(content)
    except (ValueError, RecursionError):
        return None
    wanted = ("block", "before", "after") if before else ("job", "title")
    if not isinstance(entry, dict) or tuple(entry) != wanted:
        return None
    return _Line(entry, text + b"\n", chain)


def digest(array: np.ndarray) -> str:
    """Return a hash of the elements of an array."""
    made = hashlib.blake2b(digest_size=16)
    _update_hash(made, array)
    return made.hexdigest()


def job_digest(facts: Any, *arrays: np.ndarray) -> str:
    """Return a hash that is equal for two calls if they do the same."""
    made = hashlib.blake2b(repr(facts).encode(), digest_size=16)
    for array in arrays:
        made.update(repr((array.shape, array.dtype.str)).encode())
        rows = np.atleast_1d(array)
        count = max(STEP // max(rows[:1].size, 1), 1)
        for start in range(0, len(rows), count):
            _update_hash(made, rows[start : start + count])
    return made.hexdigest()


def _update_hash(made: Any, array: np.ndarray) -> None:
    if array.dtype.kind in "OT":  # their memory holds pointers
        made.update(repr(array.tolist()).encode())
    else:
        made.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def flush(path: Path) -> None:
    """Flush a file or a folder to disk. Windows can't open folders, so it flushes them at a time of its choice."""
    if path.is_dir() and os.name == "nt":
        return
    number = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(number)
    finally:
        os.close(number)

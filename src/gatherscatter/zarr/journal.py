"""The journal of a scatter in place, which allows the scatter to be resumed after any interruption.

A block is written as a whole or not at all. Before it is written, the hashes of its old and its new contents are in the
journal, on disk. A resumed job finds each block in one of these two states, and the hash tells which.

A second file, the state, has the number of lines of the journal and the checksum of the last of them. It tells a line
that was not finished from lines that were lost, and shows that a journal was deleted or replaced. If one of the two
files is damaged, nothing is resumed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from gatherscatter.functions.chunked import STEP, Shape


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
        self._folder = folder
        self._lock = Lock()
        lines = _read(folder)
        header = lines[0].entry if lines else None
        self._blocks = {tuple(each.entry["block"]): (each.entry["before"], each.entry["after"]) for each in lines[1:]}
        self.is_empty = not self._blocks
        if header is None and resume:
            raise JobError("there is nothing to resume: no job on the array was interrupted")
        if header is not None and (header["job"] != job or resume is False):
            raise _interrupted(folder, header, _WAYS[header["job"] == job])
        if header is None:
            lines = [_begin(folder, {"job": job, "title": title})]
        self._count, self._chain = len(lines), lines[-1].chain
        end = sum(len(line.text) for line in lines) - 1
        self._failed = False
        self._state: BinaryIO = _state_path(folder).open("r+b", buffering=0)
        self._file: BinaryIO = _path(folder).open("r+b")
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
                f"are in it; {_give_up(self._folder)}"
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
        self._state.close()

    def remove(self) -> None:
        """Delete the journal of a job that is done, or that never started."""
        _write_state(self._folder, _State(0, b""))  # from now on, a journal that is still there does not count
        with suppress(OSError):  # the job is done
            _path(self._folder).unlink()
            _state_path(self._folder).unlink()
            flush(self._folder)

    def _append(self, entry: dict[str, Any]) -> None:
        if self._failed:  # nothing can follow a line that may be incomplete
            raise JobError(f"{_path(self._folder)} can't be written")
        line = _line(entry, self._chain)
        self._failed = True
        self._file.write(line.text)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._failed = False
        self._count, self._chain = self._count + 1, line.chain
        # This is not forced to disk. After a power failure the state may be older than the journal, which is allowed.
        self._state.seek(0)
        self._state.write(_State(self._count, self._chain).text)


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
    lines = _read(folder)
    return lines[0].entry["job"] if lines else None


def check_not_interrupted(folder: Path) -> None:
    """Raise JobError if there is an interrupted job in a folder."""
    if lines := _read(folder):
        raise _interrupted(folder, lines[0].entry, "repeat the interrupted call to finish it")


def _interrupted(folder: Path, header: dict[str, Any], way: str) -> JobError:
    return JobError(
        f"an interrupted job ({header['title']}) has written part of its chunks: {way}, or {_give_up(folder)}"
    )


def _give_up(folder: Path) -> str:
    return f"delete {_path(folder)} and {_state_path(folder)} to keep the current array"


def _path(folder: Path) -> Path:
    return folder / "journal"


def _state_path(folder: Path) -> Path:
    return folder / "journal-state"


class _State(NamedTuple):
    """The number of lines of a journal, and the chained checksum of the last one."""

    lines: int
    chain: bytes

    @property
    def text(self) -> bytes:
        """The contents of the file. They always have the same length, and fit in a sector of a disk."""
        text = b"%020d %16s" % (self.lines, self.chain)
        return text + b" " + _chain_checksum(b"state", text) + b"\n"


def _read_state(folder: Path) -> _State | None:
    """Return the state of the journal in a folder, or None if there is none."""
    path = _state_path(folder)
    if not path.exists():
        return None
    text = path.read_bytes()
    count, chain = text[:20], text[21:37].strip()
    if count.isdigit() and text == (state := _State(int(count), chain)).text:
        return state
    raise _damaged(folder, f"{path} is damaged")


def _write_state(folder: Path, state: _State) -> None:
    """Replace the state of the journal. It is on disk when the folder is flushed."""
    part = _state_path(folder).with_suffix(".part")
    part.write_bytes(state.text)
    flush(part)
    part.replace(_state_path(folder))


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


def _begin(folder: Path, header: dict[str, Any]) -> _Line:
    """Write the first line, on disk when this returns."""
    _write_state(folder, _State(0, b""))
    line = _line(header, b"")
    _path(folder).write_bytes(line.text)
    flush(_path(folder))
    _write_state(folder, _State(1, line.chain))
    flush(folder)
    return line


def read_entries(folder: Path) -> list[dict[str, Any]]:
    """Return the entries of the journal in a folder. The first describes the job. Raise JobError if it is damaged."""
    return [line.entry for line in _read(folder)]


def _read(folder: Path) -> list[_Line]:
    """Return the lines of the journal in a folder. The last line may be unfinished, which is then left out."""
    path, state = _path(folder), _read_state(folder)
    if state is None:
        if path.exists():
            raise _damaged(folder, f"{_state_path(folder)} is missing")
        return []
    if state.lines == 0:  # no block was written, or the job is done
        return []
    if not path.exists():
        raise _damaged(folder, f"{path} is missing")
    *texts, last = path.read_bytes().split(b"\n")
    lines: list[_Line] = []
    chain = b""
    for text in texts:
        line = _parse_line(text, chain)
        if line is None:
            raise _damaged(folder, f"line {len(lines) + 1} of {path} is damaged")
        lines.append(line)
        chain = line.chain
    if (line := _parse_line(last, chain)) is not None:  # only its newline is missing
        lines.append(line)
    elif _parse_line(last[:-1], chain) is not None:  # its newline is another character
        raise _damaged(folder, f"line {len(lines) + 1} of {path} is damaged")
    if len(lines) < state.lines:
        raise _damaged(folder, f"{path} has lost {state.lines - len(lines)} of {state.lines} lines")
    if lines[state.lines - 1].chain != state.chain:
        raise _damaged(folder, f"{path} and {_state_path(folder)} are of different jobs")
    return lines


def _damaged(folder: Path, fault: str) -> JobError:
    return JobError(
        f"{fault}, so it is unknown which chunks the interrupted job has written; restore the file, "
        f"or {_give_up(folder)}"
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
    wanted = {"block": list, "before": str, "after": str} if before else {"job": str, "title": str}
    if not isinstance(entry, dict) or {name: type(value) for name, value in entry.items()} != wanted:
        return None
    if not all(type(number) is int for number in entry.get("block", ())):
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

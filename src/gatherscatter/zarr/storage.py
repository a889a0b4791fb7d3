"""The stores of arrays: check whether they can be written safely, lock them, and write to them."""

from __future__ import annotations

import errno
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from filelock import FileLock, Timeout
from zarr.abc.codec import BytesBytesCodec
from zarr.storage import LocalStore, MemoryStore

from gatherscatter.errors import OpValueError
from gatherscatter.functions.chunked import Shape, Window
from gatherscatter.zarr.call import Stored
from gatherscatter.zarr.journal import (
    FinishedJobs,
    JobError,
    Journal,
    check_not_interrupted,
    flush,
    read_interrupted_job,
)

# Codecs that preserve values bit for bit. Compressors of bytes always do.
_EXACT = {"TransposeCodec", "BytesCodec", "ShardingCodec", "VLenUTF8Codec", "VLenBytesCodec", "VLenUTF8", "VLenBytes"}


def check_writable(op: str, name: str, array: Stored, *, journal: bool) -> None:
    """Raise ValueError if an array can't be written safely. ``journal``: whether the call needs a journal."""
    if array.read_only:
        raise OpValueError(f"{op}: {name} is opened read-only; open it with mode='r+'", op=op, input=name)
    if is_icechunk(array):
        if session_of(array).has_uncommitted_changes:
            text = "the session has uncommitted changes, which would be part of the same commit; commit them first"
            raise OpValueError(f"{op}: {text}", op=op, input=name)
    elif isinstance(array.store, MemoryStore):
        pass
    elif not isinstance(array.store, LocalStore):
        raise OpValueError(
            f"{op}: {name} is in a {type(array.store).__name__}, where no lock can keep another process from writing "
            "the same chunks at the same time; use a local directory, or Icechunk on the same storage",
            op=op,
            input=name,
        )
    elif journal and (inexact := _inexact_codecs(array)):
        raise OpValueError(
            f"{op}: {name} has the filter {inexact[0]}, which may change stored values: an interrupted job could "
            "not be resumed",
            op=op,
            input=name,
        )


def is_same(array: Stored, other: Stored) -> bool:
    """Whether two arrays are the same array of the store."""
    if isinstance(array.store, MemoryStore):  # memory stores compare equal if their contents are equal
        return array.store is other.store and array.path == other.path
    if isinstance(array.store, LocalStore) and isinstance(other.store, LocalStore):
        return folder_of(array).samefile(folder_of(other))
    return bool(array.store_path == other.store_path)


def has_journal(array: Stored) -> bool:
    """Whether scatters into an array keep a journal."""
    return isinstance(array.store, LocalStore)


def is_icechunk(array: Stored) -> bool:
    """Whether an array is in a session of Icechunk."""
    return type(array.store).__module__.partition(".")[0] == "icechunk"


def session_of(array: Stored) -> Any:
    """The session of Icechunk that an array is in."""
    return array.store.session  # type: ignore[attr-defined]


def folder_of(array: Stored) -> Path:
    """The directory of an array in a local store."""
    return Path(array.store.root) / array.path  # type: ignore[attr-defined]


def _inexact_codecs(array: Stored) -> list[str]:
    codecs = array.filters if array.metadata.zarr_format == 2 else array.metadata.codecs
    return [type(codec).__name__ for codec in _of_elements(codecs) if type(codec).__name__ not in _EXACT]


def _of_elements(codecs: Iterable[Any]) -> list[Any]:
    """Return the codecs, including those within shards, without those that turn bytes into bytes."""
    own = [codec for codec in codecs if not isinstance(codec, BytesBytesCodec)]
    return own + [inner for codec in own for inner in _of_elements(getattr(codec, "codecs", ()))]


@contextmanager
def hold_lock(array: Stored, timeout: float | None) -> Iterator[None]:
    """Hold the lock of an array in a local store. The system releases it when the process ends, even after a crash."""
    folder = make_state_folder(array)
    lock = FileLock(folder / "lock", timeout=-1 if timeout is None else timeout, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout:
        raise JobError(f"another process writes to the array, and holds {folder / 'lock'}") from None
    except (NotImplementedError, OSError) as error:
        raise JobError(
            f"the array can't be locked on this file system ({error}), so it can't be changed safely"
        ) from None
    try:
        yield
    finally:
        lock.release()


def make_state_folder(array: Stored) -> Path:
    """Return the folder for the lock and the journal of an array. Create it if it is missing."""
    folder = folder_of(array) / ".gatherscatter"
    folder.mkdir(exist_ok=True)
    return folder


Given = TypeVar("Given")
Made = TypeVar("Made")


def map_in_threads(make: Callable[[Given], Made], things: Iterable[Given], workers: int) -> Generator[Made]:
    """Apply ``make`` to things, in order. At most ``workers`` calls run at a time.

    Even a single worker is a thread. So Ctrl-C interrupts the caller, which then waits until writes have finished.

    >>> list(map_in_threads(abs, [-3, 2, -1], workers=2))
    [3, 2, 1]
    """
    under_way: deque[Future[Made]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for thing in things:
                if len(under_way) == workers:
                    yield under_way.popleft().result()
                under_way.append(pool.submit(make, thing))
            while under_way:
                yield under_way.popleft().result()
        finally:
            for future in under_way:
                future.cancel()


_IN_MEMORY = threading.Lock()


class Writer:
    """Writes the blocks of one job, and nothing else.

    Attributes
    ----------
    skipped : whether a job of this name was done before
    snapshot : the commit, if there is one
    """

    skipped = False
    snapshot: str | None = None

    def __init__(self, array: Stored) -> None:
        self.array = array

    def is_done(self, block: Shape, now: np.ndarray) -> bool:
        """Return False: there was no earlier run."""
        return False

    def write(self, block: Shape, window: Window, before: np.ndarray, after: np.ndarray) -> None:
        """Write a block. ``before`` is its old contents."""
        self.overwrite(window, after)

    def overwrite(self, window: Window, values: np.ndarray) -> None:
        """Write values. The old contents do not matter."""
        self.array[window] = values


class JournalWriter(Writer):
    """Writes blocks to files, each after an entry in the journal."""

    def __init__(self, array: Stored, journal: Journal) -> None:
        super().__init__(array)
        self._journal = journal
        self._root = folder_of(array)

    def is_done(self, block: Shape, now: np.ndarray) -> bool:
        """Return whether the journal shows that a block was written."""
        return self._journal.is_done(block, now)

    def write(self, block: Shape, window: Window, before: np.ndarray, after: np.ndarray) -> None:
        """Write a block. It is on disk when this returns."""
        self._journal.announce(block, before, after)
        self.overwrite(window, after)
        path = self._root / self.array.metadata.encode_chunk_key(block)
        while not path.exists():  # a block that has only fill values has no file
            path = path.parent
        flush(path)


class FinishedWriter(Writer):
    """The writer of a job that is done."""

    skipped = True


@dataclass(frozen=True)
class Job:
    """A job, which must not be done twice.

    Attributes
    ----------
    digest : returns a hash that is equal for calls that do the same
    name : the name under which the finished job is recorded
    resume : True if there must be an interrupted job, False if there must not be one
    """

    digest: Callable[[], str]
    name: str | None
    resume: bool | None


@contextmanager
def open_writer(op: str, array: Stored, title: str, job: Job | None, lock_timeout: float | None) -> Iterator[Writer]:
    """Open a writer for an array. A job that fails in this context can be resumed, or leaves no trace.

    Without a job there is no journal, because blocks can be written again. But an interrupted job on the array is an
    error, because it would be resumed on changed contents.

    Raises
    ------
    JobError
        The array stays locked by another process, has an interrupted job, or was changed by another commit.
    ValueError
        The store can't protect updates from getting lost.
    OSError
        The disk is full. The error names the array.
    """
    with _name_full_disk(op, array), _open_writer(op, array, title, job, lock_timeout) as writer:
        yield writer


@contextmanager
def _name_full_disk(op: str, array: Stored) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            error.strerror = f"{op}: {error.strerror}; free space on the disk, and repeat the call"
            error.filename = str(array.store_path)
        raise


@contextmanager
def _open_writer(op: str, array: Stored, title: str, job: Job | None, lock_timeout: float | None) -> Iterator[Writer]:
    if is_icechunk(array):
        with _commit(op, array, title) as writer:
            yield writer
    elif isinstance(array.store, MemoryStore):
        with _IN_MEMORY:
            yield Writer(array)
    else:
        with hold_lock(array, lock_timeout):
            if job is None:
                check_not_interrupted(make_state_folder(array))
                yield Writer(array)
            else:
                yield from _open_journal_writer(array, title, job)


def _open_journal_writer(array: Stored, title: str, job: Job) -> Iterator[Writer]:
    folder = make_state_folder(array)
    finished, digest = FinishedJobs(folder), job.digest()
    if job.name is not None and finished.has(job.name, digest) and read_interrupted_job(folder) != digest:
        yield FinishedWriter(array)
        return
    journal = Journal(folder, digest, title, job.resume)
    try:
        yield JournalWriter(array, journal)
    except BaseException as error:
        journal.close()
        if journal.is_empty:
            journal.remove()
        else:
            error.add_note("the job is interrupted: resume it with the same call")
        raise
    if job.name is not None:
        finished.add(job.name, digest)
    journal.close()
    journal.remove()


@contextmanager
def _commit(op: str, array: Stored, title: str) -> Iterator[Writer]:
    """Write everything in one commit. After an error, discard all changes of the session."""
    from icechunk import ConflictDetector, ConflictError, RebaseFailedError

    session = session_of(array)
    writer = Writer(array)
    try:
        yield writer
        if session.has_uncommitted_changes:
            writer.snapshot = session.commit(title, rebase_with=ConflictDetector())
    except (ConflictError, RebaseFailedError) as error:
        session.discard_changes()
        text = "another commit has changed the same chunks; nothing was written: open a new session and call again"
        raise JobError(f"{op}: {text}") from error
    except BaseException:
        session.discard_changes()
        raise

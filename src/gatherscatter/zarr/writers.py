"""How blocks come into each kind of store so that no update is lost: with a journal, in one commit, or just so."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from zarr.storage import MemoryStore

from gatherscatter.zarr.blocks import Window
from gatherscatter.zarr.call import Stored
from gatherscatter.zarr.journal import FinishedJobs, JobError, Journal, check_not_interrupted, flush
from gatherscatter.zarr.lock import locked, own_folder
from gatherscatter.zarr.stores import folder_of, is_icechunk, session_of
from gatherscatter.zarr.tuples import Shape

_IN_MEMORY = threading.Lock()


class Writer:
    """Writes the blocks of one job, and nothing else.

    Attributes
    ----------
    skipped : whether the job was done before, as its name says
    snapshot : the commit, once there is one
    """

    skipped = False
    snapshot: str | None = None

    def __init__(self, array: Stored) -> None:
        self.array = array

    def is_done(self, block: Shape, now: np.ndarray) -> bool:
        """There was no earlier run."""
        return False

    def write(self, block: Shape, window: Window, before: np.ndarray, after: np.ndarray) -> None:
        """Write a block that was read before."""
        self.overwrite(window, after)

    def overwrite(self, window: Window, values: np.ndarray) -> None:
        """Write where it does not matter what was there."""
        self.array[window] = values


class JournalWriter(Writer):
    """Writes blocks to files, each after an entry in the journal."""

    def __init__(self, array: Stored, journal: Journal) -> None:
        super().__init__(array)
        self._journal = journal
        self._root = folder_of(array)

    def is_done(self, block: Shape, now: np.ndarray) -> bool:
        """What the journal says."""
        return self._journal.is_done(block, now)

    def write(self, block: Shape, window: Window, before: np.ndarray, after: np.ndarray) -> None:
        """Write a block, which is on disk when this returns."""
        self._journal.announce(block, before, after)
        self.overwrite(window, after)
        path = self._root / self.array.metadata.encode_chunk_key(block)
        while not path.exists():  # a block of nothing but the fill value has no file
            path = path.parent
        flush(path)


class FinishedWriter(Writer):
    """Stands for a job that is done."""

    skipped = True


@dataclass(frozen=True)
class Job:
    """What must not be done twice.

    Attributes
    ----------
    digest : gives what two calls share if they do the same
    name : under which it is remembered when it is done
    resume : whether there must be, or must not be, an interrupted one
    """

    digest: Callable[[], str]
    name: str | None
    resume: bool | None


@contextmanager
def writing(op: str, array: Stored, title: str, job: Job | None, lock_timeout: float | None) -> Iterator[Writer]:
    """A writer for an array. What is left of a job that fails in it can be resumed, or is not to be seen.

    Without a job there is no journal: it does not matter how often blocks are written. But an interrupted job on the
    array is an error, as it would be resumed on other contents.

    Raises
    ------
    JobError
        The array stays locked by another process, holds an interrupted job, or was changed by a commit meanwhile.
    ValueError
        The store offers no way to keep updates from getting lost.
    """
    if is_icechunk(array):
        with _commit(op, array, title) as writer:
            yield writer
    elif isinstance(array.store, MemoryStore):
        with _IN_MEMORY:
            yield Writer(array)
    else:
        with locked(array, lock_timeout):
            if job is None:
                check_not_interrupted(own_folder(array))
                yield Writer(array)
            else:
                yield from _journalled(array, title, job)


def _journalled(array: Stored, title: str, job: Job) -> Iterator[Writer]:
    folder = own_folder(array)
    finished, digest = FinishedJobs(folder), job.digest()
    if job.name is not None and finished.has(job.name, digest) and not (folder / "journal").exists():
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
    """Everything in one commit; after an error nothing of it is left in the session."""
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

"""One writer at a time for an array in a local directory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from gatherscatter.zarr.call import Stored
from gatherscatter.zarr.journal import JobError
from gatherscatter.zarr.stores import folder_of


@contextmanager
def locked(array: Stored, timeout: float | None) -> Iterator[None]:
    """Hold the lock of an array in a local store. The system lets go of it when a process ends, however it ends."""
    folder = own_folder(array)
    lock = FileLock(folder / "lock", timeout=-1 if timeout is None else timeout, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout:
        raise JobError(f"another process writes to the array, and holds {folder / 'lock'}") from None
    except (NotImplementedError, OSError) as error:
        raise JobError(
            f"the array can't be locked on this file system ({error}), and so can't be changed safely"
        ) from None
    try:
        yield
    finally:
        lock.release()


def own_folder(array: Stored) -> Path:
    """Where we keep what belongs to an array: its lock and its journal."""
    folder = folder_of(array) / ".gatherscatter"
    folder.mkdir(exist_ok=True)
    return folder

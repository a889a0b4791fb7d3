"""What the stores of arrays are like, and which of them can be written without losing anything."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from zarr.abc.codec import BytesBytesCodec
from zarr.storage import LocalStore, MemoryStore

from gatherscatter.errors import OpValueError
from gatherscatter.zarr.call import Stored

# Codecs after which what is read is what was written, to the bit. Compressors of bytes are that by nature.
_EXACT = {"TransposeCodec", "BytesCodec", "ShardingCodec", "VLenUTF8Codec", "VLenBytesCodec", "VLenUTF8", "VLenBytes"}


def check_writable(op: str, name: str, array: Stored, *, journal: bool) -> None:
    """Refuse an array that can't be written safely, with the reason. ``journal``: what is in it is changed, too."""
    if array.read_only:
        raise OpValueError(f"{op}: {name} is opened read-only; open it with mode='r+'", op=op, input=name)
    if is_icechunk(array):
        if session_of(array).has_uncommitted_changes:
            text = "the session has changes that are not committed, and would be in the same commit; commit them first"
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
            f"{op}: {name} has the filter {inexact[0]}, which may change values as they are stored: an interrupted job "
            "could not be resumed",
            op=op,
            input=name,
        )


def is_same(array: Stored, other: Stored) -> bool:
    """Whether two arrays are one in the store."""
    if isinstance(array.store, MemoryStore):  # these are equal if they hold the same
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
    """The codecs, also those within shards, but for those that turn bytes into bytes."""
    own = [codec for codec in codecs if not isinstance(codec, BytesBytesCodec)]
    return own + [inner for codec in own for inner in _of_elements(getattr(codec, "codecs", ()))]

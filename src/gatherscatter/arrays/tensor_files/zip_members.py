"""Members of .npz files, decompressed piece by piece. A few bytes never become more bytes than requested."""

from __future__ import annotations

import bz2
import copy
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

# The largest compression factor of each method. A directory that claims more is wrong.
MOST = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1032, zipfile.ZIP_BZIP2: 1_300_000, zipfile.ZIP_LZMA: 8192}
PIECE = 1 << 14  # compressed bytes that are read at a time


@contextmanager
def open_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
    """Open a member as a file.

    `zipfile` decompresses bzip2 and LZMA without a limit: 4 KB can become 4 GB in one step. For these methods, it
    therefore only reads the compressed bytes here.
    """
    if info.compress_type not in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with archive.open(info) as file:
            yield file
        return
    raw: Any = copy.copy(info)
    raw.compress_type, raw.file_size, raw.CRC = zipfile.ZIP_STORED, info.compress_size, None
    with archive.open(raw) as source, io.BufferedReader(_Decompressed(source, info)) as file:
        yield file


class _Decompressed(io.RawIOBase):
    def __init__(self, source: IO[bytes], info: zipfile.ZipInfo) -> None:
        self._source, self._left, self._expected, self._crc = source, info.file_size, info.CRC, 0
        self._decompressor: Any = (
            bz2.BZ2Decompressor() if info.compress_type == zipfile.ZIP_BZIP2 else _lzma_decompressor(source, self._left)
        )

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes into the buffer. Return their number, which is 0 at the end."""
        view = memoryview(buffer).cast("B")
        most = min(len(view), self._left)
        data = b""
        while most and not data:
            piece = self._source.read(PIECE) if self._decompressor.needs_input else b""
            if self._decompressor.eof or (self._decompressor.needs_input and not piece):
                raise EOFError("its data is truncated")
            data = self._decompressor.decompress(piece, most)
        view[: len(data)] = data
        self._left -= len(data)
        self._crc = zlib.crc32(data, self._crc)
        if not self._left and self._crc != self._expected:
            raise zipfile.BadZipFile("its checksum is wrong")
        return len(data)


def _lzma_decompressor(source: IO[bytes], size: int) -> lzma.LZMADecompressor:
    """Read the header: two bytes for a version, two for the size of the properties. Return a decompressor."""
    length = struct.unpack("<2xH", source.read(4))[0]
    bits, dictionary = struct.unpack("<BI", source.read(length))
    settings = {"lc": bits % 9, "lp": bits // 9 % 5, "pb": bits // 45, "dict_size": min(dictionary, max(size, 4096))}
    return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA1, **settings}])

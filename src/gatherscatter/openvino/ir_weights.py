"""The .bin of an IR: constants are read-only views of the mapped file, checked before they are made."""

from __future__ import annotations

import math
import mmap
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gatherscatter.model_interface import ModelError
from gatherscatter.openvino import element_types
from gatherscatter.openvino.ir_read import Layer, integer, quote

_MAX_RANK = 64  # NumPy's
_MAX_BYTES = 2**63 - 1


class Weights:
    """The constants of an IR. The .bin is opened for the first constant, so a model without constants needs none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._bytes: NDArray[np.uint8] | None = None

    def constant(self, layer: Layer) -> Callable[[], NDArray[Any]]:
        """Check a Const layer against the file. Return a function that makes the array."""
        try:
            element_type = element_types.from_name(_require_attribute(layer, "element_type"))
        except ValueError as error:
            raise ModelError(f"{layer}: {error}") from None
        shape = _shape(layer, element_type.dtype.itemsize)
        raw = self._slice(layer)
        if element_type.dtype == element_types.STRING:
            return lambda: _strings(layer, raw, shape)
        expected = math.prod(shape) * element_type.dtype.itemsize
        if expected == 0 and raw.size == 1:
            raw = raw[:0]  # OpenVINO writes one byte for a constant without elements
        if raw.size != expected:
            raise ModelError(
                f"{layer}: size is {raw.size}, but {element_type.name} of shape {shape} takes {expected} bytes"
            )
        if element_type.dtype == np.bool_ and raw.size and raw.max() > 1:
            raise ModelError(f"{layer}: a boolean constant holds bytes other than 0 and 1")
        return lambda: _array(raw, element_type.dtype, shape)

    def _slice(self, layer: Layer) -> NDArray[np.uint8]:
        offset, size = (integer(_require_attribute(layer, name), f"{layer}: {name}") for name in ("offset", "size"))
        if size == 0:
            return np.empty(0, np.uint8)
        if self._bytes is None:
            self._bytes = _map(self._path, layer)
        if offset < 0 or size < 0 or offset + size > self._bytes.size:
            raise ModelError(
                f"{layer}: bytes {offset} to {offset + size} lie outside {quote(self._path.name)}, "
                f"which has {self._bytes.size} bytes"
            )
        return self._bytes[offset : offset + size]


def _map(path: Path, layer: Layer) -> NDArray[np.uint8]:
    try:
        if not path.is_file():
            raise ModelError(f"{layer}: its values are in {quote(path.name)}, which does not exist")
        # A model cache keeps links to files elsewhere, but then to both.
        if path.resolve().parent not in (path.parent.resolve(), path.with_suffix(".xml").resolve().parent):
            raise ModelError(f"{layer}: {quote(path.name)} is a link to a file outside the model's folder")
        if path.stat().st_size == 0:
            return np.empty(0, np.uint8)
        with path.open("rb") as file:
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    except OSError as error:
        raise ModelError(f"cannot read {quote(path.name)}: {error.strerror or error}") from None


def _require_attribute(layer: Layer, name: str) -> str:
    if name not in layer.attributes:
        raise ModelError(f"{layer}: its <data> lacks the attribute {name!r}")
    return layer.attributes[name]


def _shape(layer: Layer, itemsize: int) -> tuple[int, ...]:
    text = _require_attribute(layer, "shape").strip()
    parts = text.split(",", _MAX_RANK) if text else []
    if len(parts) > _MAX_RANK:
        raise ModelError(f"{layer}: more than {_MAX_RANK} dimensions")
    shape = tuple(integer(part.strip(), f"{layer}: a dimension of shape") for part in parts)
    if any(dim < 0 for dim in shape):
        raise ModelError(f"{layer}: shape {shape} has a negative dimension")
    # Zeros are skipped in the product: NumPy refuses (0, 2**62, 2**62), although it has no elements.
    if math.prod(dim for dim in shape if dim) * itemsize > _MAX_BYTES:
        raise ModelError(f"{layer}: shape {quote(text)} has more elements than memory can hold")
    return shape


def _array(raw: NDArray[np.uint8], dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    array = raw.view(dtype).reshape(shape)
    if sys.byteorder == "big":
        array = array.byteswap()
    # After a string, OpenVINO writes constants at odd offsets; the kernels need aligned ones.
    return array if array.flags.aligned else array.copy()


def _strings(layer: Layer, raw: NDArray[np.uint8], shape: tuple[int, ...]) -> NDArray[Any]:
    """Unpack strings: int32 count, int32 0, count int32 end offsets, then the UTF-8 bytes."""
    count = math.prod(shape)
    header = 4 * (count + 2)
    if raw.size < header:
        raise ModelError(f"{layer}: size is {raw.size}, but the header of {count} strings takes {header} bytes")
    stored, *offsets = raw[:header].view("<i4").tolist()
    text = raw[header:].tobytes()
    if stored != count or offsets[0] != 0 or sorted(offsets) != offsets or offsets[-1] > len(text):
        raise ModelError(f"{layer}: the offsets of its {count} strings contradict each other or its size")
    strings = np.empty(count, element_types.STRING)
    try:
        strings[:] = [text[begin:end].decode() for begin, end in pairwise(offsets)]
    except UnicodeDecodeError:
        raise ModelError(f"{layer}: a string is not valid UTF-8") from None
    return strings.reshape(shape)

"""Tensors whose data is in a file beside the model: found, checked and read.

A model may come from anyone, so its external data must lie in the model's own folder: no absolute paths,
no ``..``, and no symbolic link that leads out of it. Nothing is read before offset and length fit the file.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path, PureWindowsPath
from typing import NamedTuple

import numpy as np

from gatherscatter.model_interface import ModelError
from gatherscatter.onnx.extra import onnx
from gatherscatter.onnx.tensors import Layout, is_external, layout, to_array


class Region(NamedTuple):
    """A stretch of bytes in a file."""

    path: Path
    offset: int
    length: int


class ExternalData:
    """Reads the external tensors of one model; without a path (a model in memory) it refuses them all."""

    def __init__(self, model_path: Path | None = None) -> None:
        self._files: dict[Path, np.ndarray] = {}
        self._folder = None if model_path is None else model_path.parent.absolute()
        # A model cache keeps links to files elsewhere: beside the file that the link leads to is its folder too.
        self._roots = () if model_path is None else (model_path.parent.resolve(), model_path.resolve().parent)

    def load(self, tensor: onnx.TensorProto, where: str) -> np.ndarray:
        """The tensor's data, wherever it is."""
        return self.array(tensor, where) if is_external(tensor) else to_array(tensor, where)

    def array(self, tensor: onnx.TensorProto, where: str) -> np.ndarray:
        """The tensor's data, as a view of the file."""
        form = layout(tensor, where)
        region = self._region(tensor, form, where)
        if form.bits % 8:  # packed: the onnx package unpacks
            packed = onnx.TensorProto(data_type=tensor.data_type, dims=form.shape, raw_data=_read(region))
            return onnx.numpy_helper.to_array(packed)
        raw = self._mapped(region.path)[region.offset : region.offset + region.length]
        return raw.view(form.dtype.newbyteorder("<")).astype(form.dtype, copy=False).reshape(form.shape)

    def _mapped(self, path: Path) -> np.ndarray:
        """The bytes of a file, read when they are used: tensors may share them, and may be larger than memory."""
        if path not in self._files:
            empty = path.stat().st_size == 0  # which can't be mapped
            self._files[path] = np.empty(0, np.uint8) if empty else np.asarray(np.memmap(path, np.uint8, "r"))
        return self._files[path]

    def embed(self, tensor: onnx.TensorProto, where: str) -> None:
        """Move the data into the message (for tensors inside nodes, which only the onnx package reads)."""
        region = self._region(tensor, layout(tensor, where), where)
        tensor.raw_data = _read(region)
        tensor.ClearField("data_location")
        tensor.ClearField("external_data")

    def file(self, tensor: onnx.TensorProto, where: str) -> Path:
        """The file that the data is in, links resolved."""
        location = "".join(entry.value for entry in tensor.external_data if entry.key == "location")
        return self._locate(location, where)

    def _region(self, tensor: onnx.TensorProto, form: Layout, where: str) -> Region:
        if tensor.data_type == onnx.TensorProto.STRING:
            raise ModelError(f"{where}: strings can't be external data")
        if self._folder is None:
            raise ModelError(f"{where}: its data is in another file; give the model's path instead of a ModelProto")
        entries = {entry.key: entry.value for entry in tensor.external_data}
        path = self.file(tensor, where)
        offset = _number(entries.get("offset", "0"), "offset", where)
        length = _number(entries.get("length", str(form.nbytes)), "length", where)
        size = path.stat().st_size
        if length != form.nbytes:
            raise ModelError(f"{where}: shape {list(form.shape)} takes {form.nbytes} bytes; length says {length}")
        if offset + length > size:
            raise ModelError(
                f"{where}: bytes {offset} to {offset + length} are outside of {path.name!r}, which has {size}"
            )
        return Region(path, offset, length)

    def _locate(self, location: str, where: str) -> Path:
        if not location or "\0" in location:
            raise ModelError(f"{where}: external data without a file name")
        shown = repr(location[:80])
        windows = PureWindowsPath(location)  # splits at / and \ alike
        if windows.drive or windows.root or ".." in windows.parts:
            raise ModelError(f"{where}: external data {shown} is outside of the model's folder")
        assert self._folder is not None
        try:
            path = (self._folder / location).resolve(strict=True)
            regular = stat.S_ISREG(path.stat().st_mode)
        except (OSError, RuntimeError):  # missing, unreadable, too long, a circle of links
            raise ModelError(f"{where}: there is no external data file {shown}") from None
        if not any(path.is_relative_to(root) for root in self._roots):
            raise ModelError(f"{where}: external data {shown} is outside of the model's folder")
        if not regular:
            raise ModelError(f"{where}: external data {shown} is not a regular file")
        return path


def _number(text: str, key: str, where: str) -> int:
    if not re.fullmatch("[0-9]{1,19}", text):
        raise ModelError(f"{where}: {key} {text[:40]!r} of its external data is no byte count")
    return int(text)


def _read(region: Region) -> bytes:
    with region.path.open("rb") as file:
        file.seek(region.offset)
        return file.read(region.length)

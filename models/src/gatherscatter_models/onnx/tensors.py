"""Tensors of a model: their types, and their values in the model file or in an external file."""

from __future__ import annotations

import math
import re
import stat
from collections.abc import Iterator
from pathlib import Path, PureWindowsPath
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import onnx

from gatherscatter.arrays.tensor_files import TensorFileError, read_tensor_proto
from gatherscatter_models.interface import ModelError

MAX_RANK = 64  # of a NumPy array
_PAGE = 4096  # alignment with which runtimes can map each tensor from its file
_BITS = {"INT4": 4, "UINT4": 4, "FLOAT4E2M1": 4, "INT2": 2, "UINT2": 2, "FLOAT6E2M3": 6, "FLOAT6E3M2": 6}


class Layout(NamedTuple):
    """The type, shape and size of a tensor, from its type and dims."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    elements: int
    bits: int  # per element, as stored; 0 for strings

    @property
    def nbytes(self) -> int:
        """Length of the raw data."""
        return (self.elements * self.bits + 7) // 8


def type_name(data_type: int) -> str:
    """Return the name of an ONNX element type: ``float32``, ``bfloat16``, ``string``, ..."""
    if data_type == onnx.TensorProto.STRING:
        return "string"
    try:
        return onnx.helper.tensor_dtype_to_np_dtype(data_type).name
    except KeyError:
        return "undefined"


def number_of_type(name: str) -> int:
    """Return the ONNX element type for a name of `type_name`."""
    return int(onnx.helper.np_dtype_to_tensor_dtype(np.dtype(object if name == "string" else name)))


def layout(tensor: onnx.TensorProto, where: str) -> Layout:
    """Return the element type, shape and sizes of a tensor, without reading its data."""
    if type_name(tensor.data_type) == "undefined":
        raise ModelError(f"{where}: {tensor.data_type} is not an element type")
    shape = tuple(tensor.dims)
    if len(shape) > MAX_RANK:
        raise ModelError(f"{where}: rank {len(shape)} is more than {MAX_RANK}")
    if any(dim < 0 for dim in shape):
        raise ModelError(f"{where}: shape {list(shape)} has a negative dimension")
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
    # Zeros are skipped, because NumPy computes strides without them, and strides may overflow as well.
    if math.prod(dim for dim in shape if dim) * dtype.itemsize >= 2**63:
        raise ModelError(f"{where}: the product of shape {list(shape)} overflows")
    return Layout(dtype, shape, math.prod(shape), _bits(tensor.data_type))


def to_array(tensor: onnx.TensorProto, where: str) -> np.ndarray:
    """Return the tensor as an array. External data is not read."""
    layout(tensor, where)
    try:
        return read_tensor_proto(tensor)
    except TensorFileError as error:
        raise ModelError(f"{where}: {error}") from None


def is_external(tensor: onnx.TensorProto) -> bool:
    """Whether the tensor's data is in another file."""
    return bool(tensor.data_location == onnx.TensorProto.EXTERNAL)


def _bits(data_type: int) -> int:
    if data_type == onnx.TensorProto.STRING:
        return 0
    packed = _BITS.get(onnx.TensorProto.DataType.Name(data_type))
    return packed or int(onnx.helper.tensor_dtype_to_np_dtype(data_type).itemsize) * 8


def external_tensors(message: Any) -> Iterator[Any]:
    """Yield the tensors in a message of ONNX, at any depth, whose data is in another file."""
    for field, value in message.ListFields():
        if field.name == "external_data":
            yield message
        elif field.message_type is not None:
            for part in value if _is_repeated(value) else (value,):
                yield from external_tensors(part)


def _is_repeated(value: Any) -> bool:
    return not hasattr(value, "ListFields")


def append_data(tensor: onnx.TensorProto, data: bytes | memoryview, file: BinaryIO, name: str) -> None:
    """Append data to a file with this name, and make it the external data of the tensor."""
    _begin_data(tensor, len(data), file, name)
    file.write(data)


def _begin_data(tensor: onnx.TensorProto, length: int, file: BinaryIO, name: str) -> None:
    """Make the next bytes of a file with this name the external data of the tensor."""
    offset = -(-file.tell() // _PAGE) * _PAGE
    file.seek(offset)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    del tensor.external_data[:]
    for key, value in {"location": name, "offset": offset, "length": length}.items():
        tensor.external_data.add(key=key, value=str(value))


class FileRegion(NamedTuple):
    """A range of bytes in a file."""

    path: Path
    offset: int
    length: int


class ExternalData:
    """Reads the external tensors of one model. Without a path (a model in memory), all of them are refused."""

    def __init__(self, model_path: Path | None = None) -> None:
        self._files: dict[Path, np.ndarray] = {}
        self._folder = None if model_path is None else model_path.parent.absolute()
        # A model cache keeps links to files elsewhere. So the folder of the linked file also counts as the model's.
        self._roots = () if model_path is None else (model_path.parent.resolve(), model_path.resolve().parent)

    def load(self, tensor: onnx.TensorProto, where: str) -> np.ndarray:
        """Return the tensor's data, from the model or from an external file."""
        return self.array(tensor, where) if is_external(tensor) else to_array(tensor, where)

    def array(self, tensor: onnx.TensorProto, where: str) -> np.ndarray:
        """Return the tensor's external data, as a view of the file."""
        form = layout(tensor, where)
        region = self._region(tensor, form, where)
        if form.bits % 8:  # packed elements; the onnx package unpacks them
            packed = onnx.TensorProto(data_type=tensor.data_type, dims=form.shape, raw_data=_read(region))
            return onnx.numpy_helper.to_array(packed)
        raw = self._map_file(region.path)[region.offset : region.offset + region.length]
        return raw.view(form.dtype.newbyteorder("<")).astype(form.dtype, copy=False).reshape(form.shape)

    def _map_file(self, path: Path) -> np.ndarray:
        """Map the bytes of a file. Tensors may share them, and may be larger than memory."""
        if path not in self._files:
            empty = path.stat().st_size == 0  # an empty file can't be mapped
            self._files[path] = np.empty(0, np.uint8) if empty else np.asarray(np.memmap(path, np.uint8, "r"))
        return self._files[path]

    def embed(self, tensor: onnx.TensorProto, where: str) -> None:
        """Move the data into the message. This is for tensors in nodes, which only the onnx package reads."""
        region = self._region(tensor, layout(tensor, where), where)
        tensor.raw_data = _read(region)
        tensor.ClearField("data_location")
        tensor.ClearField("external_data")

    def copy(self, tensor: onnx.TensorProto, where: str, file: BinaryIO, name: str) -> None:
        """Append the data to another file with this name, and make that the external data of the tensor."""
        region = self._region(tensor, layout(tensor, where), where)
        _begin_data(tensor, region.length, file, name)
        with region.path.open("rb") as source:
            source.seek(region.offset)
            left = region.length
            while left > 0:
                block = source.read(min(left, 1 << 20))
                if not block:
                    raise ModelError(f"{where}: {region.path.name!r} became shorter")
                file.write(block)
                left -= len(block)

    def file(self, tensor: onnx.TensorProto, where: str) -> Path:
        """Return the file with the data, with links resolved."""
        location = "".join(entry.value for entry in tensor.external_data if entry.key == "location")
        return self._locate(location, where)

    def _region(self, tensor: onnx.TensorProto, form: Layout, where: str) -> FileRegion:
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
        return FileRegion(path, offset, length)

    def _locate(self, location: str, where: str) -> Path:
        if not location or "\0" in location:
            raise ModelError(f"{where}: external data without a file name")
        shown = repr(location[:80])
        windows = PureWindowsPath(location)  # splits at both / and \
        if windows.drive or windows.root or ".." in windows.parts:
            raise ModelError(f"{where}: external data {shown} is outside of the model's folder")
        assert self._folder is not None
        try:
            path = (self._folder / location).resolve(strict=True)
            regular = stat.S_ISREG(path.stat().st_mode)
        except (OSError, RuntimeError):  # missing, unreadable, too long, a circle of links
            raise ModelError(f"{where}: external data file {shown} does not exist") from None
        if not any(path.is_relative_to(root) for root in self._roots):
            raise ModelError(f"{where}: external data {shown} is outside of the model's folder")
        if not regular:
            raise ModelError(f"{where}: external data {shown} is not a regular file")
        return path


def _number(text: str, key: str, where: str) -> int:
    if not re.fullmatch("[0-9]{1,19}", text):
        raise ModelError(f"{where}: {key} {text[:40]!r} of its external data is not a byte count")
    return int(text)


def _read(region: FileRegion) -> bytes:
    with region.path.open("rb") as file:
        file.seek(region.offset)
        return file.read(region.length)

"""Tensors of a model: their types, and their values in the model file or in an external file."""

from __future__ import annotations

import math
import re
import stat
from pathlib import Path, PureWindowsPath
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from gatherscatter_models.interface import ModelError

MAX_RANK = 64  # of a NumPy array
_PAGE = 4096  # alignment with which runtimes can map each tensor from its file
_FIELDS = ("float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data")
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


def check_tensor(tensor: onnx.TensorProto, where: str) -> Layout:
    """Raise `ModelError` unless the tensor has exactly the data that its type and shape require."""
    form = layout(tensor, where)
    if tensor.HasField("segment"):
        raise ModelError(f"{where}: tensors in segments aren't supported")
    if is_external(tensor):
        raise ModelError(f"{where}: external data isn't possible here")
    filled = [name for name in _FIELDS if len(getattr(tensor, name))]
    if tensor.HasField("raw_data"):
        _check_raw(tensor, form, where, filled)
        return form
    field = onnx.helper.tensor_dtype_to_field(tensor.data_type)
    wrong = [name for name in filled if name != field]
    if wrong:
        raise ModelError(f"{where}: {type_name(tensor.data_type)} data must be in {field}, not in {wrong[0]}")
    found, wanted = len(getattr(tensor, field)), _entries(tensor.data_type, form)
    if found != wanted:
        raise ModelError(f"{where}: shape {list(form.shape)} needs {wanted} values in {field}; it has {found}")
    return form


def to_array(tensor: onnx.TensorProto, where: str) -> np.ndarray:
    """Return the tensor as an array. External data is not read."""
    form = check_tensor(tensor, where)
    if tensor.data_type == onnx.TensorProto.STRING:
        return _string_array(tensor, form, where)
    return onnx.numpy_helper.to_array(tensor)


def parse_tensor(data: bytes) -> onnx.TensorProto:
    """Parse bytes as a TensorProto, unchecked."""
    tensor = onnx.TensorProto()
    try:
        tensor.ParseFromString(data)
    except DecodeError as error:
        raise ModelError(f"not a TensorProto, or a truncated one ({error})") from None
    return tensor


def is_external(tensor: onnx.TensorProto) -> bool:
    """Whether the tensor's data is in another file."""
    return bool(tensor.data_location == onnx.TensorProto.EXTERNAL)


def check_strings(tensor: onnx.TensorProto, where: str) -> None:
    """Refuse strings that would take far more memory during the conversion by the onnx package.

    Its to_array makes a padded ``<U`` array first: a thousand short strings and one of a megabyte would take 4 GB.
    """
    lengths = [len(text) for text in tensor.string_data]
    if lengths and 4 * len(lengths) * max(lengths) > (1 << 26) + 256 * sum(lengths):
        raise ModelError(f"{where}: {len(lengths)} strings of very different lengths, up to {max(lengths)} bytes")


def _check_raw(tensor: onnx.TensorProto, form: Layout, where: str, filled: list[str]) -> None:
    if filled:
        raise ModelError(f"{where}: data in raw_data and in {filled[0]}")
    if tensor.data_type == onnx.TensorProto.STRING:
        raise ModelError(f"{where}: strings can't be in raw_data")
    found = len(tensor.raw_data)
    if found != form.nbytes:
        raise ModelError(
            f"{where}: {type_name(tensor.data_type)} {list(form.shape)} takes {form.nbytes} bytes; raw_data has {found}"
        )


def _bits(data_type: int) -> int:
    if data_type == onnx.TensorProto.STRING:
        return 0
    packed = _BITS.get(onnx.TensorProto.DataType.Name(data_type))
    return packed or int(onnx.helper.tensor_dtype_to_np_dtype(data_type).itemsize) * 8


def _entries(data_type: int, form: Layout) -> int:
    """Return the number of entries in the typed field. Complex numbers take two; 4-bit and 2-bit numbers are packed."""
    if form.dtype.kind == "c":
        return 2 * form.elements
    per_entry = {4: 2, 2: 4}.get(_bits(data_type), 1)
    return -(-form.elements // per_entry)


def _string_array(tensor: onnx.TensorProto, form: Layout, where: str) -> np.ndarray:
    array = np.empty(form.elements, dtype=object)
    try:
        array[:] = [text.decode("utf-8") for text in tensor.string_data]
    except UnicodeDecodeError as error:
        raise ModelError(f"{where}: a string is not UTF-8 ({error.reason})") from None
    return array.reshape(form.shape)


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

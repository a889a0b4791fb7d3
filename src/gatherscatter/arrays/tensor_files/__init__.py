"""Read and write arrays in files: ``.npy``, ``.npz`` and ``.pb`` (an ONNX TensorProto).

Files are checked before memory is allocated, because a header can claim any shape. Nothing is ever unpickled. Element
types that NumPy's format does not support (bfloat16, float8, int4, ...) are stored as a structure of one field with
their name. `read_tensors` restores the type. Elsewhere, ``np.load(file).view(ml_dtypes.bfloat16)`` reads them.
"""

from __future__ import annotations

import ast
import math
import os
import re
import warnings
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, TypeVar

import ml_dtypes
import numpy as np

from gatherscatter.arrays.tensor_files.zip_members import MOST, open_member
from gatherscatter.system.extras import require
from gatherscatter.system.files import replace_atomically

Arrays = dict[str, np.ndarray]
F = TypeVar("F", bound=Callable[..., Any])


class TensorFileError(ValueError):
    """A file with arrays can't be read or written. The message is one line."""


LONGEST_HEADER = 10_000  # bytes, as in NumPy
PIECE = 1 << 20  # bytes that are read at a time


def read_tensors(path: str | os.PathLike[str]) -> Arrays:
    """Read all arrays in a file, by name. An array without a name gets the file's name without the suffix."""
    path = Path(path)
    read = _choose_by_suffix(path, {".npy": _read_npy, ".npz": _read_npz, ".pb": _read_pb})
    try:
        if path.exists() and not path.is_file():
            raise TensorFileError("it is not a regular file")
        return read(path)
    except TensorFileError as error:
        raise TensorFileError(f"{path}: {error}") from None
    except OSError as error:
        raise TensorFileError(f"{path}: {error.strerror or _reason(error)}") from None
    except MemoryError:
        raise TensorFileError(f"{path}: there is not enough memory for its arrays") from None


def write_tensors(path: str | os.PathLike[str], tensors: Mapping[str, np.ndarray]) -> None:
    """Write arrays to a file: any number to a ``.npz``, exactly one to a ``.npy`` or ``.pb``."""
    path = Path(path)
    write = _choose_by_suffix(path, {".npy": _write_npy, ".npz": _write_npz, ".pb": _write_pb})
    try:
        with replace_atomically(path) as part:
            write(part, {name: np.asarray(array) for name, array in tensors.items()})
    except TensorFileError as error:
        raise TensorFileError(f"{path}: {error}") from None
    except OSError as error:
        raise TensorFileError(f"{path}: {error.strerror or error}") from None


def _choose_by_suffix(path: Path, by_suffix: dict[str, F]) -> F:
    chosen = by_suffix.get(path.suffix.lower())
    if chosen is None:
        raise TensorFileError(f"{path}: the suffix of a file with arrays must be one of {', '.join(by_suffix)}")
    return chosen


def _read_npy(path: Path) -> Arrays:
    with path.open("rb") as file:
        return {path.stem: _array(file, path.stat().st_size)}


def _read_npz(path: Path) -> Arrays:
    try:
        with zipfile.ZipFile(path) as archive:
            return _members(archive, path.stat().st_size)
    except (TensorFileError, OSError, MemoryError):
        raise
    except Exception as error:  # zipfile and the decompressors raise many types
        raise TensorFileError(f"not a valid .npz file ({_reason(error)})") from None


def _members(archive: zipfile.ZipFile, archive_size: int) -> Arrays:
    infos = archive.infolist()
    if sum(info.compress_size for info in infos) > archive_size:
        raise TensorFileError("not a valid .npz file (its members overlap)")
    arrays: Arrays = {}
    for info in infos:
        name = info.filename.removesuffix(".npy")
        if not name or name in arrays:
            raise TensorFileError(f"two arrays have the name {_shorten_name(name)}" if name else "an array has no name")
        arrays[name] = _member(archive, info)
    return arrays


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    name = _shorten_name(info.filename)
    if info.compress_type not in MOST:
        raise TensorFileError(f"array {name}: compression method {info.compress_type} isn't supported; use np.savez")
    if info.flag_bits & 1:
        raise TensorFileError(f"array {name}: it is encrypted")
    try:
        with open_member(archive, info) as file:
            return _array(file, min(info.file_size, MOST[info.compress_type] * info.compress_size))
    except TensorFileError as error:
        raise TensorFileError(f"array {name}: {error}") from None


def _shorten_name(name: str) -> str:
    return repr(name if len(name) <= 80 else f"{name[:77]}...")


def _reason(error: Exception) -> str:
    """The text of an error, in one short line."""
    text = " ".join((str(error) or type(error).__name__).split())[:200]
    return text if text.isprintable() else ascii(text)


def _array(file: IO[bytes], size: int) -> np.ndarray:
    """Read an array in ``.npy`` form. The file has ``size`` more bytes."""
    shape, fortran_order, dtype = _header(file)
    if dtype.itemsize == 0:
        raise TensorFileError(f"elements of {_type_text(dtype)} have no size")
    if dtype.hasobject:
        raise TensorFileError("it holds Python objects, which are never unpickled; save strings with a fixed width")
    length = _length(shape, dtype)
    if length > size:
        raise TensorFileError(f"shape {shape} of {_type_text(dtype)} takes {length} bytes; the file has {size}")
    data = np.empty(length, np.uint8)
    found = _fill(file, data.data) if length else 0
    if found < length:
        missing = f"takes {length} bytes; {found} come after the header"
        raise TensorFileError(f"shape {shape} of {_type_text(dtype)} {missing}")
    return _named_type(data.view(dtype).reshape(shape, order="F" if fortran_order else "C"))


def _fill(file: IO[bytes], buffer: memoryview) -> int:
    """Read into a buffer until it is full or the file ends. Return the number of bytes."""
    found = 0
    while found < len(buffer) and (count := file.readinto(buffer[found : found + PIECE])):  # type: ignore[attr-defined]
        found += count
    return found


def _type_text(dtype: np.dtype[Any]) -> str:
    text = str(dtype)
    return text if len(text) <= 200 else f"{text[:197]}..."


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read shape, order and type from the header of a ``.npy`` file.

    Unlike NumPy's reader, it raises a TensorFileError for every invalid header, and it gives no warnings.
    """
    magic = file.read(8)
    if len(magic) < 8 or not magic.startswith(np.lib.format.MAGIC_PREFIX):
        raise TensorFileError("not an array in .npy form")
    major, minor = magic[6:]
    if (major, minor) not in ((1, 0), (2, 0), (3, 0)):
        raise TensorFileError(f"version {major}.{minor} of the .npy format isn't supported")
    length = int.from_bytes(file.read(2 if major == 1 else 4), "little")
    if length > LONGEST_HEADER:
        raise TensorFileError(f"not an array in .npy form (its header has {length} bytes)")
    text = file.read(length)
    if len(text) < length:
        raise TensorFileError("not an array in .npy form (its header is truncated)")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about backslashes in strings, and old names of types
            return _parse_header(text.decode("utf-8" if major == 3 else "latin-1").strip())
    except Exception as error:  # Python's parser and NumPy raise many types
        raise TensorFileError(f"not an array in .npy form (its header can't be read: {_reason(error)})") from None


def _parse_header(text: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        fields = ast.literal_eval(text)
    except SyntaxError:
        fields = ast.literal_eval(re.sub(r"(?<=\d)L\b", "", text))  # sizes as Python 2 wrote them
    shape, order, descr = fields["shape"], fields["fortran_order"], fields["descr"]
    if not isinstance(shape, tuple) or not all(type(dim) is int for dim in shape) or type(order) is not bool:
        raise ValueError("wrong types")
    return shape, order, np.lib.format.descr_to_dtype(descr)


def _length(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    if len(shape) > 64 or any(dim < 0 for dim in shape):
        raise TensorFileError(f"{str(shape)[:200]} is not a valid shape")
    if math.prod(dim for dim in shape if dim) * dtype.itemsize >= 2**63:
        raise TensorFileError(f"the product of shape {shape} overflows")
    return math.prod(shape) * dtype.itemsize


def _named_type(array: np.ndarray) -> np.ndarray:
    """Convert an array made by `_to_storable` to the type that its only field is named after."""
    names = array.dtype.names or ()
    named = getattr(ml_dtypes, names[0], None) if len(names) == 1 else None
    if isinstance(named, type) and issubclass(named, np.generic) and array.dtype == _one_field(np.dtype(named)):
        return array.view(named)
    return array


def _one_field(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype([(dtype.name, f"V{dtype.itemsize}")])


def _to_storable(name: str, array: np.ndarray) -> np.ndarray:
    """Convert an array to a type that NumPy's format supports. `_array` converts it back."""
    if array.dtype.isbuiltin == 2:  # registered by another package: ml_dtypes
        return np.ascontiguousarray(array).reshape(array.shape).view(_one_field(array.dtype))
    if array.dtype.kind not in "OT":
        return array
    texts = array.astype(object)
    if not all(isinstance(text, str) for text in texts.flat):
        raise TensorFileError(f"{name!r} holds objects other than strings")
    if any(text.endswith("\0") for text in texts.flat):
        raise TensorFileError(f"{name!r} has a string that ends in a null character, which only a .pb file keeps")
    return texts.astype(np.str_)


def _write_npy(path: Path, tensors: Arrays) -> None:
    array = _to_storable(*_require_single(tensors))
    with path.open("wb") as file:
        np.lib.format.write_array(file, array, allow_pickle=False)


def _write_npz(path: Path, tensors: Arrays) -> None:
    arrays = {name: _to_storable(name, array) for name, array in tensors.items()}
    with zipfile.ZipFile(path, "w") as archive:  # not np.savez, which reserves the name "file"
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


def _require_single(tensors: Arrays) -> tuple[str, np.ndarray]:
    if len(tensors) != 1:
        raise TensorFileError(f"a file of this kind holds one array, not {len(tensors)}; use a .npz file")
    return next(iter(tensors.items()))


def _read_pb(path: Path) -> Arrays:
    tensor = _import_onnx().TensorProto()
    try:
        tensor.ParseFromString(path.read_bytes())
    except OSError:
        raise
    except Exception as error:  # a class of protobuf
        raise TensorFileError(f"not a valid TensorProto ({_reason(error)})") from None
    array = read_tensor_proto(tensor)
    return {tensor.name or path.stem: array}


def read_tensor_proto(tensor: Any) -> np.ndarray:
    """Return an ``onnx.TensorProto`` as an array. Data in other files is refused."""
    onnx = _import_onnx()
    if not isinstance(tensor.name, str):
        raise TensorFileError("the name of the tensor is not valid UTF-8")
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        raise TensorFileError("its data is in another file")
    try:
        onnx.checker.check_tensor(tensor)
        if tensor.data_type != onnx.TensorProto.STRING:
            return onnx.numpy_helper.to_array(tensor)  # type: ignore[no-any-return]
        # `to_array` would pad all strings to the length of the longest one.
        texts = [text.decode("utf-8") for text in tensor.string_data]
        return np.array([*texts, None], object)[:-1].reshape(tuple(tensor.dims))
    except MemoryError:
        raise
    except Exception as error:  # the checker and NumPy raise many types
        raise TensorFileError(f"not a valid TensorProto ({_reason(error)})") from None


def _write_pb(path: Path, tensors: Arrays) -> None:
    name, array = _require_single(tensors)
    path.write_bytes(to_tensor_proto(array, name).SerializeToString())


def to_tensor_proto(array: np.ndarray, name: str) -> Any:
    """Return an ``onnx.TensorProto`` with this name. Strings of any NumPy kind and any byte order are accepted."""
    if array.dtype.kind in "UT":
        array = array.astype(object)
    try:
        native = array.astype(array.dtype.newbyteorder("="), copy=False)
        return _import_onnx().numpy_helper.from_array(native, name)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise TensorFileError(f"{array.dtype} can't be stored in a TensorProto ({error})") from None


def _import_onnx() -> Any:
    with require("onnx", text=".pb files need ONNX", install="onnx"):
        import onnx
    return onnx

"""Arrays from and to files: ``.npy``, ``.npz`` and ``.pb`` (an ONNX TensorProto).

Files are checked before memory is taken: a header can claim any shape. Nothing is ever unpickled. The element types
that NumPy's format doesn't know (bfloat16, float8, int4, ...) are stored under their names, as a structure of one
field, so that they come back as what they were; ``np.load(file).view(ml_dtypes.bfloat16)`` reads them elsewhere.
"""

from __future__ import annotations

import math
import os
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, TypeVar

import ml_dtypes
import numpy as np

from gatherscatter.files import replacing
from gatherscatter.model_interface import ModelError

Arrays = dict[str, np.ndarray]
F = TypeVar("F", bound=Callable[..., Any])


def read_tensors(path: str | os.PathLike[str]) -> Arrays:
    """All arrays in a file by name; an array without a name of its own gets the file's (without the suffix)."""
    path = Path(path)
    read = _chosen(path, {".npy": _read_npy, ".npz": _read_npz, ".pb": _read_pb})
    try:
        return read(path)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror or error}") from None


def write_tensors(path: str | os.PathLike[str], tensors: Mapping[str, np.ndarray]) -> None:
    """Write arrays to a file: any number of them to a ``.npz``, exactly one to a ``.npy`` or ``.pb``."""
    path = Path(path)
    write = _chosen(path, {".npy": _write_npy, ".npz": _write_npz, ".pb": _write_pb})
    try:
        with replacing(path) as part:
            write(part, {name: np.asarray(array) for name, array in tensors.items()})
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror or error}") from None


def _chosen(path: Path, by_suffix: dict[str, F]) -> F:
    chosen = by_suffix.get(path.suffix.lower())
    if chosen is None:
        raise ModelError(f"{path}: arrays are kept in files whose names end in {', '.join(by_suffix)}")
    return chosen


def _read_npy(path: Path) -> Arrays:
    with path.open("rb") as file:
        return {path.stem: _array(file, path.stat().st_size)}


def _read_npz(path: Path) -> Arrays:
    try:
        with zipfile.ZipFile(path) as archive:
            return {
                info.filename.removesuffix(".npy"): _member(archive, info, path.stat().st_size)
                for info in archive.infolist()
            }
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise ModelError(f"this is no .npz file, or it is damaged ({error})") from None


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, archive_size: int) -> np.ndarray:
    # Deflate shrinks at most 1032 times; a directory that claims more is made up.
    size = min(info.file_size, 1032 * min(info.compress_size, archive_size))
    try:
        with archive.open(info) as file:
            return _array(file, size)
    except ModelError as error:
        raise ModelError(f"array {info.filename!r}: {error}") from None


def _array(file: IO[bytes], size: int) -> np.ndarray:
    """The array in ``.npy`` form of ``size`` bytes that the file has from here on."""
    try:
        version = np.lib.format.read_magic(file)
        readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        if version not in readers:
            raise ModelError(f"version {version[0]}.{version[1]} of the .npy format isn't supported")
        shape, fortran_order, dtype = readers[version](file)
        if dtype.itemsize == 0:
            raise ModelError(f"elements of {dtype!r} have no size")
        if dtype.hasobject:
            raise ModelError("it holds Python objects, which are never unpickled; save strings with a fixed width")
        length = _length(shape, dtype)
        if length > size:
            raise ModelError(f"shape {shape} of {dtype} takes {length} bytes; the file has {size}")
        data = np.empty(length, np.uint8)
        found = file.readinto(data) if length else 0  # type: ignore[attr-defined]
        if found < length:
            raise ModelError(f"shape {shape} of {dtype} takes {length} bytes; {found} come after the header")
        return _named_type(data.view(dtype).reshape(shape, order="F" if fortran_order else "C"))
    except (ValueError, TypeError, SyntaxError, EOFError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"this is no array in .npy form ({str(error).splitlines()[0][:200]})") from None


def _length(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    if len(shape) > 64 or any(dim < 0 for dim in shape):
        raise ModelError(f"{str(shape)[:200]} is no shape")
    if math.prod(dim for dim in shape if dim) * dtype.itemsize >= 2**63:
        raise ModelError(f"the product of shape {shape} overflows")
    return math.prod(shape) * dtype.itemsize


def _named_type(array: np.ndarray) -> np.ndarray:
    """The array as the type that its only field is named after, if `_storable` made it."""
    names = array.dtype.names or ()
    named = getattr(ml_dtypes, names[0], None) if len(names) == 1 else None
    if isinstance(named, type) and issubclass(named, np.generic) and array.dtype == _one_field(np.dtype(named)):
        return array.view(named)
    return array


def _one_field(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype([(dtype.name, f"V{dtype.itemsize}")])


def _storable(name: str, array: np.ndarray) -> np.ndarray:
    """The array in a type that NumPy's format can hold and `_array` turns back."""
    if array.dtype.isbuiltin == 2:  # registered by another package: ml_dtypes
        return np.ascontiguousarray(array).reshape(array.shape).view(_one_field(array.dtype))
    if array.dtype.kind not in "OT":
        return array
    texts = array.astype(object)
    if not all(isinstance(text, str) for text in texts.flat):
        raise ModelError(f"{name!r} holds objects other than strings")
    if any(text.endswith("\0") for text in texts.flat):
        raise ModelError(f"{name!r} has a string that ends in a null character, which only a .pb file keeps")
    return texts.astype(np.str_)


def _write_npy(path: Path, tensors: Arrays) -> None:
    array = _storable(*_only(tensors))
    with path.open("wb") as file:
        np.lib.format.write_array(file, array, allow_pickle=False)


def _write_npz(path: Path, tensors: Arrays) -> None:
    arrays = {name: _storable(name, array) for name, array in tensors.items()}
    with zipfile.ZipFile(path, "w") as archive:  # not np.savez, which reserves the name "file"
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


def _only(tensors: Arrays) -> tuple[str, np.ndarray]:
    if len(tensors) != 1:
        raise ModelError(f"{len(tensors)} arrays need a .npz file; this holds one")
    return next(iter(tensors.items()))


def _read_pb(path: Path) -> Arrays:
    from gatherscatter.onnx.tensors import parse_tensor, to_array

    tensor = parse_tensor(path.read_bytes())
    return {tensor.name or path.stem: to_array(tensor, f"tensor {tensor.name!r}")}


def _write_pb(path: Path, tensors: Arrays) -> None:
    from gatherscatter.onnx.tensors import from_array

    name, array = _only(tensors)
    path.write_bytes(from_array(array, name).SerializeToString())

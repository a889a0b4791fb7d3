"""Reading and writing arrays in .npy, .npz and .pb files, valid and invalid ones."""

from __future__ import annotations

import io
import os
import struct
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from gatherscatter.arrays.tensor_files import TensorFileError, read_tensors, write_tensors

onnx = pytest.importorskip("onnx")
TensorProto = onnx.TensorProto

PLAIN = ("bool", "int8", "int64", "uint16", "float16", "float32", "float64", "complex64")
NARROW = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "int4", "uint4", "float4_e2m1fn")
SHAPES = ((), (3,), (2, 3), (0,), (2, 0, 3))


def refusal(path: Path) -> str:
    with pytest.raises(TensorFileError) as caught:
        read_tensors(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    return text


def example(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    return np.ones(shape, np.float32).astype(np.dtype(dtype))


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".pb"])
@pytest.mark.parametrize("dtype", PLAIN + NARROW)
def test_every_type_comes_back_as_it_was(tmp_path: Path, suffix: str, dtype: str) -> None:
    path = tmp_path / f"x{suffix}"
    for shape in SHAPES:
        array = example(dtype, shape)
        write_tensors(path, {"x": array})
        (back,) = read_tensors(path).values()
        assert back.dtype == array.dtype
        assert back.shape == shape
        assert back.astype(np.complex64).tolist() == array.astype(np.complex64).tolist()


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".pb"])
@pytest.mark.parametrize("kind", ["O", "U", "T"])
def test_strings(tmp_path: Path, suffix: str, kind: str) -> None:
    path = tmp_path / f"x{suffix}"
    words = np.array([["a", "", "four"]], {"O": object, "U": np.str_, "T": np.dtypes.StringDType()}[kind])
    write_tensors(path, {"x": words})
    assert read_tensors(path)["x"].tolist() == [["a", "", "four"]]


def test_layouts(tmp_path: Path) -> None:
    array = np.arange(24, dtype=">i4").reshape(2, 3, 4)
    layouts = [array, array.T, array[:, ::-2], np.broadcast_to(array, (2, 2, 3, 4)), np.asfortranarray(array)]
    layouts += [other.astype("bfloat16").T for other in layouts]
    for other in layouts:
        for suffix in (".npy", ".npz", ".pb"):
            path = tmp_path / f"x{suffix}"
            write_tensors(path, {"x": other})
            np.testing.assert_array_equal(read_tensors(path)["x"], other, strict=False)


def test_arrays_read_may_be_written_to(tmp_path: Path) -> None:
    write_tensors(tmp_path / "x.npy", {"x": np.zeros(3)})
    read_tensors(tmp_path / "x.npy")["x"][0] = 1


def test_names(tmp_path: Path) -> None:
    """Tensors have their names in the file, or else the file's name. Some of these names break np.savez."""
    arrays = {"file": np.zeros(1), "a/b:0": np.ones(2), "allow_pickle": np.array(3), "data.npy": np.array(4)}
    write_tensors(tmp_path / "all.npz", arrays)
    back = read_tensors(tmp_path / "all.npz")
    assert list(back) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array)
    write_tensors(tmp_path / "stem.npy", {"x": np.zeros(1)})
    assert list(read_tensors(tmp_path / "stem.npy")) == ["stem"]
    write_tensors(tmp_path / "stem.pb", {"x": np.zeros(1)})
    assert list(read_tensors(tmp_path / "stem.pb")) == ["x"]
    write_tensors(tmp_path / "stem.pb", {"": np.zeros(1)})
    assert list(read_tensors(tmp_path / "stem.pb")) == ["stem"]


def test_numpy_and_onnx_read_what_we_write_and_we_what_they_write(tmp_path: Path) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    write_tensors(tmp_path / "x.npz", {"x": array})
    np.testing.assert_array_equal(np.load(tmp_path / "x.npz")["x"], array, strict=True)
    write_tensors(tmp_path / "x.npy", {"x": array.astype(ml_dtypes.bfloat16)})
    assert np.load(tmp_path / "x.npy").view(ml_dtypes.bfloat16).tolist() == array.tolist()
    write_tensors(tmp_path / "x.pb", {"x": array})
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(onnx.load_tensor(tmp_path / "x.pb")), array, strict=True)
    np.savez_compressed(tmp_path / "y.npz", x=array, y=np.array(["a"]))
    np.testing.assert_array_equal(read_tensors(tmp_path / "y.npz")["x"], array, strict=True)
    np.save(tmp_path / "y.npy", array[::2])
    np.testing.assert_array_equal(read_tensors(tmp_path / "y.npy")["y"], array[::2], strict=True)
    (tmp_path / "y.pb").write_bytes(onnx.numpy_helper.from_array(array, "y").SerializeToString())
    np.testing.assert_array_equal(read_tensors(tmp_path / "y.pb")["y"], array, strict=True)


def test_only_three_suffixes(tmp_path: Path) -> None:
    for action in (lambda path: read_tensors(path), lambda path: write_tensors(path, {"x": np.zeros(1)})):
        with pytest.raises(TensorFileError, match=r"must be one of \.npy, \.npz, \.pb"):
            action(tmp_path / "x.csv")


def test_one_array_a_file_but_for_npz(tmp_path: Path) -> None:
    for suffix in (".npy", ".pb"):
        with pytest.raises(TensorFileError, match=r"holds one array, not 2; use a \.npz file"):
            write_tensors(tmp_path / f"x{suffix}", {"x": np.zeros(1), "y": np.zeros(1)})
        with pytest.raises(TensorFileError, match=r"holds one array, not 0"):
            write_tensors(tmp_path / f"x{suffix}", {})
    write_tensors(tmp_path / "x.npz", {})
    assert read_tensors(tmp_path / "x.npz") == {}


def test_what_npy_cannot_keep_is_refused_before_a_file_is_made(tmp_path: Path) -> None:
    with pytest.raises(TensorFileError, match="a string that ends in a null character"):
        write_tensors(tmp_path / "x.npy", {"x": np.array(["a\0"], object)})
    with pytest.raises(TensorFileError, match=r"datetime64\[D\] can't be stored in a TensorProto"):
        write_tensors(tmp_path / "x.pb", {"x": np.array(["2020-01-01"], "datetime64[D]")})
    with pytest.raises(TensorFileError, match="holds objects other than strings"):
        write_tensors(tmp_path / "x.npy", {"x": np.array([{}], object)})
    assert not (tmp_path / "x.npy").exists()
    write_tensors(tmp_path / "x.pb", {"x": np.array(["a\0"], object)})
    assert read_tensors(tmp_path / "x.pb")["x"].tolist() == ["a\0"]


def test_files_that_arent_there(tmp_path: Path) -> None:
    assert "No such file" in refusal(tmp_path / "x.npy")
    with pytest.raises(TensorFileError, match="No such file"):
        write_tensors(tmp_path / "none" / "x.npy", {"x": np.zeros(1)})


# Bad files


@pytest.fixture
def modest() -> Iterator[None]:
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20


def npy(header: str, data: bytes = b"", version: tuple[int, int] = (1, 0)) -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H" if version == (1, 0) else "<I", len(text)) + text + data


def described(descr: str, shape: str) -> str:
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}"


BAD_NPY = {
    "empty": (b"", "not an array in .npy form"),
    "text": (b"1, 2, 3\n4, 5, 6\n", "not an array in .npy form"),
    "short": (npy(described("'<f4'", "(3,)"), b"\0" * 11), "takes 12 bytes; 11 come after the header"),
    "huge": (npy(described("'<f4'", f"({1 << 40},)")), "takes 4398046511104 bytes"),
    "overflow": (npy(described("'<f4'", f"({1 << 40}, {1 << 40})")), "overflows"),
    "hidden overflow": (npy(described("'<f4'", f"({1 << 62}, 0, 4)")), "overflows"),
    "negative": (npy(described("'<f4'", "(-3,)"), b"\0" * 12), "(-3,) is not a valid shape"),
    "negatives": (npy(described("'<f4'", "(-3, -1)"), b"\0" * 12), "is not a valid shape"),
    "rank": (npy(described("'<f4'", str((1,) * 65)), b"\0" * 4), "is not a valid shape"),
    "pickle": (
        npy(described("'|O'", "(1,)"), b"cos\nsystem\n(S'true'\ntR."),
        "Python objects, which are never unpickled",
    ),
    "hidden pickle": (npy(described("[('a', '|O')]", "(1,)"), b"abc"), "Python objects, which are never unpickled"),
    "no type": (npy(described("'nonsense'", "(1,)"), b"\0" * 4), "not an array in .npy form"),
    "no size": (npy(described("'<U0'", f"({1 << 40},)")), "have no size"),
    "no size at all": (npy(described("'|V0'", f"({1 << 40},)")), "have no size"),
    "no dict": (npy("__import__('os').system('true')"), "not an array in .npy form"),
    "half": (npy("{'descr': '<f4'")[:-1], "not an array in .npy form"),
    "version": (npy(described("'<f4'", "(1,)"), b"\0" * 4, (1, 1)), "version 1.1 of the .npy format"),
    "future": (npy(described("'<f4'", "(1,)"), b"\0" * 4, (9, 0)), "version"),
    "long header": (npy(described("'<f4'", "(1,)") + " " * 20_000, b"\0" * 4), "not an array in .npy form"),
}


@pytest.mark.usefixtures("modest")
@pytest.mark.parametrize("case", BAD_NPY)
def test_bad_npy(tmp_path: Path, case: str) -> None:
    content, reason = BAD_NPY[case]
    (tmp_path / "x.npy").write_bytes(content)
    assert reason in refusal(tmp_path / "x.npy")
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("inner.npy", content)
    text = refusal(tmp_path / "x.npz")
    assert reason in text
    assert "array 'inner.npy': " in text


@pytest.mark.usefixtures("modest")
def test_an_npz_whose_directory_claims_too_much(tmp_path: Path) -> None:
    content = io.BytesIO()
    np.lib.format.write_array_header_1_0(content, {"descr": "|u1", "fortran_order": False, "shape": (2**60,)})
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("a.npy", content.getvalue() + b"x" * 100)
        archive.filelist[0].file_size = archive.filelist[0].compress_size = 2**62
    text = refusal(tmp_path / "x.npz")
    assert "its members overlap" in text or "zip bomb" in text  # newer versions of Python detect it as well


def test_bad_npz(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    path.write_bytes(b"PK\x03\x04 nothing more")
    assert "not a valid .npz file" in refusal(path)
    np.savez_compressed(path, x=np.zeros(1000), y=np.arange(1000))
    content = path.read_bytes()
    for length in range(0, len(content), 97):
        path.write_bytes(content[:length])
        refusal(path)
    damaged = bytearray(content)
    damaged[200:260] = os.urandom(60)
    path.write_bytes(damaged)
    refusal(path)


@pytest.mark.usefixtures("modest")
def test_a_member_that_claims_more_than_it_can_unpack_to(tmp_path: Path) -> None:
    """The directory claims 4 GB and the header 2 GB. The compressed bytes could never expand to that."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", npy(described("'|u1'", f"({1 << 31},)"), b"\0" * 100))
    content = bytearray(file.getvalue())
    directory = content.index(b"PK\x01\x02")
    content[directory + 24 : directory + 28] = struct.pack("<I", 0xFFFFFFF0)
    (tmp_path / "x.npz").write_bytes(content)
    assert "takes 2147483648 bytes; the file has" in refusal(tmp_path / "x.npz")


@pytest.mark.usefixtures("modest")
@pytest.mark.parametrize(
    ("tensor", "reason"),
    [
        (TensorProto(), "'data_type' of 'tensor' is required"),
        (TensorProto(data_type=1, dims=[1 << 50]), "should contain one and only one value field"),
        (TensorProto(data_type=1, dims=[-1], raw_data=b"\0" * 4), "Negative dimension"),
        (
            TensorProto(data_type=1, dims=[3], raw_data=b"\0" * 4),
            "is too small for the declared shape and type (12 bytes required)",
        ),
        (TensorProto(data_type=1, dims=[3], data_location=1), "its data is in another file"),
        (TensorProto(data_type=8, dims=[3], string_data=[b"a"]), "string_data size (1) is too small"),
        (TensorProto(data_type=8, dims=[1], string_data=[b"\xff"]), "'utf-8' codec can't decode byte 0xff"),
        (TensorProto(data_type=22, dims=[3], int32_data=[1]), "is too small for the declared shape [3]"),
        (TensorProto(data_type=1, dims=[0, 1 << 62, 4]), "array is too big"),
    ],
)
def test_bad_pb(tmp_path: Path, tensor: Any, reason: str) -> None:
    (tmp_path / "x.pb").write_bytes(tensor.SerializeToString())
    assert reason in refusal(tmp_path / "x.pb")


def test_pb_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "x.pb").write_bytes(b"\xff" * 20)
    assert "not a valid TensorProto (Error parsing message" in refusal(tmp_path / "x.pb")


@pytest.mark.parametrize(
    "use",
    [
        "from gatherscatter.arrays.tensor_files import read_tensors; read_tensors('x.pb')",
        "from gatherscatter.arrays.tensor_files import write_tensors; write_tensors('x.pb', {'x': [1]})",
    ],
)
def test_without_the_onnx_package_the_error_names_it(tmp_path: Path, use: str) -> None:
    (tmp_path / "x.pb").write_bytes(b"")
    code = f"import sys\nsys.modules['onnx'] = None\n{use}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    last = done.stderr.strip().splitlines()[-1]
    assert last == "ImportError: .pb files need ONNX: pip install onnx"

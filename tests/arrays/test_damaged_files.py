"""Damaged files of arrays and journals of Zarr jobs: one line, in little time and memory, and no lost update.

To run longer: ``python tools/fuzz_files.py --seconds 600``.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("zarr")
pytest.importorskip("filelock")

from gatherscatter.arrays.tensor_files import TensorFileError, read_tensors, write_tensors
from gatherscatter.zarr.journal import JobError, Journal, read_entries
from tools import fuzz_files
from tools.fuzz_models.limits import Meter
from tools.fuzz_models.messages import check_one_line

METHODS = {
    "stored": zipfile.ZIP_STORED,
    "deflate": zipfile.ZIP_DEFLATED,
    "bzip2": zipfile.ZIP_BZIP2,
    "lzma": zipfile.ZIP_LZMA,
}


def refusal(path: Path) -> str:
    with pytest.raises(TensorFileError) as caught:
        read_tensors(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert not check_one_line(text, "message")
    return text


def packed(path: Path, members: list[tuple[str, bytes]], method: int) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names that occur twice
        with zipfile.ZipFile(path, "w", method) as archive:
            for name, content in members:
                archive.writestr(name, content)
    return path.read_bytes()


def in_npy_form(array: np.ndarray) -> bytes:
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def header(text: str) -> bytes:
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode()


def described(descr: str, shape: str) -> str:
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}"


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need a permission there")
def test_damage_at_random() -> None:
    command = [sys.executable, str(fuzz_files.__file__), "--cases", "1500", "--seed", "1", "--seconds", "60"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1500 files" in done.stdout


@pytest.mark.parametrize("method", METHODS)
def test_every_method_of_compression(tmp_path: Path, method: str) -> None:
    path = tmp_path / "x.npz"
    arrays: dict[str, np.ndarray] = {
        "zeros": np.zeros(5_000_000, np.int8),  # LZMA and bzip2 compress these far more than deflate can
        "numbers": np.random.default_rng(0).integers(0, 99, (300, 100)),
        "/model/x:0": np.ones((2, 3), np.float32),  # a typical name of a tensor in a model
        "../../x": np.array(["a", "bc"]),
        "none": np.zeros((0, 3)),
    }
    packed(path, [(f"{name}.npy", in_npy_form(array)) for name, array in arrays.items()], METHODS[method])
    found = read_tensors(path)
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array, strict=True)


@pytest.mark.parametrize("method", METHODS)
def test_archives_that_are_cut_off_or_damaged_anywhere(tmp_path: Path, method: str) -> None:
    path = tmp_path / "x.npz"
    array = np.random.default_rng(0).integers(0, 9, 60).astype(np.int8)
    content = packed(path, [("a.npy", in_npy_form(array)), ("b.npy", in_npy_form(array))], METHODS[method])
    for length in range(len(content)):
        path.write_bytes(content[:length])
        refusal(path)
    for at in range(len(content)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :])
        try:  # some damage, such as to a date, is harmless
            found = read_tensors(path)
        except TensorFileError:
            refusal(path)
        else:
            assert found
            assert all(one.tobytes() == array.tobytes() for one in found.values())


@pytest.mark.parametrize("method", ["bzip2", "lzma"])
def test_a_member_that_unpacks_to_more_than_it_claims(tmp_path: Path, method: str) -> None:
    """A few bytes that expand to 100 MB are not decompressed to read a header."""
    content = bytearray(packed(tmp_path / "x.npz", [("a.npy", bytes(100_000_000))], METHODS[method]))
    directory = content.index(b"PK\x01\x02")
    content[directory + 24 : directory + 28] = struct.pack("<I", 200)
    (tmp_path / "x.npz").write_bytes(content)
    with Meter() as meter:
        refusal(tmp_path / "x.npz")
    assert meter.seconds < 0.5
    assert meter.memory < 20 << 20


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["a.npy", "a.npy"], "two arrays have the name 'a'"),
        (["a", "a.npy"], "two arrays have the name 'a'"),
        ([".npy"], "an array has no name"),
        (["folder/"], "array 'folder/': not an array in .npy form"),
        (["n" * 5000], f"array '{'n' * 77}...': not an array"),
    ],
    ids=["repeated", "with and without suffix", "empty", "folder", "long"],
)
def test_names_in_an_archive(tmp_path: Path, names: list[str], reason: str) -> None:
    content = in_npy_form(np.zeros(1))
    packed(tmp_path / "x.npz", [(name, content if "npy" in name or name == "a" else b"") for name in names], 0)
    assert reason in refusal(tmp_path / "x.npz")


def test_an_encrypted_member(tmp_path: Path) -> None:
    content = bytearray(packed(tmp_path / "x.npz", [("a.npy", in_npy_form(np.zeros(1)))], 0))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + offset] |= 1
    (tmp_path / "x.npz").write_bytes(content)
    assert "array 'a.npy': it is encrypted" in refusal(tmp_path / "x.npz")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "text",
    [
        "(" * 9000,
        "-" * 9000 + "1",
        "[" * 9000,
        "{" * 5000,
        "'",
        '"""',
        "9" * 9000,
        "'\\d'",
        "\0",
        "(3, \n",
        "9" * 20_000,
    ],
    ids=lambda text: f"{text[:3]!r} {len(text)}",
)
def test_headers_that_python_cant_read(tmp_path: Path, text: str) -> None:
    for whole in (text, described(text, "(1,)"), described("'<f4'", text)):
        (tmp_path / "x.npy").write_bytes(header(whole))
        refusal(tmp_path / "x.npy")


@pytest.mark.filterwarnings("error")
def test_headers_of_other_times(tmp_path: Path) -> None:
    """Python 2 wrote sizes as 3L. NumPy 1 accepted the type a for S. Names outside Latin-1 require version 3."""
    (tmp_path / "x.npy").write_bytes(header(described("'<i4'", "(2L,)")) + b"\1\0\0\0" * 2)
    assert read_tensors(tmp_path / "x.npy")["x"].tolist() == [1, 1]
    (tmp_path / "x.npy").write_bytes(header(described("'|a3'", "(1,)")) + b"abc")
    assert read_tensors(tmp_path / "x.npy")["x"].tolist() == [b"abc"]
    array = np.array([(1,)], [("\u03c9", "i4")])
    with pytest.warns(UserWarning, match="format 3.0"):
        write_tensors(tmp_path / "x.npy", {"x": array})
    np.testing.assert_array_equal(read_tensors(tmp_path / "x.npy")["x"], array, strict=True)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="a file of POSIX systems")
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".pb"])
def test_what_is_not_a_file(tmp_path: Path, suffix: str) -> None:
    """Reading a device or a pipe may never end."""
    (tmp_path / f"x{suffix}").symlink_to("/dev/zero")
    assert "not a regular file" in refusal(tmp_path / f"x{suffix}")


def test_the_name_of_a_tensor_is_text(tmp_path: Path) -> None:
    content = fuzz_files.good("pb-float").replace(b"B\x01x", b"B\x01\xff")
    (tmp_path / "x.pb").write_bytes(content)
    assert "the name of the tensor is not valid UTF-8" in refusal(tmp_path / "x.pb")


# Journals


JOURNAL, STATE = "journal", "journal-state"


def journal_of(files: dict[str, bytes], folder: Path) -> list[dict[str, Any]]:
    """Return the entries of a journal with these files."""
    for name in (JOURNAL, STATE):
        (folder / name).unlink(missing_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return read_entries(folder)


def test_a_line_that_was_not_finished_is_left_out(tmp_path: Path) -> None:
    """Its block was not written, because the state would count it."""
    files = fuzz_files.journal()
    told = journal_of(files, tmp_path)
    assert len(told) == 5
    made = Journal(tmp_path, told[0]["job"], "", True)
    made.announce((7, 7), np.arange(2), np.arange(3))
    made.close()
    longer = (tmp_path / JOURNAL).read_bytes()
    for length in range(len(files[JOURNAL]) - 1, len(longer) - 1):
        assert journal_of({**files, JOURNAL: longer[:length]}, tmp_path) == told
    zeros = len(longer) - len(files[JOURNAL])
    for length in range(2, zeros + 1):
        assert journal_of({**files, JOURNAL: longer[:-length] + bytes(length)}, tmp_path) == told
    # The state can be older than the journal after a power failure.
    assert [entry["block"] for entry in journal_of({**files, JOURNAL: longer}, tmp_path)[5:]] == [[7, 7]]


def damaged_journals() -> Iterator[dict[str, bytes]]:
    """Yield the files of journals, one of them damaged. Wrong chunks or lost entries would repeat updates."""
    files = fuzz_files.journal()
    for name, content in files.items():
        damaged = [content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :] for at in range(len(content))]
        damaged += [content[:length] for length in range(len(content) - (name == JOURNAL))]
        damaged += [content[:length] + bytes(len(content) - length) for length in range(len(content))]
        lines = content.splitlines(keepends=True)
        damaged += [b"".join(lines[:n] + lines[n : n + 1] + lines[n:]) for n in range(len(lines))]
        damaged += [b"".join(lines[:n] + lines[n + 1 :]) for n in range(len(lines))]
        for each in damaged:
            yield {**files, name: each}
        yield {other: files[other] for other in files if other != name}
    for name in files:
        yield {**files, name: other_journal()[name]}


def other_journal() -> dict[str, bytes]:
    """Return the files of the same job at another moment."""
    with tempfile.TemporaryDirectory() as folder:
        made = Journal(Path(folder), "0" * 32, "scatter_nd add of 4 index tuples", None)
        made.announce((4, 4), np.arange(3), np.arange(4))
        made.close()
        return {name: (Path(folder) / name).read_bytes() for name in (JOURNAL, STATE)}


def test_no_damage_to_a_journal_goes_unnoticed(tmp_path: Path) -> None:
    for files in damaged_journals():
        with pytest.raises(JobError, match="unknown which chunks the interrupted job has written") as caught:
            journal_of(files, tmp_path)
        assert not check_one_line(str(caught.value), "message")
        for name in (JOURNAL, STATE):  # the advice names both
            assert str(tmp_path / name) in str(caught.value)


@pytest.mark.parametrize("block", [[[1]], 5, None, [1.0], [True], ["1"], {"0": 1}])
def test_entries_of_other_types_are_damage(tmp_path: Path, block: Any) -> None:
    files = fuzz_files.journal()
    text, chain = b"", b""
    for entry in ({"job": "0" * 32, "title": "t"}, {"block": block, "before": "a", "after": "b"}):
        content = json.dumps(entry).encode()
        chain = hashlib.blake2b(chain + content, digest_size=8).hexdigest().encode()
        text += chain + b" " + content + b"\n"
    with pytest.raises(JobError, match=r"line 2 of .* is damaged"):
        journal_of({**files, JOURNAL: text}, tmp_path)


def test_the_journal_of_a_finished_job_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process may be killed before its files are deleted, and they may not be deletable."""
    journal_of(fuzz_files.journal(), tmp_path)
    made = Journal(tmp_path, "0" * 32, "", True)
    made.close()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", lambda *_: (_ for _ in ()).throw(PermissionError()))
        made.remove()
    assert {path.name for path in tmp_path.iterdir()} == {JOURNAL, STATE}
    assert read_entries(tmp_path) == []
    made = Journal(tmp_path, "1" * 32, "another", None)
    made.close()
    made.remove()
    assert list(tmp_path.iterdir()) == []
